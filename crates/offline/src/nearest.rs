//! Did you mean: the known word that is nearest to what was written.

use capm3_engine::manifests;

/// The word that differs least, if it differs little enough to be a misspelling: case does not count, and at most one letter
/// in three may be wrong, missing, too many or swapped.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    manifests::nearest(written, (written.chars().count() / 3).clamp(1, 4), known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_word_and_another_word_does_not() {
        let known = ["dataTemplate", "metaData", "networkData", "image"];
        for (written, found) in [
            ("dataTempalte", Some("dataTemplate")),
            ("netwrokData", Some("networkData")),
            ("IMAGE", Some("image")),
            ("imgae", Some("image")),
            ("hostSelector", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, known), found, "{written}");
        }
    }
}

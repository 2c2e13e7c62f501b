//! Did you mean: the known word that is nearest to what was written.

/// The word that differs least, the first of several, if at most `mistakes` letters are wrong, missing, too many or
/// swapped with the next one. Case does not count.
pub fn nearest<'a>(
    written: &str,
    mistakes: usize,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = written.to_lowercase();
    let distances = known.into_iter().map(|word| (strsim::osa_distance(&lower, &word.to_lowercase()), word));
    distances
        .filter(|(distance, _)| *distance <= mistakes)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_nearest_words_is_found_within_the_mistakes() {
        for (written, mistakes, found) in [
            ("IMAGE", 0, Some("image")),
            ("imgae", 0, None),
            ("imgae", 1, Some("image")),
            ("imag", 1, Some("image")),
            ("imagery", 1, None),
            ("bat", 1, Some("cat")),
        ] {
            assert_eq!(nearest(written, mistakes, ["image", "cat", "rat"]), found, "{written} {mistakes}");
        }
    }
}

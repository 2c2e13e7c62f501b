//! Did you mean: the known word that is nearest to what was written.

/// The word that differs least, if it differs little enough to be a slip: case does not count, and at most one letter
/// in three may be wrong, missing, too many or swapped.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = written.to_lowercase();
    let allowed = (lower.chars().count() / 3).clamp(1, 4);
    let distances = known.into_iter().map(|word| (distance(&lower, &word.to_lowercase()), word));
    distances
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Levenshtein's distance, with the swap of two neighbours as one step.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut previous = None;
    for (row, l) in left.chars().enumerate() {
        let mut next = vec![row + 1];
        for (column, r) in right.iter().enumerate() {
            let at = |line: &[usize], index: usize| line.get(index).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(&last, column + 1) + 1).min(at(&next, column) + 1);
            best = best.min(at(&last, column) + usize::from(l != *r));
            let swapped = column > 0 && previous == Some(*r) && right.get(column - 1) == Some(&l);
            if swapped {
                best = best.min(at(&before, column - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut last, next);
        previous = Some(l);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_another_word_does_not() {
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

    #[test]
    fn the_distance_counts_the_steps_between_two_words() {
        for (left, right, steps) in
            [("", "abc", 3), ("abc", "", 3), ("abc", "abd", 1), ("ab", "ba", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(left, right), steps, "{left} {right}");
        }
    }
}

//! A set of numbers that knows its gaps.
//!
//! Numbers are kept as maximal runs, so the first number that is *not* in the set is found in O(log R) for R runs
//! however many numbers there are. Adding, removing and testing are O(log R) too. Knows nothing of what the
//! numbers mean: indexes and addresses share it.

use std::collections::BTreeMap;

/// A set of numbers, kept as maximal runs of neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// Last number of each run by its first; runs neither overlap nor touch.
    last_by_first: BTreeMap<u128, u128>,
    count: usize,
}

impl Runs {
    /// The run that contains `number`.
    fn run_with(&self, number: u128) -> Option<(u128, u128)> {
        let (&first, &last) = self.last_by_first.range(..=number).next_back()?;
        (number <= last).then_some((first, last))
    }

    /// Whether the number is in the set.
    pub fn contains(&self, number: u128) -> bool {
        self.run_with(number).is_some()
    }

    /// How many numbers are in the set.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The lowest number from `from` on that is not in the set; none if all are in it to the very end.
    pub fn first_gap_from(&self, from: u128) -> Option<u128> {
        match self.run_with(from) {
            Some((_, last)) => last.checked_add(1),
            None => Some(from),
        }
    }

    /// Adds a number; false if it was there.
    pub fn insert(&mut self, number: u128) -> bool {
        if self.contains(number) {
            return false;
        }
        let before = number.checked_sub(1).and_then(|n| self.run_with(n));
        let after = number.checked_add(1).and_then(|n| self.last_by_first.remove(&n));
        let first = before.map_or(number, |(first, _)| first);
        self.last_by_first.insert(first, after.unwrap_or(number));
        self.count += 1;
        true
    }

    /// Removes a number; false if it was not there.
    pub fn remove(&mut self, number: u128) -> bool {
        let Some((first, last)) = self.run_with(number) else {
            return false;
        };
        self.last_by_first.remove(&first);
        if first < number {
            self.last_by_first.insert(first, number - 1);
        }
        if number < last {
            self.last_by_first.insert(number + 1, last);
        }
        self.count -= 1;
        true
    }
}

impl FromIterator<u128> for Runs {
    fn from_iter<I: IntoIterator<Item = u128>>(numbers: I) -> Self {
        let mut runs = Self::default();
        for number in numbers {
            runs.insert(number);
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_become_one_run_and_a_removal_splits_it() {
        let mut runs: Runs = [1, 2, 4, 3].into_iter().collect();
        assert_eq!(runs.last_by_first, BTreeMap::from([(1, 4)]));
        assert!(runs.remove(2));
        assert_eq!(runs.last_by_first, BTreeMap::from([(1, 1), (3, 4)]));
        assert!(!runs.remove(2));
        assert_eq!(runs.len(), 3);
    }

    #[test]
    fn there_is_no_gap_after_the_last_number_of_all() {
        let runs: Runs = [u128::MAX - 1, u128::MAX].into_iter().collect();
        assert_eq!(runs.first_gap_from(u128::MAX - 1), None);
        assert_eq!(runs.first_gap_from(u128::MAX - 2), Some(u128::MAX - 2));
        assert_eq!(runs.first_gap_from(0), Some(0));
    }

    proptest! {
        #[test]
        fn behaves_like_a_plain_set(steps in prop::collection::vec((any::<bool>(), 0_u128..40), 0..200), from in 0_u128..45) {
            let mut runs = Runs::default();
            let mut model = BTreeSet::new();
            for (add, number) in steps {
                if add {
                    prop_assert_eq!(runs.insert(number), model.insert(number));
                } else {
                    prop_assert_eq!(runs.remove(number), model.remove(&number));
                }
            }
            prop_assert_eq!(runs.len(), model.len());
            prop_assert_eq!(runs.first_gap_from(from), (from..).find(|n| !model.contains(n)));
            let apart = runs.last_by_first.iter().zip(runs.last_by_first.keys().skip(1)).all(|((_, last), next)| last + 1 < *next);
            prop_assert!(apart, "runs touch: {:?}", runs);
        }
    }
}

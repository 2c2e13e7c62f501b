//! A set of numbers that knows its gaps.
//!
//! Numbers are kept as maximal runs, so the first number that is *not* in the set is found in O(log R) for R runs
//! however many numbers there are. Adding, removing and testing are O(log R) too. Knows nothing of what the
//! numbers mean.

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

    /// How many numbers of the set lie between two numbers, both included.
    pub fn count_within(&self, first: u128, last: u128) -> u128 {
        let before = self.run_with(first).map(|(_, end)| (first, end));
        let after = first.checked_add(1).filter(|next| *next <= last);
        let after = after.into_iter().flat_map(|next| self.last_by_first.range(next..=last));
        let runs = before.into_iter().chain(after.map(|(start, end)| (*start, *end)));
        runs.map(|(start, end)| end.min(last) - start + 1).fold(0, u128::saturating_add)
    }

    /// The highest number.
    pub fn last(&self) -> Option<u128> {
        self.last_by_first.last_key_value().map(|(_, last)| *last)
    }

    /// The numbers of both sets. Costs as much as there are numbers in the other one that this one lacks.
    pub fn plus(&self, other: &Self) -> Self {
        let mut both = self.clone();
        let mut lacking = Vec::new();
        let rest = other.minus(self);
        for (&first, &last) in &rest.last_by_first {
            lacking.extend(first..=last);
        }
        lacking.into_iter().for_each(|number| {
            both.insert(number);
        });
        both
    }

    /// The numbers of this set that are not in the other one.
    pub fn minus(&self, other: &Self) -> Self {
        let mut left = Self::default();
        for (&first, &last) in &self.last_by_first {
            let mut at = Some(first);
            while let Some(from) = at.and_then(|at| other.first_gap_from(at)).filter(|from| *from <= last) {
                let next = other.last_by_first.range(from..).next().map(|(first, _)| first - 1);
                let to = next.map_or(last, |next| next.min(last));
                left.last_by_first.insert(from, to);
                left.count = left
                    .count
                    .saturating_add(usize::try_from(to - from).unwrap_or(usize::MAX))
                    .saturating_add(1);
                at = to.checked_add(1);
            }
        }
        left
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
            let within = model.iter().filter(|n| (from..=20).contains(*n)).count();
            prop_assert_eq!(runs.count_within(from, 20.max(from)), if from <= 20 { within as u128 } else { u128::from(model.contains(&from)) });
            let other: Runs = model.iter().copied().filter(|n| n % 3 != 0).collect();
            prop_assert_eq!(runs.minus(&other), model.iter().copied().filter(|n| n % 3 == 0).collect::<Runs>());
            prop_assert_eq!(other.minus(&runs), Runs::default());
            let apart = runs.last_by_first.iter().zip(runs.last_by_first.keys().skip(1)).all(|((_, last), next)| last + 1 < *next);
            prop_assert!(apart, "runs touch: {:?}", runs);
        }
    }
}

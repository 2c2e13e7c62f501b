//! What one reconcile allocates from.

use std::{collections::BTreeMap, sync::Arc};

use super::{Runs, UsedNumbers};

/// Which numbers are free: everything that none of the given sets uses. What is taken and released here changes none of these
/// sets, so they may be shared. Every step is O(log N) for each set.
///
/// ```
/// use std::sync::Arc;
/// use capm3_domain::numbers::{FreeNumbers, UsedNumbers};
///
/// let used: UsedNumbers = [0, 1, 3].into_iter().collect();
/// let mut free = FreeNumbers::beside(vec![Arc::new(used)]);
/// assert_eq!(free.first_from(0), Some(2));
/// free.take(2);
/// assert_eq!(free.first_from(0), Some(4));
/// free.release(1);
/// assert_eq!(free.first_from(0), Some(1));
/// ```
#[derive(Debug, Clone, Default)]
pub struct FreeNumbers {
    used: Vec<Arc<UsedNumbers>>,
    taken: Runs,
    /// How many users of a number in `used` are released.
    released: BTreeMap<u128, usize>,
}

impl FreeNumbers {
    /// Everything that these sets do not use.
    pub fn beside(used: Vec<Arc<UsedNumbers>>) -> Self {
        Self { used, ..Self::default() }
    }

    /// Whether the number is used.
    pub fn is_used(&self, number: u128) -> bool {
        self.taken.contains(number) || self.users_of(number) > 0
    }

    /// Users in the given sets that are not released.
    fn users_of(&self, number: u128) -> usize {
        let users: usize = self.used.iter().map(|used| used.users_of(number)).sum();
        users.saturating_sub(self.released.get(&number).copied().unwrap_or_default())
    }

    /// Takes a number; false if it was used.
    pub fn take(&mut self, number: u128) -> bool {
        !self.is_used(number) && self.taken.insert(number)
    }

    /// Releases one use of a number; true if it is free then and was not before.
    pub fn release(&mut self, number: u128) -> bool {
        if self.taken.remove(number) {
            return !self.is_used(number);
        }
        if self.users_of(number) == 0 {
            return false;
        }
        *self.released.entry(number).or_default() += 1;
        !self.is_used(number)
    }

    /// The lowest free number from `from` on; none if all are used to the very end.
    pub fn first_from(&self, from: u128) -> Option<u128> {
        let gap = self.first_gap_from(from);
        let released = self.released.range(from..).map(|(number, _)| *number);
        // The sets still contain what is released here.
        let released = released.into_iter().find(|number| !self.is_used(*number));
        match (released, gap) {
            (Some(released), Some(gap)) => Some(released.min(gap)),
            (released, gap) => released.or(gap),
        }
    }

    /// The lowest number from `from` on that is in no set.
    fn first_gap_from(&self, from: u128) -> Option<u128> {
        let mut at = from;
        loop {
            let sets = self.used.iter().map(|used| used.numbers()).chain([&self.taken]);
            let next = sets.into_iter().try_fold(at, |at, set| set.first_gap_from(at))?;
            // No set has moved it on: each of them lacks it.
            if next == at {
                return Some(at);
            }
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_one_list_of_uses(
            first in prop::collection::vec(0_u128..30, 0..40),
            second in prop::collection::vec(0_u128..30, 0..40),
            steps in prop::collection::vec((any::<bool>(), 0_u128..35), 0..60),
            from in 0_u128..35,
        ) {
            let sets = [&first, &second].map(|set| Arc::new(set.iter().copied().collect::<UsedNumbers>()));
            let mut free = FreeNumbers::beside(sets.to_vec());
            let mut uses: Vec<u128> = first.into_iter().chain(second).collect();
            for (take, number) in steps {
                let position = uses.iter().position(|it| *it == number);
                if take {
                    prop_assert_eq!(free.take(number), position.is_none());
                    uses.extend(position.is_none().then_some(number));
                } else {
                    if let Some(position) = position {
                        uses.swap_remove(position);
                    }
                    prop_assert_eq!(free.release(number), position.is_some() && !uses.contains(&number));
                }
            }
            let used: BTreeSet<u128> = uses.into_iter().collect();
            prop_assert_eq!(free.first_from(from), (from..).find(|number| !used.contains(number)));
        }
    }
}

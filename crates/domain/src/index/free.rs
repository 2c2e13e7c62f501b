//! The free indexes of one template.

use std::sync::Arc;

use super::Index;
use crate::numbers::{FreeNumbers, UsedNumbers};

/// Which indexes of a template are free: those that no object in the given sets uses. What is taken and released changes
/// none of these sets. Each allocation is O(log N).
///
/// ```
/// use capm3_domain::index::{FreeIndexes, Index};
///
/// let mut free = FreeIndexes::default();
/// let first = free.take_lowest().unwrap();
/// assert_eq!(free.lowest().map(Index::get), Some(1));
/// free.release(first);
/// assert_eq!(free.lowest(), Some(first));
/// ```
#[derive(Debug, Clone, Default)]
pub struct FreeIndexes(FreeNumbers);

impl FreeIndexes {
    /// Everything that these sets do not use is free.
    pub fn beside(used: Vec<Arc<UsedNumbers>>) -> Self {
        Self(FreeNumbers::beside(used))
    }

    /// Everything but these is free.
    pub fn from_used(used: impl IntoIterator<Item = Index>) -> Self {
        let used: UsedNumbers = used.into_iter().map(Index::number).collect();
        Self::beside(vec![Arc::new(used)])
    }

    /// The lowest free index; none if the API's integer has no more.
    pub fn lowest(&self) -> Option<Index> {
        let gap = self.0.first_from(0)?;
        i32::try_from(gap).ok().and_then(Index::new)
    }

    /// Takes the lowest free index.
    pub fn take_lowest(&mut self) -> Option<Index> {
        let index = self.lowest()?;
        self.take(index);
        Some(index)
    }

    /// Marks an index as used; false if it was used already.
    pub fn take(&mut self, index: Index) -> bool {
        self.0.take(index.number())
    }

    /// Releases one use of an index; true if it is free now and was not before.
    pub fn release(&mut self, index: Index) -> bool {
        self.0.release(index.number())
    }

    /// Whether the index is used.
    pub fn is_used(&self, index: Index) -> bool {
        self.0.is_used(index.number())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn index(value: i32) -> Index {
        Index::new(value).unwrap()
    }

    #[test]
    fn gaps_are_filled_before_counting_on() {
        let table: [(&[i32], i32); 5] =
            [(&[], 0), (&[0], 1), (&[0, 1, 3], 2), (&[1, 2], 0), (&[3, 1, 0, 2], 4)];
        for (used, expected) in table {
            let free = FreeIndexes::from_used(used.iter().copied().map(index));
            assert_eq!(free.lowest(), Some(index(expected)), "used {used:?}");
        }
    }

    #[test]
    fn a_used_index_is_not_taken_twice() {
        let mut free = FreeIndexes::from_used([index(5)]);
        assert!(!free.take(index(5)));
        assert!(free.is_used(index(5)));
        assert!(free.release(index(5)));
        assert!(!free.release(index(5)));
        assert!(!free.is_used(index(5)));
    }

    #[test]
    fn the_last_index_of_all_does_not_overflow() {
        let mut free = FreeIndexes::from_used([index(i32::MAX)]);
        assert_eq!(free.lowest(), Some(index(0)));
        assert!(free.release(index(i32::MAX)));
    }

    proptest! {
        #[test]
        fn an_index_has_one_owner_and_is_the_lowest_free(
            used in prop::collection::btree_set(0_i32..60, 0..40),
            steps in prop::collection::vec(prop::option::of(0_usize..20), 0..80),
        ) {
            let mut free = FreeIndexes::from_used(used.iter().copied().map(index));
            let mut owners: BTreeMap<i32, usize> = used.iter().map(|i| (*i, usize::MAX)).collect();
            for (owner, step) in steps.into_iter().enumerate() {
                match step {
                    None => {
                        let taken = free.take_lowest().unwrap().get();
                        let lowest = (0..).find(|i| !owners.contains_key(i)).unwrap();
                        prop_assert_eq!(taken, lowest);
                        prop_assert_eq!(owners.insert(taken, owner), None);
                    }
                    Some(nth) => {
                        let Some(gone) = owners.keys().nth(nth).copied() else { continue };
                        owners.remove(&gone);
                        prop_assert!(free.release(index(gone)));
                    }
                }
            }
            prop_assert!((0..100).all(|i| free.is_used(index(i)) == owners.contains_key(&i)));
        }

        #[test]
        fn many_at_once_are_all_different(used in prop::collection::btree_set(0_i32..2000, 0..500)) {
            let mut free = FreeIndexes::from_used(used.iter().copied().map(index));
            let fresh: Vec<i32> = (0..1000).map(|_| free.take_lowest().unwrap().get()).collect();
            prop_assert!(fresh.is_sorted());
            let all: BTreeSet<i32> = fresh.iter().copied().chain(used.iter().copied()).collect();
            prop_assert_eq!(all.len(), 1000 + used.len());
        }
    }
}

//! One secondary index: the slots of the objects that share a value.
//!
//! Values are not kept: a group is found by the hash of its value and known by asking one of its objects. Most values
//! belong to one object, so an index costs some twenty bytes an object. Whoever changes an object takes it out of its
//! groups first and puts it into the new ones afterwards, because a group is only as true as its objects.

use hashbrown::HashTable;

use super::slots::{Slot, Slots, hash_of};
use crate::Object;

/// The values of an object in this index.
pub(super) type Values<K> = fn(&K) -> Vec<String>;

/// The groups of one index.
pub(super) struct Groups(HashTable<Group>);

/// Slots in the order of their objects' keys, never none, and the hash of their value. Sixteen bytes: there is one for
/// most values of most objects.
enum Group {
    One {
        hash: HalfHash,
        slot: Slot,
    },
    Many {
        hash: HalfHash,
        #[expect(clippy::box_collection, reason = "a group of one, the usual case, stays small")]
        slots: Box<Vec<Slot>>,
    },
}

/// As much of a hash as is kept, to find a new place when the table grows.
#[derive(Clone, Copy, PartialEq, Eq)]
struct HalfHash(u32);

impl HalfHash {
    fn of(value: &str) -> Self {
        // The other half is dropped on purpose.
        #[expect(clippy::cast_possible_truncation, reason = "half of the hash is kept")]
        Self(hash_of(value) as u32)
    }

    /// Spread over all bits again, because tables look at the first and at the last ones.
    fn whole(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

impl Groups {
    pub(super) fn new() -> Self {
        Self(HashTable::new())
    }

    /// The slots of the objects with that value, by key.
    pub(super) fn get<K: Object>(&self, slots: &Slots<K>, values: Values<K>, value: &str) -> &[Slot] {
        let hash = HalfHash::of(value);
        let group = self.0.find(hash.whole(), |group| group.is_of(hash, slots, values, value));
        group.map(Group::members).unwrap_or_default()
    }

    /// Adds an object that stands in its slot under one of its values.
    pub(super) fn insert<K: Object>(&mut self, slots: &Slots<K>, values: Values<K>, value: &str, slot: Slot) {
        let hash = HalfHash::of(value);
        match self.0.find_mut(hash.whole(), |group| group.is_of(hash, slots, values, value)) {
            Some(group) => group.insert(slots, slot),
            None => {
                let group = Group::One { hash, slot };
                self.0.insert_unique(hash.whole(), group, |group| group.hash().whole());
            }
        }
    }

    /// Takes an object that still stands in its slot out from under one of its values.
    pub(super) fn remove<K: Object>(&mut self, slots: &Slots<K>, values: Values<K>, value: &str, slot: Slot) {
        let hash = HalfHash::of(value);
        let found = self.0.find_entry(hash.whole(), |group| group.is_of(hash, slots, values, value));
        if let Ok(mut entry) = found
            && entry.get_mut().remove(slots, slot)
        {
            entry.remove();
        }
    }
}

impl Group {
    fn hash(&self) -> HalfHash {
        match self {
            Self::One { hash, .. } | Self::Many { hash, .. } => *hash,
        }
    }

    fn members(&self) -> &[Slot] {
        match self {
            Self::One { slot, .. } => std::slice::from_ref(slot),
            Self::Many { slots, .. } => slots,
        }
    }

    /// Whether this is the group of that value. Different values may have one hash.
    fn is_of<K: Object>(&self, hash: HalfHash, slots: &Slots<K>, values: Values<K>, value: &str) -> bool {
        let first = || self.members().first().and_then(|slot| slots.get(*slot));
        self.hash() == hash && first().is_some_and(|object| values(object).iter().any(|it| it == value))
    }

    fn insert<K: Object>(&mut self, objects: &Slots<K>, new: Slot) {
        let Err(position) = search(self.members(), objects, new) else { return };
        match self {
            Self::Many { slots, .. } => slots.insert(position, new),
            Self::One { hash, slot } => {
                let mut slots = vec![*slot];
                slots.insert(position, new);
                *self = Self::Many { hash: *hash, slots: Box::new(slots) };
            }
        }
    }

    /// `true` if none is left.
    fn remove<K: Object>(&mut self, objects: &Slots<K>, old: Slot) -> bool {
        let Ok(position) = search(self.members(), objects, old) else { return false };
        match self {
            Self::One { .. } => true,
            Self::Many { slots, .. } => {
                slots.remove(position);
                slots.is_empty()
            }
        }
    }
}

/// Where a slot stands, or belongs, among others.
fn search<K: Object>(members: &[Slot], slots: &Slots<K>, slot: Slot) -> Result<usize, usize> {
    let key = slots.key(slot);
    // New objects mostly come in the order of their keys: the end is tried first.
    if members.last().is_some_and(|last| slots.key(*last) < key) {
        return Err(members.len());
    }
    members.binary_search_by(|at| slots.key(*at).cmp(&key))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use k8s_openapi::api::core::v1::ConfigMap;
    use proptest::prelude::*;

    use super::*;

    /// Two values an object, so that groups share members.
    const VALUES: Values<ConfigMap> =
        |object| object.data.iter().flatten().map(|(_, value)| value.clone()).collect();

    fn object(name: u8, values: (u8, u8)) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_string());
        let (a, b) = values;
        object.data =
            Some([("a", a), ("b", b)].map(|(key, value)| (key.to_owned(), value.to_string())).into());
        object
    }

    proptest! {
        /// Whatever comes, changes and goes, the index answers as a map of ordered maps would.
        #[test]
        fn it_is_a_map_of_ordered_maps(
            steps in prop::collection::vec((any::<bool>(), 0..12_u8, (0..4_u8, 0..4_u8)), 0..60),
        ) {
            let (mut slots, mut groups) = (Slots::<ConfigMap>::new(), Groups::new());
            let mut expected = BTreeMap::<String, Arc<ConfigMap>>::new();
            for (comes, name, values) in steps {
                let key = crate::ObjectKey::new("", name.to_string());
                let known = slots.find(&key);
                prop_assert_eq!(known.is_some(), expected.contains_key(&key.name));
                if let Some(slot) = known {
                    for value in VALUES(&slots.get(slot).unwrap().clone()) {
                        groups.remove(&slots, VALUES, &value, slot);
                    }
                }
                let new = Arc::new(object(name, values));
                match known {
                    Some(slot) if comes => slots.replace(slot, Arc::clone(&new)),
                    Some(slot) => slots.remove(slot),
                    None if comes => { slots.insert(Arc::clone(&new)); }
                    None => {}
                }
                if comes {
                    let slot = slots.find(&key).unwrap();
                    VALUES(&new).iter().for_each(|value| groups.insert(&slots, VALUES, value, slot));
                    expected.insert(key.name, new);
                } else {
                    expected.remove(&key.name);
                }
                prop_assert_eq!(slots.len(), expected.len());
                for value in ["0", "1", "2", "3", "4"] {
                    let found = groups.get(&slots, VALUES, value).iter().map(|slot| slots.get(*slot).unwrap());
                    let wanted = expected.values().filter(|object| VALUES(object).iter().any(|it| it == value));
                    prop_assert!(found.eq(wanted));
                }
            }
        }
    }

    #[test]
    fn a_group_takes_sixteen_bytes() {
        assert_eq!(size_of::<Group>(), 16);
    }

    #[test]
    fn values_with_one_hash_are_kept_apart() {
        let mut slots = Slots::new();
        let (one, two) =
            (slots.insert(Arc::new(object(1, (1, 1)))), slots.insert(Arc::new(object(2, (2, 2)))));
        let mut groups = Groups::new();
        // Both groups under the hash of "1", as if "2" had the same.
        let hash = HalfHash::of("1");
        for slot in [two, one] {
            groups.0.insert_unique(hash.whole(), Group::One { hash, slot }, |group| group.hash().whole());
        }
        assert_eq!(groups.get(&slots, VALUES, "1"), [one]);
        groups.remove(&slots, VALUES, "1", one);
        assert!(groups.get(&slots, VALUES, "1").is_empty());
    }
}

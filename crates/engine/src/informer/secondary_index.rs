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
#[derive(Default)]
pub(super) struct Groups {
    table: HashTable<Group>,
    lists: Lists,
}

/// A value, known by its hash, and whose it is. Sixteen bytes: there is one for most values of most objects.
struct Group {
    hash: u64,
    members: Members,
}

/// The slots of a group, never none.
enum Members {
    One(Slot),
    /// The number of a list.
    Many(u32),
}

/// Slots in the order of their objects' keys, for groups of several.
#[derive(Default)]
struct Lists {
    lists: Vec<Vec<Slot>>,
    free: Vec<u32>,
}

impl Groups {
    /// The slots of the objects with that value, by key.
    pub(super) fn get<K: Object>(&self, slots: &Slots<K>, values: Values<K>, value: &str) -> &[Slot] {
        let hash = hash_of(value);
        let group = self.table.find(hash, |group| group.is_of(hash, &self.lists, slots, values, value));
        group.map(|group| self.lists.members(&group.members)).unwrap_or_default()
    }

    /// Adds an object that stands in its slot under one of its values.
    pub(super) fn insert<K: Object>(&mut self, slots: &Slots<K>, values: Values<K>, value: &str, slot: Slot) {
        let hash = hash_of(value);
        match self.table.find_mut(hash, |group| group.is_of(hash, &self.lists, slots, values, value)) {
            Some(group) => self.lists.insert(&mut group.members, slots, slot),
            None => {
                let group = Group { hash, members: Members::One(slot) };
                self.table.insert_unique(hash, group, |group| group.hash);
            }
        }
    }

    /// Takes an object that still stands in its slot out from under one of its values.
    pub(super) fn remove<K: Object>(&mut self, slots: &Slots<K>, values: Values<K>, value: &str, slot: Slot) {
        let hash = hash_of(value);
        let found = self.table.find_entry(hash, |group| group.is_of(hash, &self.lists, slots, values, value));
        if let Ok(entry) = found
            && self.lists.remove(&entry.get().members, slots, slot)
        {
            entry.remove();
        }
    }
}

impl Group {
    /// Whether this is the group of that value. Different objects may have different values of one hash; that one object
    /// has two of them is as good as impossible, and would mix these two values up.
    fn is_of<K: Object>(
        &self,
        hash: u64,
        lists: &Lists,
        slots: &Slots<K>,
        values: Values<K>,
        value: &str,
    ) -> bool {
        let first = || lists.members(&self.members).first().and_then(|slot| slots.get(*slot));
        self.hash == hash && first().is_some_and(|object| values(object).iter().any(|it| it == value))
    }
}

impl Lists {
    fn members<'a>(&'a self, members: &'a Members) -> &'a [Slot] {
        match members {
            Members::One(slot) => std::slice::from_ref(slot),
            Members::Many(list) => self.lists.get(*list as usize).map(Vec::as_slice).unwrap_or_default(),
        }
    }

    fn insert<K: Object>(&mut self, members: &mut Members, objects: &Slots<K>, new: Slot) {
        let Err(position) = search(self.members(members), objects, new) else { return };
        match members {
            Members::One(slot) => {
                let mut slots = vec![*slot];
                slots.insert(position, new);
                *members = Members::Many(self.add(slots));
            }
            Members::Many(list) => {
                if let Some(slots) = self.lists.get_mut(*list as usize) {
                    slots.insert(position, new);
                }
            }
        }
    }

    fn add(&mut self, slots: Vec<Slot>) -> u32 {
        let Some(list) = self.free.pop() else {
            self.lists.push(slots);
            return u32::try_from(self.lists.len() - 1).expect("an index has fewer than 2^32 values");
        };
        if let Some(place) = self.lists.get_mut(list as usize) {
            *place = slots;
        }
        list
    }

    /// `true` if none is left; the list is free then.
    fn remove<K: Object>(&mut self, members: &Members, objects: &Slots<K>, old: Slot) -> bool {
        let Ok(position) = search(self.members(members), objects, old) else { return false };
        let Members::Many(list) = members else { return true };
        let Some(slots) = self.lists.get_mut(*list as usize) else { return true };
        slots.remove(position);
        let is_empty = slots.is_empty();
        if is_empty {
            *slots = Vec::new();
            self.free.push(*list);
        }
        is_empty
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

    /// Two values per object, so that groups share members.
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
            let (mut slots, mut groups) = (Slots::<ConfigMap>::new(), Groups::default());
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
        let mut groups = Groups::default();
        // Both groups under the hash of "1", as if "2" had the same.
        let hash = hash_of("1");
        for slot in [two, one] {
            let group = Group { hash, members: Members::One(slot) };
            groups.table.insert_unique(hash, group, |group| group.hash);
        }
        assert_eq!(groups.get(&slots, VALUES, "1"), [one]);
        groups.remove(&slots, VALUES, "1", one);
        assert!(groups.get(&slots, VALUES, "1").is_empty());
    }
}

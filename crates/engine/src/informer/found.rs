//! The objects that share a value of an index, by key.

use std::{collections::BTreeMap, sync::Arc};

use crate::ObjectKey;

/// Objects by key. Most values of most indexes belong to one object, which then needs no map of its own: even the
/// smallest map takes more memory than the object's whole metadata.
pub(super) enum Found<K> {
    /// One object.
    One(Arc<ObjectKey>, Arc<K>),
    /// Any number of them.
    Many(BTreeMap<Arc<ObjectKey>, Arc<K>>),
}

impl<K> Default for Found<K> {
    fn default() -> Self {
        Self::Many(BTreeMap::new())
    }
}

impl<K> Found<K> {
    /// Adds an object, or takes the place of the one of that key.
    pub(super) fn insert(&mut self, key: Arc<ObjectKey>, object: Arc<K>) {
        match std::mem::take(self) {
            Self::One(first, other) if first != key => {
                *self = Self::Many([(first, other), (key, object)].into());
            }
            Self::Many(mut all) if !all.is_empty() => {
                all.insert(key, object);
                *self = Self::Many(all);
            }
            Self::One(..) | Self::Many(_) => *self = Self::One(key, object),
        }
    }

    /// Takes an object out; `true` if none is left.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> bool {
        match self {
            Self::One(only, _) if only.as_ref() == key => true,
            Self::One(..) => false,
            Self::Many(all) => {
                all.remove(key);
                all.is_empty()
            }
        }
    }

    /// The object of that key.
    pub(super) fn get_mut(&mut self, key: &ObjectKey) -> Option<&mut Arc<K>> {
        match self {
            Self::One(only, object) => (only.as_ref() == key).then_some(object),
            Self::Many(all) => all.get_mut(key),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(..) => 1,
            Self::Many(all) => all.len(),
        }
    }

    /// All of them, by key.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<K>)> {
        let (one, many) = match self {
            Self::One(key, object) => (Some((key, object)), None),
            Self::Many(all) => (None, Some(all)),
        };
        one.into_iter().chain(many.into_iter().flatten()).map(|(key, object)| (key.as_ref(), object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(name: u8) -> Arc<ObjectKey> {
        Arc::new(ObjectKey::new("n", name.to_string()))
    }

    proptest! {
        /// Whatever comes and goes, it answers as a map would.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((any::<bool>(), 0..4_u8, any::<u8>()), 0..30)) {
            let (mut found, mut map) = (Found::<u8>::default(), BTreeMap::new());
            for (comes, name, object) in steps {
                let key = key(name);
                if comes {
                    found.insert(Arc::clone(&key), Arc::new(object));
                    map.insert(key, Arc::new(object));
                } else {
                    let is_empty = found.remove(&key);
                    map.remove(&key);
                    prop_assert_eq!(is_empty, map.is_empty());
                    if is_empty {
                        found = Found::default();
                    }
                }
                prop_assert_eq!(found.len(), map.len());
                prop_assert!(found.iter().eq(map.iter().map(|(key, object)| (key.as_ref(), object))));
                for name in 0..4 {
                    let key = self::key(name);
                    prop_assert_eq!(found.get_mut(&key).map(|object| **object), map.get(&key).map(|object| **object));
                }
            }
        }
    }
}

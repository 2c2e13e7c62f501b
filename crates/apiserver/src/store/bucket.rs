//! The objects of one resource: found by a hash of namespace and name, listed in their order.
//!
//! Names of a fleet begin alike, and an ordered map of thousands of them is searched in cold memory. So the order is
//! kept apart and changes only when an object comes or goes; reading and changing one asks the hash.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use hashbrown::HashTable;

use super::object::Stored;

/// Objects by namespace and name.
#[derive(Default)]
pub(crate) struct Bucket {
    objects: HashTable<Place>,
    order: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

/// An object and the hash of its key, so that a growing table need not look at it.
struct Place {
    hash: u64,
    namespace: Arc<str>,
    name: Arc<str>,
    object: Arc<Stored>,
}

impl Place {
    fn is_of(&self, namespace: &str, name: &str) -> bool {
        *self.name == *name && *self.namespace == *namespace
    }
}

/// The same in every run: nothing may depend on chance.
fn hash_of(namespace: &str, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (namespace, name).hash(&mut hasher);
    hasher.finish()
}

impl Bucket {
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Stored>> {
        let place = self.objects.find(hash_of(namespace, name), |place| place.is_of(namespace, name));
        place.map(|place| &place.object)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(crate) fn has_namespace(&self, namespace: &str) -> bool {
        self.order.contains_key(namespace)
    }

    /// All objects, or those of one namespace, ordered by namespace and name.
    pub(crate) fn iter(
        &self,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&Arc<str>, &Arc<str>, &Arc<Stored>)> {
        let (all, one) = match namespace {
            None => (Some(self.order.iter()), None),
            Some(namespace) => (None, self.order.get_key_value(namespace)),
        };
        all.into_iter().flatten().chain(one).flat_map(move |(namespace, names)| {
            names.iter().filter_map(move |name| Some((namespace, name, self.get(namespace, name)?)))
        })
    }

    /// Puts an object in, and gives the one that was there.
    pub(super) fn put(
        &mut self,
        namespace: &Arc<str>,
        name: &Arc<str>,
        object: Arc<Stored>,
    ) -> Option<Arc<Stored>> {
        let hash = hash_of(namespace, name);
        if let Some(place) = self.objects.find_mut(hash, |place| place.is_of(namespace, name)) {
            return Some(std::mem::replace(&mut place.object, object));
        }
        let place = Place { hash, namespace: Arc::clone(namespace), name: Arc::clone(name), object };
        self.objects.insert_unique(hash, place, |place| place.hash);
        self.order.entry(Arc::clone(namespace)).or_default().insert(Arc::clone(name));
        None
    }

    /// Takes an object out.
    pub(super) fn take(&mut self, namespace: &str, name: &str) -> Option<Arc<Stored>> {
        let hash = hash_of(namespace, name);
        let entry = self.objects.find_entry(hash, |place| place.is_of(namespace, name)).ok()?;
        let (place, _) = entry.remove();
        let names = self.order.get_mut(namespace)?;
        names.remove(name);
        if names.is_empty() {
            self.order.remove(namespace);
        }
        Some(place.object)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        /// Whatever comes, changes and goes, it answers as an ordered map would.
        #[test]
        fn it_is_an_ordered_map(steps in prop::collection::vec((any::<bool>(), "[a-c]?", "[a-e]"), 0..60)) {
            let (mut bucket, mut expected) = (Bucket::default(), BTreeMap::new());
            for (revision, (comes, namespace, name)) in (1..).zip(steps) {
                let (namespace, name): (Arc<str>, Arc<str>) = (namespace.into(), name.into());
                let key = (Arc::clone(&namespace), Arc::clone(&name));
                let was = if comes {
                    let was = bucket.put(&namespace, &name, Arc::new(Stored::new(json!({}), revision)));
                    (was, expected.insert(key, revision))
                } else {
                    (bucket.take(&namespace, &name), expected.remove(&key))
                };
                prop_assert_eq!(was.0.map(|object| object.revision), was.1);
                prop_assert_eq!(bucket.get(&namespace, &name).is_some(), comes);
                prop_assert_eq!(bucket.is_empty(), expected.is_empty());
                let listed = |only: Option<&str>| -> Vec<u64> { bucket.iter(only).map(|(_, _, object)| object.revision).collect() };
                prop_assert_eq!(listed(None), expected.values().copied().collect::<Vec<_>>());
                for only in ["", "a", "b", "c"] {
                    let wanted: Vec<u64> = expected.iter().filter(|((it, _), _)| **it == *only).map(|(_, at)| *at).collect();
                    prop_assert_eq!(bucket.has_namespace(only), !wanted.is_empty());
                    prop_assert_eq!(listed(Some(only)), wanted);
                }
            }
        }
    }
}

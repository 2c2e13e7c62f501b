//! The objects of a store, each in a numbered place that it keeps while it is known.
//!
//! A table of numbers finds an object by namespace and name, which stand in the object itself: no key is kept beside
//! it, and a place that takes a newer copy changes nothing else. Numbers say nothing about order.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use hashbrown::HashTable;

use crate::{Object, ObjectKey};

/// The number of a place.
pub(super) type Slot = u32;

/// Objects by slot, and slots by key.
pub(super) struct Slots<K> {
    places: Vec<Option<Arc<K>>>,
    free: Vec<Slot>,
    by_key: HashTable<Slot>,
}

/// A hash that is the same in every run: nothing may depend on chance.
pub(super) fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Namespace and name of an object, without copying them.
fn key_of<K: Object>(object: &K) -> (&str, &str) {
    let meta = object.meta();
    (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
}

impl<K: Object> Slots<K> {
    pub(super) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), by_key: HashTable::new() }
    }

    /// Where the object of that key is.
    pub(super) fn find(&self, key: &ObjectKey) -> Option<Slot> {
        let key = (key.namespace.as_str(), key.name.as_str());
        self.by_key.find(hash_of(key), |slot| self.key(*slot) == Some(key)).copied()
    }

    /// Namespace and name of the object of a slot.
    pub(super) fn key(&self, slot: Slot) -> Option<(&str, &str)> {
        self.get(slot).map(|object| key_of(&**object))
    }

    /// The object of a slot.
    pub(super) fn get(&self, slot: Slot) -> Option<&Arc<K>> {
        self.places.get(slot as usize)?.as_ref()
    }

    /// Puts a newer copy in the place of an object.
    pub(super) fn replace(&mut self, slot: Slot, object: Arc<K>) {
        if let Some(place) = self.places.get_mut(slot as usize) {
            *place = Some(object);
        }
    }

    /// Adds an object whose key is not there yet.
    pub(super) fn insert(&mut self, object: Arc<K>) -> Slot {
        let hash = hash_of(key_of(&*object));
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            Slot::try_from(self.places.len() - 1).expect("a store holds fewer than 2^32 objects")
        });
        self.replace(slot, object);
        let places = &self.places;
        let rehash = |slot: &Slot| {
            let object = places.get(*slot as usize).and_then(Option::as_deref);
            hash_of(object.map(key_of).unwrap_or_default())
        };
        self.by_key.insert_unique(hash, slot, rehash);
        slot
    }

    /// Takes the object of a slot out.
    pub(super) fn remove(&mut self, slot: Slot) {
        let Some(hash) = self.key(slot).map(hash_of) else { return };
        if let Ok(entry) = self.by_key.find_entry(hash, |at| *at == slot) {
            entry.remove();
        }
        if let Some(place) = self.places.get_mut(slot as usize) {
            *place = None;
        }
        self.free.push(slot);
    }

    /// Every object, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<K>> {
        self.places.iter().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }
}

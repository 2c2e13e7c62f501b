//! Who read what of a memory, so that a change leads to those who decided by it and to nobody else.
//!
//! Takes the reads of one reader at a time and the changes of stores; gives the readers that a change concerns, and what has
//! changed. Readers are numbers that the caller gives out. It reads and decides nothing itself.

use std::{
    any::TypeId,
    collections::{BTreeMap, BTreeSet},
    mem,
};

use parking_lot::Mutex;

use crate::{Index, Object, ObjectKey, informer::Change, object_diff::text};

/// From so many readers on it pays to see whether an object has really changed.
const MANY: usize = 8;

/// Something that a reader looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Read {
    /// One object, whether it is there or not.
    Object(TypeId, ObjectKey),
    /// The objects with a value in an index.
    Index(TypeId, &'static str, String),
    /// How many objects have a value in an index.
    Count(TypeId, &'static str, String),
    /// A summary of objects of a kind.
    Summary(TypeId),
    /// The Nodes of a host, which are in a workload cluster.
    NodesOf(ObjectKey),
}

/// What has happened since it was asked last.
#[derive(Debug, Default)]
pub struct News {
    /// Readers of something that has changed.
    pub woken: BTreeSet<usize>,
    /// Objects that came, changed or went, by their Rust type.
    pub touched: BTreeSet<(TypeId, ObjectKey)>,
}

/// Tells whether a change of an object matters to those who got it by its key.
pub(crate) type Matters<K> = fn(&K, &K) -> bool;

/// Who read what.
#[derive(Debug, Default)]
pub(crate) struct Reads(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    current: Option<usize>,
    /// Numbers of what was read.
    numbers: BTreeMap<Read, usize>,
    /// Readers by the number of what they read.
    readers: Vec<BTreeSet<usize>>,
    /// Numbers of what each reader read.
    of_reader: BTreeMap<usize, BTreeSet<usize>>,
    news: News,
}

impl Reads {
    /// What is read from now on is read by `reader`; what it read before is forgotten.
    pub(crate) fn begin(&self, reader: usize) {
        let inner = &mut *self.0.lock();
        inner.current = Some(reader);
        for number in inner.of_reader.remove(&reader).unwrap_or_default() {
            if let Some(readers) = inner.readers.get_mut(number) {
                readers.remove(&reader);
            }
        }
    }

    /// What is read from now on concerns nobody.
    pub(crate) fn end(&self) {
        self.0.lock().current = None;
    }

    pub(crate) fn object<K: Object>(&self, key: &ObjectKey) {
        self.note(|| Read::Object(TypeId::of::<K>(), key.clone()));
    }

    pub(crate) fn index<K: Object>(&self, index: &Index<K>, value: &str) {
        self.note(|| Read::Index(TypeId::of::<K>(), index.name, value.to_owned()));
    }

    pub(crate) fn count<K: Object>(&self, index: &Index<K>, value: &str) {
        self.note(|| Read::Count(TypeId::of::<K>(), index.name, value.to_owned()));
    }

    pub(crate) fn summary<K: Object>(&self) {
        self.note(|| Read::Summary(TypeId::of::<K>()));
    }

    pub(crate) fn nodes_of(&self, host: &ObjectKey) {
        self.note(|| Read::NodesOf(host.clone()));
    }

    pub(crate) fn nodes_changed(&self, host: &ObjectKey) {
        self.0.lock().wake(&Read::NodesOf(host.clone()));
    }

    /// An object has changed. Whoever has listed it is concerned by any change, whoever has got it by its key by those that
    /// `matters` names, and whoever has counted objects by one that changes the number.
    pub(crate) fn changed<K: Object>(
        &self,
        change: &Change<K>,
        indexes: &[Index<K>],
        matters: Option<Matters<K>>,
    ) {
        let Some(key) = change.new.as_ref().or(change.old.as_ref()).map(|object| object.key()) else {
            return;
        };
        let kind = TypeId::of::<K>();
        let inner = &mut *self.0.lock();
        inner.news.touched.insert((kind, key.clone()));
        let by_key = Read::Object(kind, key);
        let is_news = match (&change.old, &change.new, matters) {
            (Some(old), Some(new), Some(matters)) => matters(old, new),
            (Some(old), Some(new), None) => {
                inner.readers_of(&by_key) < MANY || differ(old.as_ref(), new.as_ref())
            }
            _ => true,
        };
        if is_news {
            inner.wake(&by_key);
        }
        inner.wake(&Read::Summary(kind));
        for index in indexes {
            let values = |object: &Option<std::sync::Arc<K>>| -> BTreeSet<String> {
                object.iter().flat_map(|object| (index.values)(object)).collect()
            };
            let (old, new) = (values(&change.old), values(&change.new));
            for value in old.union(&new) {
                inner.wake(&Read::Index(kind, index.name, value.clone()));
            }
            for value in old.symmetric_difference(&new) {
                inner.wake(&Read::Count(kind, index.name, value.clone()));
            }
        }
    }

    pub(crate) fn news(&self) -> News {
        mem::take(&mut self.0.lock().news)
    }

    fn note(&self, read: impl FnOnce() -> Read) {
        let inner = &mut *self.0.lock();
        let Some(reader) = inner.current else { return };
        let next = inner.readers.len();
        let number = *inner.numbers.entry(read()).or_insert(next);
        if number == next {
            inner.readers.push(BTreeSet::new());
        }
        if let Some(readers) = inner.readers.get_mut(number) {
            readers.insert(reader);
        }
        inner.of_reader.entry(reader).or_default().insert(number);
    }
}

/// Whether objects differ in more than their version.
fn differ<K: Object>(old: &K, new: &K) -> bool {
    let mut same = new.clone();
    same.meta_mut().resource_version.clone_from(&old.meta().resource_version);
    text(old) != text(&same)
}

impl Inner {
    fn readers_of(&self, read: &Read) -> usize {
        let readers = self.numbers.get(read).and_then(|number| self.readers.get(*number));
        readers.map_or(0, BTreeSet::len)
    }

    fn wake(&mut self, read: &Read) {
        let readers = self.numbers.get(read).and_then(|number| self.readers.get(*number));
        self.news.woken.extend(readers.into_iter().flatten());
    }
}

//! How deciding code looks at the world: the cache of a running controller, or files.

use std::{ops::ControlFlow, sync::Arc};

use crate::{Aggregate, Index, Object, ObjectKey};

/// Is shown objects one after the other until it breaks.
pub type Visit<'v, K> = dyn FnMut(&Arc<K>) -> ControlFlow<()> + 'v;

/// Gets objects by key and by index. What cannot be read is simply not there.
pub trait Reader: Sync {
    /// One object.
    fn get<K: Object>(&self, key: &ObjectKey) -> Option<Arc<K>>;

    /// The objects with that value in an index, by key.
    fn by_index<K: Object>(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>>;

    /// The aggregate of a group of objects.
    fn aggregate<K: Object, A: Aggregate<K>>(&self, group: &str) -> Arc<A>;

    /// Whether what the reader does not show is not there: files are all there is, a cache is not.
    fn is_authoritative(&self) -> bool {
        true
    }

    /// Whether it is known that an object is gone, which is more than that the reader does not show it: its end was seen, or
    /// its absence was proven.
    fn is_known_gone<K: Object>(&self, key: &ObjectKey, _uid: Option<&str>) -> bool {
        self.is_authoritative() && self.get::<K>(key).is_none()
    }

    /// Whether the server serves the kind; none where no server was asked.
    fn is_served<K: Object>(&self) -> Option<bool> {
        None
    }

    /// How many objects have that value in an index.
    fn count<K: Object>(&self, index: &Index<K>, value: &str) -> usize {
        self.by_index(index, value).len()
    }

    /// Shows the objects with that value in an index, by key, until `visit` breaks, without making a list of them. `visit` must
    /// not use the reader.
    fn each<K: Object>(&self, index: &Index<K>, value: &str, visit: &mut Visit<'_, K>) {
        let _all_or_broken = self.by_index(index, value).iter().try_for_each(visit);
    }
}

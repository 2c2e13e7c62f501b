//! Summaries of objects that belong together, such as the indexes in use of one template.
//!
//! A store brings them up to date with every change of an object, so asking for one costs nothing that grows with the number of
//! objects. What is asked for is an immutable handle. It knows nothing of what is summed up.

use std::{
    any::{Any, TypeId},
    collections::BTreeMap,
    marker::PhantomData,
    sync::Arc,
};

/// A summary of the objects of one group. Adding an entry and removing it again must leave it as it was; objects come and go in
/// any order. While a handle is held, a change copies the summary, so a copy must be cheap.
pub trait Aggregate<K>: Clone + Default + Send + Sync + 'static {
    /// What one object adds to one group.
    type Entry: PartialEq;

    /// What an object adds, and to which groups.
    fn entries(object: &K) -> Vec<(String, Self::Entry)>;

    /// Adds an entry.
    fn add(&mut self, entry: &Self::Entry);

    /// Removes an entry that was added.
    fn remove(&mut self, entry: &Self::Entry);

    /// Whether it is as it was without objects, and need not be kept.
    fn is_empty(&self) -> bool;
}

/// The aggregates of one store.
pub(super) struct Aggregates<K>(Vec<(TypeId, Box<dyn Maintain<K>>)>);

impl<K> Default for Aggregates<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: 'static> Aggregates<K> {
    /// Maintains one more, beginning with these objects.
    pub(super) fn add<'a, A: Aggregate<K>>(&mut self, objects: impl Iterator<Item = &'a K>) {
        let mut groups = Groups::<K, A> { by_value: BTreeMap::new(), of: PhantomData };
        for object in objects {
            groups.change(None, Some(object));
        }
        self.0.retain(|(id, _)| *id != TypeId::of::<A>());
        self.0.push((TypeId::of::<A>(), Box::new(groups)));
    }

    /// Takes note of a change of an object.
    pub(super) fn change(&mut self, old: Option<&K>, new: Option<&K>) {
        for (_, aggregate) in &mut self.0 {
            aggregate.change(old, new);
        }
    }

    /// The aggregate of a group; `None` if it is not maintained.
    pub(super) fn get<A: Aggregate<K>>(&self, group: &str) -> Option<Arc<A>> {
        let (_, found) = self.0.iter().find(|(id, _)| *id == TypeId::of::<A>())?;
        let groups = found.as_any().downcast_ref::<Groups<K, A>>()?;
        Some(groups.by_value.get(group).cloned().unwrap_or_default())
    }

    /// The aggregates of all groups, by their names; none if it is not maintained.
    pub(super) fn all<A: Aggregate<K>>(&self) -> Vec<Arc<A>> {
        let found = self.0.iter().find(|(id, _)| *id == TypeId::of::<A>());
        let groups = found.and_then(|(_, groups)| groups.as_any().downcast_ref::<Groups<K, A>>());
        groups.map(|groups| groups.by_value.values().cloned().collect()).unwrap_or_default()
    }
}

trait Maintain<K>: Send + Sync {
    fn change(&mut self, old: Option<&K>, new: Option<&K>);
    fn as_any(&self) -> &dyn Any;
}

/// One kind of aggregate, group by group.
struct Groups<K, A> {
    by_value: BTreeMap<String, Arc<A>>,
    of: PhantomData<fn(&K)>,
}

impl<K: 'static, A: Aggregate<K>> Maintain<K> for Groups<K, A> {
    fn change(&mut self, old: Option<&K>, new: Option<&K>) {
        let (before, after) =
            (old.map(A::entries).unwrap_or_default(), new.map(A::entries).unwrap_or_default());
        // Most changes of an object concern something else.
        if before == after {
            return;
        }
        for (group, entry) in before {
            if let Some(sum) = self.by_value.get_mut(&group) {
                Arc::make_mut(sum).remove(&entry);
                if sum.is_empty() {
                    self.by_value.remove(&group);
                }
            }
        }
        for (group, entry) in after {
            Arc::make_mut(self.by_value.entry(group).or_default()).add(&entry);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

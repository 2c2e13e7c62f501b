//! What happened to the objects of one resource, revision by revision, for those who check that something never did.
//!
//! Reads the log that watches are served from; decides nothing.

use serde_json::Value;

use crate::{
    cluster::Cluster,
    resource::ResourceKey,
    store::{log::EventKind, table::Table},
};

/// One change of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Revision {
    /// The number that the change was given; numbers of one cluster are ordered across resources.
    pub number: u64,
    /// Whether the object is gone from then on.
    pub removed: bool,
    /// The object after the change, or as it was last.
    pub object: Value,
}

impl Cluster {
    /// Every change of a resource, oldest first; `None` if it is not served or the log has dropped some of them.
    pub(crate) fn history(&self, resource: &ResourceKey) -> Option<Vec<Revision>> {
        self.with(|state| state.store.table(resource).and_then(changes))
    }
}

fn changes(table: &Table) -> Option<Vec<Revision>> {
    let events = table.log.since(0)?;
    let revision = |event: &crate::store::log::Event| Revision {
        number: event.object.revision,
        removed: event.kind == EventKind::Deleted,
        object: event.object.value(),
    };
    Some(events.map(revision).collect())
}

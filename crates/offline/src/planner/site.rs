//! Documents as objects in memory, by the table of kinds that the controllers read.

use std::collections::BTreeMap;

use capm3_api::neighbours::BareMetalHost;
use capm3_engine::{
    Detail, Index, Memory, Object, ObjectKey,
    manifests::{Document, Problem},
};
use capm3_provider::{
    dry_run,
    kinds::{self, Reading, Visitor},
};
use serde_json::Value;

use super::operator::inspected;
use crate::stored;

/// Puts documents into memory.
pub(crate) struct Loader(Memory);

impl Default for Loader {
    fn default() -> Self {
        Self(kinds::memory())
    }
}

impl Loader {
    /// Loads a document; `None` if it is of a kind that the controllers do not read.
    pub(crate) fn load(&mut self, document: &Document) -> Option<Result<(), Problem>> {
        let mut put = Put { memory: &mut self.0, document, taken: None };
        kinds::visit(&mut put);
        put.taken
    }

    /// The objects. A host that no operator has seen counts as available, with the hardware of its annotation.
    pub(crate) fn finish(self) -> Memory {
        let Self(mut memory) = self;
        let hosts = memory.caches().store::<BareMetalHost>().map(|store| store.all()).unwrap_or_default();
        for host in hosts.iter().filter(|host| host.state().is_empty() || host.status.hardware.is_none()) {
            memory.put(inspected(host.as_ref().clone()));
        }
        memory
    }
}

/// Reads documents; what cannot be read is reported and left out.
pub(super) fn read<'d>(documents: impl IntoIterator<Item = &'d Document>) -> (Memory, Vec<Problem>) {
    let (mut loader, mut problems) = (Loader(kinds::memory().tracking(dry_run::UNCOUNTED)), Vec::new());
    let mut seen: BTreeMap<(String, String, ObjectKey), &Document> = BTreeMap::new();
    for document in documents {
        let Some(loaded) = loader.load(document) else { continue };
        let kind = document.resource();
        let first = seen.entry((kind.group, kind.kind, document.key())).or_insert(document);
        let is_first = std::ptr::eq(*first, document) || first.value == document.value;
        problems.extend(if is_first { loaded.err() } else { Some(stored::twice(document, first)) });
    }
    (loader.finish(), problems)
}

/// Every object of the kinds of that name.
pub(super) fn list(memory: &Memory, kind: &str) -> Vec<Value> {
    let mut list = List { memory, kind, found: Vec::new() };
    kinds::visit(&mut list);
    list.found
}

struct List<'a> {
    memory: &'a Memory,
    kind: &'a str,
    found: Vec<Value>,
}

impl Visitor for List<'_> {
    fn visit<K: Object>(&mut self, _reading: Reading, _indexes: &[Index<K>]) {
        if K::kind(&()) == self.kind {
            self.found.extend(self.memory.list::<K>());
        }
    }
}

/// Puts a document into memory if it is of a kind that the controllers read.
struct Put<'a> {
    memory: &'a mut Memory,
    document: &'a Document,
    taken: Option<Result<(), Problem>>,
}

impl Visitor for Put<'_> {
    fn visit<K: Object>(&mut self, reading: Reading, _indexes: &[Index<K>]) {
        if !stored::is_of::<K>(self.document) {
            return;
        }
        self.taken = Some(match reading.detail {
            Detail::Whole => stored::object::<K>(self.document).map(|object| self.memory.put(object)),
            // What is not read by type is kept anyway.
            Detail::Metadata => stored::value(self.document).map(|value| self.memory.put_whole::<K>(value)),
        });
    }
}

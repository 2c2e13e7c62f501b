//! What a write sets in motion inside the server, carried through until nothing is left to do.
//!
//! Everything happens before the request is answered, in a fixed order, and is recorded as `gc`.

use crate::{
    crd,
    gc::{self, Suspects},
    namespace,
    store::object::ObjectKey,
    write::{Policy, Writer},
};

impl Writer<'_> {
    /// Reacts to all changes, and to the changes that this causes.
    pub(crate) fn settle(&mut self) {
        self.as_server(|writer| {
            let mut suspects = Suspects::new();
            loop {
                if let Some(change) = writer.store_mut().next_change() {
                    crd::react(writer, &change);
                    namespace::react(writer, &change);
                    gc::react(writer, &change, &mut suspects);
                } else if let Some(key) = suspects.pop_front() {
                    gc::examine(writer, &key, &mut suspects);
                } else {
                    return;
                }
            }
        });
    }

    /// Deletes an object on the server's own behalf.
    pub(crate) fn collect(&mut self, key: &ObjectKey, policy: Option<Policy>) {
        let before = self.store().get(key).map(|stored| stored.revision);
        let Some(outcome) = self.begin_delete(key, policy) else {
            return;
        };
        if before != Some(outcome.object.revision) {
            self.record(key, Some(outcome.object.revision), 200);
        }
    }
}

//! The objects that an explanation looks at, as the controllers read them.

use std::collections::BTreeMap;

use capm3_api::neighbours::SecretMetadata;
use capm3_engine::{
    Caches, Detail, Index, Object, ObjectKey, Reader, ResourceKind,
    manifests::{Document, Problem},
};
use capm3_provider::{
    host_crd,
    kinds::{self, Reading, Visitor},
};
use serde_json::Value;

use super::events::event_kind;
use crate::stored;

/// Everything that explanations look at. Of Secrets only the metadata is kept.
#[derive(Debug)]
pub struct Site {
    pub(super) objects: Caches,
    pub(super) knows_secrets: bool,
    /// Fields of a host's spec that its CRD, if it was among the documents, does not have.
    pub(super) host_lacks: Vec<&'static str>,
    /// Kinds that could not be read, with how the server answers for them: nothing is known of their objects.
    pub(super) unread: BTreeMap<String, String>,
    /// Events, as they came.
    pub(super) events: Vec<Value>,
    /// What could not be read and is left out.
    pub problems: Vec<Problem>,
}

impl Site {
    /// Sorts documents out; kinds that have no say are passed over. `knows_secrets` says whether a Secret that is not
    /// among the documents is not there.
    pub fn read<'d>(documents: impl IntoIterator<Item = &'d Document>, knows_secrets: bool) -> Self {
        let mut objects = Caches::default();
        kinds::register(&mut objects);
        let mut site = Self {
            objects,
            knows_secrets,
            host_lacks: Vec::new(),
            unread: BTreeMap::new(),
            events: Vec::new(),
            problems: Vec::new(),
        };
        let mut seen: BTreeMap<(String, String, ObjectKey), &Document> = BTreeMap::new();
        for document in documents {
            if is_crd_of_hosts(document) {
                site.host_lacks = host_crd::lacking(&document.value);
            }
            if document.resource() == event_kind() {
                site.events.push(document.value.clone());
            }
            if !is_relevant(document) {
                continue;
            }
            let kind = document.resource();
            let first = seen.entry((kind.group, kind.kind, document.key())).or_insert(document);
            let taken = match std::ptr::eq(*first, document) {
                true => put(&site.objects, document),
                // Who asks for kinds by name and by category gets them twice.
                false if first.value == document.value => Ok(()),
                false => Err(stored::twice(document, first)),
            };
            site.problems.extend(taken.err());
        }
        site
    }

    /// The same where some kinds could not be read: by kind, how the server answers for it, such as `is not served`.
    #[must_use]
    pub fn lacking(self, unread: BTreeMap<String, String>) -> Self {
        Self { unread, ..self }
    }

    /// Every object of a kind, by key.
    pub(super) fn all<K: Object>(&self) -> Vec<std::sync::Arc<K>> {
        self.objects.store::<K>().map(|store| store.all()).unwrap_or_default()
    }

    /// Whether no Secret of that name was among the documents.
    pub(super) fn has_no_secret(&self, namespace: &str, name: &str) -> bool {
        self.objects.get::<SecretMetadata>(&ObjectKey::new(namespace, name)).is_none()
    }
}

/// Whether explanations look at a document, so that a mistake in it must be reported.
pub fn is_relevant(document: &Document) -> bool {
    let mut put = Put { document, objects: None, taken: None };
    kinds::visit(&mut put);
    put.taken.is_some()
}

/// Whether it is the definition of hosts, which shows what the server drops of them.
fn is_crd_of_hosts(document: &Document) -> bool {
    document.kind() == host_crd::definitions().kind && document.key().name == host_crd::NAME
}

/// Reads a document into the caches if it is of a kind that the controllers read.
struct Put<'a> {
    document: &'a Document,
    objects: Option<&'a Caches>,
    taken: Option<Result<(), Problem>>,
}

impl Visitor for Put<'_> {
    fn visit<K: Object>(&mut self, _reading: Reading, _indexes: &[Index<K>]) {
        if !stored::is_of::<K>(self.document) {
            return;
        }
        self.taken = Some(match self.objects.and_then(Caches::store::<K>) {
            Some(store) => stored::object(self.document).map(|object: K| {
                store.apply(object);
            }),
            None => Ok(()),
        });
    }
}

fn put(objects: &Caches, document: &Document) -> Result<(), Problem> {
    let mut put = Put { document, objects: Some(objects), taken: None };
    kinds::visit(&mut put);
    put.taken.unwrap_or(Ok(()))
}

/// What the explanation of a host looks at, in the order in which it is listed: a machine that a host names is there before
/// the host names it, so hosts come first.
const OF_HOSTS: [&str; 6] = [
    "BareMetalHost",
    "Metal3Machine",
    "Metal3DataClaim",
    "Cluster",
    "MachineDeployment",
    "KubeadmControlPlane",
];

/// What to list of a cluster for the explanation of a machine, and how much of each object: all that the controllers read.
pub fn wanted() -> Vec<(ResourceKind, Detail)> {
    struct Wanted(Vec<(ResourceKind, Detail)>);
    impl Visitor for Wanted {
        fn visit<K: Object>(&mut self, reading: Reading, _indexes: &[Index<K>]) {
            self.0.push((ResourceKind::of::<K>(), reading.detail));
        }
    }
    let mut wanted = Wanted(Vec::new());
    kinds::visit(&mut wanted);
    wanted.0
}

/// What to list of a cluster for the explanation of a host, in this order.
pub fn wanted_for_host() -> Vec<(ResourceKind, Detail)> {
    let known = wanted();
    let find = |name: &&str| known.iter().find(|(kind, _)| kind.kind == **name);
    OF_HOSTS.iter().filter_map(find).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_explanation_lists_every_kind_that_the_controllers_read() {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        let mut listed: Vec<ResourceKind> = wanted().into_iter().map(|(kind, _)| kind).collect();
        listed.sort();
        let mut read = caches.kinds();
        read.sort();
        assert_eq!(listed, read);
        assert_eq!(wanted_for_host().len(), OF_HOSTS.len());
    }
}

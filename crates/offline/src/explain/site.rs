//! The objects that an explanation looks at, as the controllers read them.

use std::collections::BTreeMap;

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    neighbours::{
        BareMetalHost, CapiIpAddress, Cluster, IpAddressClaim, KubeadmControlPlane, Machine,
        MachineDeployment, MachineSet, SecretMetadata,
    },
    v1beta2::{
        Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine, Metal3MachineTemplate,
    },
};
use capm3_engine::{
    Caches, Detail, Object, ObjectKey, Reader, ResourceKind,
    manifests::{Document, Problem},
};
use capm3_provider::{host_crd, indexes};
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

/// Reads a document into the caches.
type Put = fn(&Caches, &Document) -> Result<(), Problem>;

impl Site {
    /// Sorts documents out; kinds that have no say are passed over. `knows_secrets` says whether a Secret that is not
    /// among the documents is not there.
    pub fn read<'d>(documents: impl IntoIterator<Item = &'d Document>, knows_secrets: bool) -> Self {
        let mut objects = Caches::default();
        indexes::register(&mut objects);
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
            let Some(put) = put_of(document) else { continue };
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

/// Whether explanations look at a document, so that a mistake in it must be told.
pub fn has_a_say(document: &Document) -> bool {
    put_of(document).is_some()
}

/// Whether it is the definition of hosts, which tells what the server drops of them.
fn is_crd_of_hosts(document: &Document) -> bool {
    document.kind() == host_crd::definitions().kind && document.key().name == host_crd::NAME
}

fn put_of(document: &Document) -> Option<Put> {
    let kind = document.resource();
    let mut known = kinds().into_iter();
    known.find(|(known, ..)| known.group == kind.group && known.kind == kind.kind).map(|(_, _, put)| put)
}

/// What only the explanation of a host looks at.
const OF_HOSTS_ONLY: [&str; 2] = ["MachineDeployment", "KubeadmControlPlane"];

/// What the explanation of a host looks at, in the order in which it is listed: a machine that a host names is there before
/// the host names it, so hosts come first.
const OF_HOSTS: [&str; 6] =
    ["BareMetalHost", "Metal3Machine", "Metal3DataClaim", "Cluster", OF_HOSTS_ONLY[0], OF_HOSTS_ONLY[1]];

/// What to list of a cluster for the explanation of a machine, and how much of each object.
pub fn wanted() -> Vec<(ResourceKind, Detail)> {
    let of_machines = kinds().into_iter().filter(|(kind, ..)| !OF_HOSTS_ONLY.contains(&kind.kind.as_str()));
    of_machines.map(|(kind, detail, _)| (kind, detail)).collect()
}

/// What to list of a cluster for the explanation of a host, in this order.
pub fn wanted_for_host() -> Vec<(ResourceKind, Detail)> {
    let known = kinds();
    let find = |name: &&str| known.iter().find(|(kind, ..)| kind.kind == **name);
    OF_HOSTS.iter().filter_map(find).map(|(kind, detail, _)| (kind.clone(), *detail)).collect()
}

fn kinds() -> [(ResourceKind, Detail, Put); 18] {
    [
        whole::<Metal3Machine>(),
        whole::<Metal3MachineTemplate>(),
        whole::<Metal3Cluster>(),
        whole::<Metal3DataTemplate>(),
        whole::<Metal3DataClaim>(),
        whole::<Metal3Data>(),
        whole::<BareMetalHost>(),
        whole::<Cluster>(),
        whole::<Machine>(),
        whole::<MachineSet>(),
        whole::<MachineDeployment>(),
        whole::<KubeadmControlPlane>(),
        whole::<IpPool>(),
        whole::<IpClaim>(),
        whole::<IpAddress>(),
        whole::<IpAddressClaim>(),
        whole::<CapiIpAddress>(),
        (ResourceKind::of::<SecretMetadata>(), Detail::Metadata, put::<SecretMetadata>),
    ]
}

fn whole<K: Object>() -> (ResourceKind, Detail, Put) {
    (ResourceKind::of::<K>(), Detail::Whole, put::<K>)
}

fn put<K: Object>(objects: &Caches, document: &Document) -> Result<(), Problem> {
    let object: K = stored::object(document)?;
    if let Some(store) = objects.store::<K>() {
        store.apply(object);
    }
    Ok(())
}

//! The objects as rules look at them: by kind and key, with the questions that several rules ask.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    metadata::{MetadataExt, group_of},
    neighbours::{BareMetalHost, Cluster, Node, SecretMetadata},
    reference::SecretRef,
    v1beta2::{Metal3Data, Metal3Machine},
    vocabulary::label,
};
use capm3_engine::{Caches, Index, Object, ObjectKey, Reader, ResourceKind};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;

use super::{Inventory, Subject};

/// What rules look at.
pub(super) struct View<'a> {
    inventory: &'a Inventory,
    pub(super) now: Timestamp,
    users: OnceCell<Users>,
}

/// Who uses what, by key.
#[derive(Default)]
struct Users {
    data: BTreeMap<ObjectKey, ObjectKey>,
    addresses: BTreeMap<(String, String), ObjectKey>,
    secrets: BTreeSet<ObjectKey>,
}

impl<'a> View<'a> {
    pub(super) fn new(inventory: &'a Inventory, now: Timestamp) -> Self {
        Self { inventory, now, users: OnceCell::new() }
    }

    /// The objects as the controllers read them.
    pub(super) fn reader(&self) -> &'a Caches {
        &self.inventory.caches
    }

    /// Every object of a kind, by key.
    pub(super) fn all<K: Object>(&self) -> Vec<Arc<K>> {
        self.reader().store::<K>().map(|store| store.all()).unwrap_or_default()
    }

    /// Every object of a kind that nobody deletes.
    pub(super) fn not_deleting<K: Object>(&self) -> Vec<Arc<K>> {
        let mut all = self.all::<K>();
        all.retain(|object| !object.meta().is_deleting());
        all
    }

    /// The Nodes that are known.
    pub(super) fn nodes(&self) -> &'a [Arc<Node>] {
        &self.inventory.nodes
    }

    /// An object of a kind.
    pub(super) fn get<K: Object>(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.reader().get::<K>(key)
    }

    /// Objects by index.
    pub(super) fn by_index<K: Object>(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        self.reader().by_index(index, value)
    }

    /// Whether every object of a kind is known.
    pub(super) fn knows_all<K: Object>(&self) -> bool {
        self.inventory.knows_all_of(&K::group(&()), &K::kind(&()))
    }

    /// Whether an object does not exist, which can be report only if all of its kind are known.
    pub(super) fn is_gone<K: Object>(&self, key: &ObjectKey) -> bool {
        self.knows_all::<K>() && self.get::<K>(key).is_none()
    }

    /// Whether an owner does not exist: neither one of its uid nor one of its name, which may be it after a restore.
    pub(super) fn is_owner_gone<K: Object>(&self, object: &ObjectMeta, owner: &OwnerReference) -> bool {
        self.is_uid_gone::<K>(owner) && self.get::<K>(&beside(object, &owner.name)).is_none()
    }

    /// Whether no object has the uid of an owner of that kind.
    pub(super) fn is_uid_gone<K: Object>(&self, owner: &OwnerReference) -> bool {
        owner.kind == K::kind(&())
            && group_of(&owner.api_version) == K::group(&())
            && self.is_any_uid_gone(owner)
    }

    /// The same for an owner of any kind.
    pub(super) fn is_any_uid_gone(&self, owner: &OwnerReference) -> bool {
        self.inventory.knows_all_of(group_of(&owner.api_version), &owner.kind)
            && !owner.uid.is_empty()
            && !self.inventory.uids.contains(&owner.uid)
    }

    /// Whether a Secret beside an object does not exist.
    pub(super) fn is_secret_gone(&self, object: &ObjectMeta, secret: &SecretRef) -> bool {
        !secret.name_str().is_empty() && self.is_gone::<SecretMetadata>(&beside(object, secret.name_str()))
    }

    /// Whether an object of any kind that is kept exists.
    pub(super) fn exists(&self, object: &Subject) -> bool {
        self.inventory.age(object).is_some()
    }

    /// Whether an object exists and has no uid.
    pub(super) fn is_without_uid(&self, object: &Subject) -> bool {
        self.inventory.is_without_uid(object)
    }

    /// The definition of hosts, if it is known.
    pub(super) fn host_definition(&self) -> Option<&'a ObjectMeta> {
        self.inventory.host_definition.as_ref()
    }

    /// Whether a label leads `clusterctl move` to an object, or to the objects of a definition.
    pub(super) fn is_led_to(&self, object: &ObjectMeta) -> bool {
        [label::MOVE, label::MOVE_HIERARCHY].iter().any(|label| object.label(label).is_some())
    }

    /// Whether the Cluster of an object's label is paused.
    pub(super) fn is_cluster_paused(&self, object: &ObjectMeta) -> bool {
        let cluster = object.label(label::CLUSTER_NAME).map(|name| beside(object, name));
        cluster.and_then(|key| self.get::<Cluster>(&key)).is_some_and(|cluster| cluster.is_paused())
    }

    /// The machine that runs with a data object.
    pub(super) fn machine_of_data(&self, data: &Metal3Data) -> Option<&ObjectKey> {
        self.users().data.get(&data.key())
    }

    /// The machine that says that it has an address.
    pub(super) fn machine_of_address(&self, namespace: &str, address: &str) -> Option<&ObjectKey> {
        self.users().addresses.get(&(namespace.to_owned(), address.to_owned()))
    }

    /// Whether a host or a machine names a Secret.
    pub(super) fn is_secret_used(&self, secret: &ObjectKey) -> bool {
        self.users().secrets.contains(secret)
    }

    fn users(&self) -> &Users {
        self.users.get_or_init(|| {
            let mut users = Users::default();
            for machine in self.not_deleting::<Metal3Machine>() {
                users.add_machine(&machine);
            }
            for host in self.all::<BareMetalHost>() {
                let spec = &host.spec;
                users.add_secrets(&host.metadata, [&spec.user_data, &spec.meta_data, &spec.network_data]);
            }
            users
        })
    }
}

impl Users {
    fn add_machine(&mut self, machine: &Metal3Machine) {
        let (metadata, spec, status) = (&machine.metadata, &machine.spec, &machine.status);
        if let Some(data) = &status.rendered_data {
            self.data.insert(beside(metadata, data.name_str()), machine.key());
        }
        for address in &status.addresses {
            let place = (metadata.namespace_str().to_owned(), address.address.clone());
            self.addresses.insert(place, machine.key());
        }
        self.add_secrets(metadata, [&spec.user_data, &spec.meta_data, &spec.network_data]);
        self.add_secrets(metadata, [&status.user_data, &status.meta_data, &status.network_data]);
    }

    fn add_secrets(&mut self, metadata: &ObjectMeta, secrets: [&Option<SecretRef>; 3]) {
        let named = secrets.into_iter().flatten().filter(|secret| !secret.name_str().is_empty());
        self.secrets.extend(named.map(|secret| beside(metadata, secret.name_str())));
    }
}

/// A name in the namespace of an object.
pub(super) fn beside(object: &ObjectMeta, name: &str) -> ObjectKey {
    ObjectKey::new(object.namespace_str(), name)
}

/// The kind and key that an owner reference names.
pub(super) fn owner_subject(object: &ObjectMeta, owner: &OwnerReference) -> Subject {
    let (group, version) = owner.api_version.split_once('/').unwrap_or(("", &owner.api_version));
    let kind = ResourceKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: owner.kind.clone(),
        plural: format!("{}s", owner.kind.to_lowercase()),
    };
    Subject { kind, key: beside(object, &owner.name) }
}

/// Whether a host is in use: somebody consumes it, or it has an image.
pub(super) fn is_in_use(host: &BareMetalHost) -> bool {
    host.spec.consumer_ref.is_some() || capm3_domain::host::has_image(host)
}

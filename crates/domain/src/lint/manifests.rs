//! The objects that a user gave, by kind and name.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{
    ipam::IpPool,
    neighbours::BareMetalHost,
    v1beta2::{Metal3Cluster, Metal3DataTemplate, Metal3MachineTemplate},
};
use serde_json::Value;

use super::ObjectId;
use crate::validation::node::Node;

/// An object as it was written.
#[derive(Debug, Clone)]
pub struct RawObject<'a> {
    /// Its number.
    pub id: ObjectId,
    /// API group; empty for the core kinds.
    pub group: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Namespace; empty for kinds that have none.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// All of it.
    pub value: &'a Value,
}

impl<'a> RawObject<'a> {
    pub(super) fn root(&self) -> Node<'a> {
        Node::root(self.value)
    }
}

/// An object that was read by its type.
#[derive(Debug, Clone)]
pub struct Subject<K> {
    /// Its number.
    pub id: ObjectId,
    /// The object, in the version that the controllers read.
    pub object: Arc<K>,
}

/// Objects of one kind by namespace and name.
#[derive(Debug, Clone)]
pub struct Collection<K>(BTreeMap<(String, String), Subject<K>>);

impl<K> Default for Collection<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K> Collection<K> {
    /// Adds an object.
    pub fn add(&mut self, namespace: &str, name: &str, id: ObjectId, object: Arc<K>) {
        self.0.insert((namespace.to_owned(), name.to_owned()), Subject { id, object });
    }

    /// The object of this name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Subject<K>> {
        self.0.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// All, by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Subject<K>)> {
        self.0.iter().map(|((namespace, name), subject)| (namespace.as_str(), name.as_str(), subject))
    }

    /// Those of one namespace.
    pub fn of_namespace<'c>(&'c self, namespace: &'c str) -> impl Iterator<Item = (&'c str, &'c Subject<K>)> {
        let from = (namespace.to_owned(), String::new());
        let ours = self.0.range(from..).take_while(move |((home, _), _)| home == namespace);
        ours.map(|((_, name), subject)| (name.as_str(), subject))
    }
}

/// Network data that a user wrote himself, in a Secret.
#[derive(Debug, Clone)]
pub struct UserNetworkData {
    /// The Secret.
    pub id: ObjectId,
    /// The member of the Secret, such as `stringData.networkData`.
    pub field: String,
    /// The document, or why its text cannot be read.
    pub document: Result<Value, String>,
}

/// Whether it is the declarative form of nmstate, which some images read instead.
pub fn is_nmstate(document: &Value) -> bool {
    document.get("interfaces").is_some_and(Value::is_array) && document.get("links").is_none()
}

/// Everything that was given.
#[derive(Debug, Clone, Default)]
pub struct Manifests<'a> {
    /// Every object, those too that cannot be read by type.
    objects: Vec<RawObject<'a>>,
    /// Their positions by kind, namespace and name.
    positions: BTreeMap<(&'a str, String, String), usize>,
    /// Network data in Secrets that templates and machines name.
    pub user_network_data: Vec<UserNetworkData>,
    /// Metal3DataTemplates.
    pub data_templates: Collection<Metal3DataTemplate>,
    /// Metal3MachineTemplates.
    pub machine_templates: Collection<Metal3MachineTemplate>,
    /// Metal3Clusters.
    pub metal3_clusters: Collection<Metal3Cluster>,
    /// IPPools.
    pub pools: Collection<IpPool>,
    /// BareMetalHosts.
    pub hosts: Collection<BareMetalHost>,
}

impl<'a> Manifests<'a> {
    /// Objects of which none was read by its type yet.
    pub fn of(objects: Vec<RawObject<'a>>) -> Self {
        let mut positions = BTreeMap::new();
        for (position, object) in objects.iter().enumerate() {
            let key = (object.kind, object.namespace.clone(), object.name.clone());
            positions.entry(key).or_insert(position);
        }
        Self { objects, positions, ..Self::default() }
    }

    /// Every object, in the order of the files.
    pub fn objects(&self) -> &[RawObject<'a>] {
        &self.objects
    }

    /// Objects of a kind, by namespace and name.
    pub(super) fn of_kind<'m>(&'m self, kind: &'m str) -> impl Iterator<Item = &'m RawObject<'a>> {
        self.range(kind, String::new()).take_while(move |object| object.kind == kind)
    }

    /// Objects of a kind in a namespace, by name.
    pub(super) fn of_namespace<'m>(
        &'m self,
        kind: &'m str,
        namespace: &'m str,
    ) -> impl Iterator<Item = &'m RawObject<'a>> {
        let is_here = move |object: &&RawObject<'_>| object.kind == kind && object.namespace == namespace;
        self.range(kind, namespace.to_owned()).take_while(is_here)
    }

    /// The object of this kind and name.
    pub fn find<'m>(&'m self, kind: &'m str, namespace: &'m str, name: &str) -> Option<&'m RawObject<'a>> {
        let found = self.positions.get(&(kind, namespace.to_owned(), name.to_owned()))?;
        self.objects.get(*found)
    }

    fn range<'m>(&'m self, kind: &'m str, namespace: String) -> impl Iterator<Item = &'m RawObject<'a>> {
        self.positions
            .range((kind, namespace, String::new())..)
            .filter_map(|(_, position)| self.objects.get(*position))
    }
}

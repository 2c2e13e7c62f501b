//! What the engine must know of an object: its kind, its key and its version.

use std::fmt;

use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};

/// Anything that can be cached, read and written.
pub trait Object:
    Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static
{
    /// Namespace and name.
    fn key(&self) -> ObjectKey {
        let meta = self.meta();
        ObjectKey::new(
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
        )
    }

    /// The resource version as a number; versions of one API server are ordered.
    fn version(&self) -> u64 {
        self.meta().resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or(0)
    }

    /// Deletion has begun and nobody holds the object back: the server has removed it.
    fn is_gone(&self) -> bool {
        let meta = self.meta();
        meta.deletion_timestamp.is_some() && meta.finalizers.as_ref().is_none_or(Vec::is_empty)
    }
}

impl<K> Object for K where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static
{
}

/// Namespace and name of an object; the namespace of a cluster-wide one is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace, empty for cluster-wide objects.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ObjectKey {
    /// A key from its parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// Where a kind is served.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceKind {
    /// API group, empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Plural used in URLs.
    pub plural: String,
}

impl ResourceKind {
    /// The kind of a Rust type.
    pub fn of<K: Resource<DynamicType = ()>>() -> Self {
        Self {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
        }
    }

    /// The `apiVersion` of objects of this kind.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Definitions of custom kinds.
    pub fn definitions() -> Self {
        Self {
            group: "apiextensions.k8s.io".to_owned(),
            version: "v1".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            plural: "customresourcedefinitions".to_owned(),
        }
    }

    /// Namespaces.
    pub fn namespaces() -> Self {
        Self {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            plural: "namespaces".to_owned(),
        }
    }

    /// The definition of this kind, if it is a custom one.
    pub fn definition_key(&self) -> ObjectKey {
        ObjectKey::new("", format!("{}.{}", self.plural, self.group))
    }

    /// Whether the kind is served by the API server itself, so that no definition can be missing or going. Groups of
    /// custom kinds have a domain, and those of Kubernetes below `k8s.io` are not among the kinds that are read here.
    pub fn is_built_in(&self) -> bool {
        !self.group.contains('.')
    }

    /// URL path of the resources of the group and version.
    pub fn discovery_path(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }

    /// URL path of all objects of this kind in a namespace, or everywhere when it is empty.
    pub fn collection_path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", self.group) };
        if namespace.is_empty() {
            format!("{root}/{}/{}", self.version, self.plural)
        } else {
            format!("{root}/{}/namespaces/{namespace}/{}", self.version, self.plural)
        }
    }

    /// URL path of one object.
    pub fn object_path(&self, key: &ObjectKey) -> String {
        format!("{}/{}", self.collection_path(&key.namespace), key.name)
    }
}

impl fmt::Display for ResourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)
    }
}

//! Metadata as the provider keeps it: everything but `managedFields`, which would triple the memory of a cache.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;

pub use crate::compact_deserialize::without_managed_fields;

/// Questions that every controller asks of metadata.
pub trait MetadataExt {
    /// Value of a label.
    fn label(&self, key: &str) -> Option<&str>;
    /// Value of an annotation.
    fn annotation(&self, key: &str) -> Option<&str>;
    /// Whether the finalizer stands on the object.
    fn has_finalizer(&self, finalizer: &str) -> bool;
    /// Whether deletion has begun.
    fn is_deleting(&self) -> bool;
    /// First owner of that kind in that API group, whatever its version.
    fn owner(&self, group: &str, kind: &str) -> Option<&OwnerReference>;
    /// Whether some owner reference has this uid.
    fn is_owned_by_uid(&self, uid: &str) -> bool;
    /// Name, or the empty string for an object that has none yet.
    fn name_str(&self) -> &str;
    /// Namespace, or the empty string.
    fn namespace_str(&self) -> &str;
    /// Uid, or the empty string.
    fn uid_str(&self) -> &str;
}

impl MetadataExt for ObjectMeta {
    fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }

    fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().flatten().any(|f| f == finalizer)
    }

    fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    fn owner(&self, group: &str, kind: &str) -> Option<&OwnerReference> {
        self.owner_references
            .iter()
            .flatten()
            .find(|owner| owner.kind == kind && group_of(&owner.api_version) == group)
    }

    fn is_owned_by_uid(&self, uid: &str) -> bool {
        self.owner_references.iter().flatten().any(|owner| owner.uid == uid)
    }

    fn name_str(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn namespace_str(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    fn uid_str(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }
}

/// The group of an `apiVersion`; the core group is the empty string.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_the_core_version_is_empty() {
        assert_eq!(group_of("v1"), "");
        assert_eq!(group_of("cluster.x-k8s.io/v1beta2"), "cluster.x-k8s.io");
    }

    #[test]
    fn an_owner_is_found_in_any_version_of_its_group() {
        let meta: ObjectMeta = serde_json::from_value(serde_json::json!({
            "ownerReferences": [
                {"apiVersion": "other/v1", "kind": "Machine", "name": "no", "uid": "1"},
                {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": "yes", "uid": "2"}
            ]
        }))
        .unwrap();
        assert_eq!(meta.owner("cluster.x-k8s.io", "Machine").map(|o| o.name.as_str()), Some("yes"));
        assert!(meta.is_owned_by_uid("1"));
        assert!(!meta.is_owned_by_uid("3"));
    }
}

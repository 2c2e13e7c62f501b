//! What a CRD and each of its objects need. Takes JSON as the server gives it; gives writes. It asks nobody.

use std::collections::BTreeSet;

use capm3_api::vocabulary::annotation;
use capm3_engine::{ObjectKey, ResourceKind, Write};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::Phases;
use crate::host_crd::definitions;

/// Field manager of an object that had only managers of versions that are gone.
const MANAGER: &str = "capm3";

/// A CRD that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("CustomResourceDefinition {name} has no {missing}")]
pub struct CrdError {
    name: String,
    missing: &'static str,
}

/// What one kind needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The kind, in its storage version.
    pub kind: ResourceKind,
    crd: ObjectKey,
    crd_version: Option<String>,
    generation: i64,
    /// Whether objects may be stored in another version than the storage version.
    rewrites: bool,
    /// `apiVersion` of the versions that are served; none if field managers are left as they are.
    served: Option<BTreeSet<String>>,
}

/// An object, as far as the migration reads it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Listed {
    metadata: ListedMetadata,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListedMetadata {
    name: String,
    namespace: String,
    resource_version: Option<String>,
    managed_fields: Vec<Value>,
}

/// What the kind of a CRD needs; `None` if its present generation is migrated, or nothing is to be done.
pub fn migration_of(crd: &Value, phases: Phases) -> Result<Option<Migration>, CrdError> {
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let name = text("/metadata/name").unwrap_or_default();
    let missing = |missing| CrdError { name: name.clone(), missing };
    let generation = crd.pointer("/metadata/generation").and_then(Value::as_i64);
    let generation = generation.ok_or_else(|| missing("metadata.generation"))?;
    let observed = crd.pointer("/metadata/annotations").and_then(|all| all.get(annotation::CRD_MIGRATED));
    if observed.and_then(Value::as_str) == Some(generation.to_string().as_str()) || !phases.is_any() {
        return Ok(None);
    }
    let group = text("/spec/group").ok_or_else(|| missing("spec.group"))?;
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice);
    let versions = versions.unwrap_or_default();
    let names_where = |member: &'static str| {
        versions
            .iter()
            .filter(move |version| version[member] == true)
            .filter_map(|version| version["name"].as_str())
    };
    let storage = names_where("storage").next().ok_or_else(|| missing("storage version"))?;
    let stored = crd.pointer("/status/storedVersions").and_then(Value::as_array);
    let is_current = stored.is_some_and(|stored| stored.iter().all(|version| version == storage));
    let served = names_where("served").map(|version| format!("{group}/{version}"));
    Ok(Some(Migration {
        kind: ResourceKind {
            version: storage.to_owned(),
            kind: text("/spec/names/kind").ok_or_else(|| missing("spec.names.kind"))?,
            plural: text("/spec/names/plural").ok_or_else(|| missing("spec.names.plural"))?,
            group: group.clone(),
        },
        crd: ObjectKey::new("", &name),
        crd_version: text("/metadata/resourceVersion"),
        generation,
        rewrites: phases.storage_version && !is_current,
        served: phases.managed_fields.then(|| served.collect()),
    }))
}

impl Migration {
    /// The write that an object needs. A patch that changes nothing makes the server store the object again, in the storage
    /// version.
    pub fn write_of(&self, object: &Listed) -> Option<Write> {
        let ListedMetadata { name, namespace, resource_version, managed_fields } = &object.metadata;
        let fields = self.served.as_ref().and_then(|served| self.kept(managed_fields, served));
        let patch = match fields {
            Some(fields) => json!({"metadata": {"managedFields": fields}}),
            None if self.rewrites => json!({"metadata": {}}),
            None => return None,
        };
        Some(Write::Patch {
            kind: self.kind.clone(),
            key: ObjectKey::new(namespace, name),
            subresource: None,
            version: resource_version.clone(),
            patch,
        })
    }

    /// The field managers that stay, if any of them goes. An object without field managers would get all its fields from the next
    /// writer, so one that owns the name only takes the place of the last.
    fn kept(&self, fields: &[Value], served: &BTreeSet<String>) -> Option<Vec<Value>> {
        let is_served = |entry: &&Value| entry["apiVersion"].as_str().is_some_and(|it| served.contains(it));
        let kept: Vec<Value> = fields.iter().filter(is_served).cloned().collect();
        if kept.len() == fields.len() {
            return None;
        }
        if !kept.is_empty() {
            return Some(kept);
        }
        let time = fields.iter().find_map(|entry| entry.get("time")).cloned().unwrap_or(Value::Null);
        Some(vec![json!({
            "manager": MANAGER, "operation": "Apply", "apiVersion": self.kind.api_version(), "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:name": {}}},
        })])
    }

    /// Whether an object that was written meanwhile is done: the server has stored it in the storage version, but its field
    /// managers may still need the write.
    pub fn is_done_on_conflict(&self, object: &Listed) -> bool {
        let fields = &object.metadata.managed_fields;
        self.served.as_ref().is_none_or(|served| self.kept(fields, served).is_none())
    }

    /// The last writes, once every object is done. They need the CRD at the version that was read: if it has changed, its versions
    /// may have too.
    pub fn finish(&self) -> Vec<Write> {
        let patch = |subresource, patch| Write::Patch {
            kind: definitions(),
            key: self.crd.clone(),
            subresource,
            version: self.crd_version.clone(),
            patch,
        };
        let stored = self
            .rewrites
            .then(|| patch(Some("status"), json!({"status": {"storedVersions": [self.kind.version]}})));
        let observed = self.generation.to_string();
        let observed = json!({"metadata": {"annotations": {annotation::CRD_MIGRATED: observed}}});
        stored.into_iter().chain([patch(None, observed)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Phases = Phases { storage_version: true, managed_fields: true };

    fn crd(stored: &[&str], observed: Option<&str>) -> Value {
        let mut crd = json!({
            "metadata": {"name": "things.g", "generation": 4, "resourceVersion": "7"},
            "spec": {
                "group": "g", "names": {"kind": "Thing", "plural": "things"},
                "versions": [
                    {"name": "v1alpha1", "served": false, "storage": false},
                    {"name": "v1beta1", "served": true, "storage": false},
                    {"name": "v1beta2", "served": true, "storage": true},
                ],
            },
            "status": {"storedVersions": stored},
        });
        if let Some(observed) = observed {
            crd["metadata"]["annotations"] = json!({annotation::CRD_MIGRATED: observed});
        }
        crd
    }

    fn object(managers: &[&str]) -> Listed {
        let entry = |version: &&str| json!({"manager": "m", "apiVersion": version, "time": "t"});
        let managers: Vec<Value> = managers.iter().map(entry).collect();
        let metadata =
            json!({"name": "a", "namespace": "n", "resourceVersion": "3", "managedFields": managers});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    fn needed(stored: &[&str], phases: Phases) -> Migration {
        migration_of(&crd(stored, Some("3")), phases).unwrap().unwrap()
    }

    #[test]
    fn a_crd_is_migrated_once_per_generation() {
        assert_eq!(migration_of(&crd(&["v1beta1"], Some("4")), ALL), Ok(None));
        assert!(migration_of(&crd(&["v1beta2"], Some("3")), ALL).unwrap().is_some());
        assert!(migration_of(&crd(&["v1beta2"], None), ALL).unwrap().is_some());
        let none = Phases { storage_version: false, managed_fields: false };
        assert_eq!(migration_of(&crd(&["v1beta1"], None), none), Ok(None));
    }

    #[test]
    fn every_object_is_written_if_another_version_may_be_stored() {
        let cases = [
            (&["v1beta1", "v1beta2"][..], ALL, true),
            (&["v1beta1"][..], ALL, true),
            (&["v1beta2"][..], ALL, false),
            (&["v1beta1"][..], Phases { storage_version: false, ..ALL }, false),
        ];
        for (stored, phases, is_written) in cases {
            let write = needed(stored, phases).write_of(&object(&["g/v1beta2"]));
            assert_eq!(write.is_some(), is_written, "{stored:?} {phases:?}");
            if let Some(Write::Patch { version, patch, kind, .. }) = write {
                assert_eq!((version.as_deref(), patch), (Some("3"), json!({"metadata": {}})));
                assert_eq!(kind.api_version(), "g/v1beta2");
            }
        }
    }

    #[test]
    fn field_managers_of_versions_that_are_not_served_go() {
        let patch_of = |managers: &[&str]| match needed(&["v1beta2"], ALL).write_of(&object(managers)) {
            Some(Write::Patch { patch, .. }) => Some(patch["metadata"]["managedFields"].clone()),
            _ => None,
        };
        assert_eq!(patch_of(&["g/v1beta1", "g/v1beta2"]), None, "both are served");
        let kept = patch_of(&["g/v1alpha1", "g/v1beta1"]).unwrap();
        assert_eq!(kept.as_array().unwrap().len(), 1);
        assert_eq!(kept[0]["apiVersion"], "g/v1beta1");
        let seeded = patch_of(&["g/v1alpha1"]).unwrap();
        assert_eq!(seeded[0]["apiVersion"], "g/v1beta2");
        assert_eq!(seeded[0]["fieldsV1"], json!({"f:metadata": {"f:name": {}}}));
    }

    #[test]
    fn a_conflict_is_done_unless_field_managers_must_go() {
        let migration = needed(&["v1beta1"], ALL);
        assert!(migration.is_done_on_conflict(&object(&["g/v1beta1"])));
        assert!(!migration.is_done_on_conflict(&object(&["g/v1alpha1"])));
    }

    #[test]
    fn stored_versions_are_set_before_the_generation_and_only_at_the_version_that_was_read() {
        let writes = needed(&["v1beta1", "v1beta2"], ALL).finish();
        let [Write::Patch { subresource, version, patch, .. }, Write::Patch { patch: last, version: at, .. }] =
            &writes[..]
        else {
            panic!("{writes:?}")
        };
        assert_eq!((*subresource, version.as_deref(), at.as_deref()), (Some("status"), Some("7"), Some("7")));
        assert_eq!(patch["status"]["storedVersions"], json!(["v1beta2"]));
        assert_eq!(last["metadata"]["annotations"][annotation::CRD_MIGRATED], "4");
        assert_eq!(needed(&["v1beta2"], ALL).finish().len(), 1, "stored versions are right already");
    }

    #[test]
    fn a_crd_that_lacks_something_is_named() {
        let mut broken = crd(&["v1beta1"], None);
        broken["spec"]["versions"] = json!([]);
        let error = migration_of(&broken, ALL).unwrap_err();
        assert_eq!(error.to_string(), "CustomResourceDefinition things.g has no storage version");
    }
}

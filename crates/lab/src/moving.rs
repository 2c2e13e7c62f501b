//! The move of a namespace with its cluster into another lab, as `clusterctl move` does it, and the restore of a backup
//! of it in parts.
//!
//! Objects are created again, owners first: they get new uids and lose their status, but for that of hosts in a restore.
//! The workload cluster is the same one before and after, so its Nodes come along as they are. Nothing is deleted here: the
//! lab that was left is thrown away. A move within one server would keep uids, status or versions, and would hide mistakes that
//! rest on them.

use std::{collections::BTreeMap, sync::Arc};

use capm3_engine::{ApiError, ObjectKey};
use serde_json::Value;
use thiserror::Error;

use crate::{Lab, manifests::Manifest};

/// What is moved.
const KINDS: [&str; 22] = [
    "Namespace",
    "Secret",
    "BareMetalHost",
    "Cluster",
    "Metal3Cluster",
    "KubeadmControlPlane",
    "Metal3MachineTemplate",
    "KubeadmConfigTemplate",
    "MachineDeployment",
    "MachineSet",
    "Machine",
    "KubeadmConfig",
    "Metal3Machine",
    "Metal3RemediationTemplate",
    "MachineHealthCheck",
    "Metal3Remediation",
    "Metal3DataTemplate",
    "Metal3DataClaim",
    "Metal3Data",
    "IPPool",
    "IPClaim",
    "IPAddress",
];

/// What belongs to the place and not to the object.
const NOT_MOVED: [&str; 5] = ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"];

/// Why a move failed.
#[derive(Debug, Error)]
pub enum MoveError {
    /// The new server refused an object.
    #[error("moving {object}")]
    Refused {
        /// The object.
        object: String,
        /// The server's words.
        #[source]
        source: Box<ApiError>,
    },
    /// An object has an owner that is not moved.
    #[error("{0} has an owner that is not moved")]
    Owner(String),
}

/// Moves everything of a cluster's namespace, and the Nodes of the cluster.
pub async fn move_cluster(from: &Lab, to: &Lab, cluster: &ObjectKey) -> Result<(), MoveError> {
    let mut restore = Restore::default();
    restore.bring(from, to, &cluster.namespace, |_| true, |_| {}).await?;
    restore.bring_nodes(from, to, cluster).await
}

/// A backup that is restored in parts: uids of what has arrived, by those of the origin.
#[derive(Debug, Default)]
pub struct Restore {
    uids: BTreeMap<String, String>,
}

impl Restore {
    /// Brings the objects of a namespace that are wanted and have not come yet, owners first, each as `change` leaves it.
    pub async fn bring(
        &mut self,
        from: &Lab,
        to: &Lab,
        namespace: &str,
        is_wanted: impl Fn(&Value) -> bool,
        change: impl Fn(&mut Value),
    ) -> Result<(), MoveError> {
        let is_moved = |object: &&Arc<Value>| {
            let is_namespace = text(object, "/kind") == "Namespace";
            let pointer = if is_namespace { "/metadata/name" } else { "/metadata/namespace" };
            let has_come = self.uids.contains_key(text(object, "/metadata/uid"));
            text(object, pointer) == namespace && !has_come && is_wanted(object)
        };
        let all: Vec<Arc<Value>> = KINDS.iter().flat_map(|kind| from.objects(kind)).collect();
        let mut left: Vec<Arc<Value>> = all.iter().filter(is_moved).cloned().collect();
        while let Some(first) = left.first().cloned() {
            let (before, mut waiting) = (left.len(), Vec::new());
            for object in left {
                match as_moved(&object, &self.uids) {
                    None => waiting.push(object),
                    Some(mut moved) => {
                        change(&mut moved);
                        let uid = create(to, "", moved).await?;
                        self.uids.insert(text(&object, "/metadata/uid").to_owned(), uid);
                    }
                }
            }
            if waiting.len() == before {
                return Err(MoveError::Owner(manifest(first.as_ref().clone()).to_string()));
            }
            left = waiting;
        }
        Ok(())
    }

    /// Brings the Nodes of a cluster.
    pub async fn bring_nodes(&self, from: &Lab, to: &Lab, cluster: &ObjectKey) -> Result<(), MoveError> {
        let id = cluster.to_string();
        to.server().add_cluster(&id);
        let objects = from.server().objects(Some(&id));
        for node in objects.iter().filter(|object| text(object, "/kind") == "Node") {
            if let Some(node) = as_moved(node, &self.uids) {
                create(to, &format!("/clusters/{id}"), node).await?;
            }
        }
        Ok(())
    }
}

/// The object as it arrives; `None` while an owner of it has not arrived.
fn as_moved(object: &Value, uids: &BTreeMap<String, String>) -> Option<Value> {
    let mut object = object.clone();
    object.as_object_mut()?.remove("status");
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut)?;
    metadata.retain(|member, _| !NOT_MOVED.contains(&member.as_str()));
    for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
        let uid = uids.get(text(owner, "/uid"))?.clone();
        owner.as_object_mut()?.insert("uid".to_owned(), uid.into());
    }
    Some(object)
}

/// Creates an object on a path of the server; gives its uid.
async fn create(to: &Lab, path: &str, object: Value) -> Result<String, MoveError> {
    let manifest = manifest(object);
    let (kind, key) = (manifest.resource(), manifest.key());
    match to.client().below(path).create(&kind, &key.namespace, manifest.object.clone()).await {
        Ok(answer) => Ok(text(&answer, "/metadata/uid").to_owned()),
        Err(error) => Err(MoveError::Refused { object: manifest.to_string(), source: Box::new(error) }),
    }
}

fn manifest(object: Value) -> Manifest {
    Manifest { file: "move".to_owned(), object }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

//! What another provider has left in a management cluster, put into a server before anybody looks at it.
//!
//! Takes objects as they stand in files: with status, with finalizers, some being deleted, Nodes among them. Stores them as
//! they are, past the rules of admission: those who wrote them had other rules. The server gives the uids, so a text
//! `<uid of Kind name>` in an object stands for the uid of another; a uid that is written out belongs to nobody.

use std::collections::BTreeMap;

use capm3_apiserver::{Admission, ApiServer};
use capm3_engine::{ApiClient, ApiError};
use serde_json::Value;

use crate::{
    LabError,
    manifests::Manifest,
    running::{apply, crds},
};

/// In which version the objects of the provider's own kinds were stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredAs {
    /// By a release that stored v1beta1; the CRDs are replaced afterwards.
    V1Beta1,
    /// By one that stored v1beta2.
    V1Beta2,
}

/// Rules that refuse nothing.
struct Open;

impl Admission for Open {}

/// The opening of a text that stands for a uid.
const UID_OF: &str = "<uid of ";

/// Where Nodes say which workload cluster they belong to.
const NODE_CLUSTER: [&str; 2] = [
    "/metadata/annotations/cluster.x-k8s.io~1cluster-namespace",
    "/metadata/annotations/cluster.x-k8s.io~1cluster-name",
];

/// Stores the objects, each after those whose uids it names; then deletes those that are being deleted. The rules of
/// admission are open afterwards.
pub(crate) async fn put(
    server: &ApiServer,
    client: &ApiClient,
    objects: &[Manifest],
    stored_as: StoredAs,
) -> Result<(), LabError> {
    server.set_admission(std::sync::Arc::new(Open));
    if stored_as == StoredAs::V1Beta1 {
        apply(client, &older_crds()).await?;
    }
    let mut uids = BTreeMap::new();
    let mut left: Vec<&Manifest> = objects.iter().collect();
    while !left.is_empty() {
        let before = left.len();
        let mut waiting = Vec::new();
        for manifest in left {
            match resolved(&manifest.object, &uids) {
                Some(object) => store(server, client, manifest, object, &mut uids).await?,
                None => waiting.push(manifest),
            }
        }
        if let (true, Some(first)) = (waiting.len() == before, waiting.first()) {
            return Err(LabError::Unresolved(first.to_string()));
        }
        left = waiting;
    }
    let going = objects.iter().filter(|it| it.object.pointer("/metadata/deletionTimestamp").is_some());
    for manifest in going {
        let answer = client.delete(&manifest.resource(), &manifest.key(), None).await;
        answer.map_err(|error| refused(manifest, error))?;
    }
    if stored_as == StoredAs::V1Beta1 {
        apply(client, &crds()).await?;
    }
    Ok(())
}

/// The CRDs, with v1beta1 as the version in which objects are stored.
fn older_crds() -> Vec<Manifest> {
    let mut all = crds();
    all.retain(|crd| {
        crd.object.pointer("/spec/group").is_some_and(|group| group == capm3_api::v1beta2::GROUP)
    });
    for crd in &mut all {
        let versions = crd.object.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
        for version in versions.into_iter().flatten().filter_map(Value::as_object_mut) {
            let is_older = version.get("name").is_some_and(|name| name == "v1beta1");
            version.insert("storage".to_owned(), is_older.into());
        }
    }
    all
}

async fn store(
    server: &ApiServer,
    client: &ApiClient,
    manifest: &Manifest,
    mut object: Value,
    uids: &mut BTreeMap<String, String>,
) -> Result<(), LabError> {
    let (kind, key) = (manifest.resource(), manifest.key());
    let client = match manifest.kind() {
        "Node" => {
            let [namespace, name] = NODE_CLUSTER.map(|at| text(&object, at));
            server.add_cluster(&format!("{namespace}/{name}"));
            client.below(format!("/clusters/{namespace}/{name}"))
        }
        _ => client.clone(),
    };
    let status = object.as_object_mut().and_then(|object| object.shift_remove("status"));
    let stored = client.create(&kind, &key.namespace, object).await;
    let stored = stored.map_err(|error| refused(manifest, error))?;
    uids.insert(format!("{} {}", manifest.kind(), key.name), text(&stored, "/metadata/uid"));
    if let Some(status) = status.filter(|status| !status.is_null()) {
        let patch = serde_json::json!({"status": status});
        let answer = client.merge_patch(&kind, &key, Some("status"), &patch).await;
        answer.map_err(|error| refused(manifest, error))?;
    }
    Ok(())
}

/// The object with uids in the place of their stand-ins; `None` while one is not known.
fn resolved(object: &Value, uids: &BTreeMap<String, String>) -> Option<Value> {
    Some(match object {
        Value::String(text) => Value::String(with_uids(text, uids)?),
        Value::Array(items) => items.iter().map(|item| resolved(item, uids)).collect::<Option<_>>()?,
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Some((name.clone(), resolved(value, uids)?)));
            members.collect::<Option<_>>()?
        }
        other => other.clone(),
    })
}

fn with_uids(text: &str, uids: &BTreeMap<String, String>) -> Option<String> {
    let Some((before, rest)) = text.split_once(UID_OF) else { return Some(text.to_owned()) };
    let (object, after) = rest.split_once('>')?;
    Some(format!("{before}{}{}", uids.get(object)?, with_uids(after, uids)?))
}

fn refused(manifest: &Manifest, source: ApiError) -> LabError {
    LabError::Refused { file: manifest.file.clone(), object: manifest.to_string(), source }
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_is_put_in_the_place_of_its_stand_in_once_it_is_known() {
        let uids = BTreeMap::from([("Machine m".to_owned(), "1".to_owned())]);
        let object = |of: &str| serde_json::json!({"a": ["x", {"uid": format!("is <uid of {of}>.")}]});
        assert_eq!(
            resolved(&object("Machine m"), &uids),
            Some(serde_json::json!({"a": ["x", {"uid": "is 1."}]}))
        );
        assert_eq!(resolved(&object("Machine n"), &uids), None);
    }
}

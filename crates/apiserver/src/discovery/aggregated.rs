//! Discovery in one document: every group, version, resource and subresource of a cluster, as `kubectl` asks for it
//! first.

use serde_json::{Map, Value, json};

use super::{SUBRESOURCE_VERBS, served, verbs};
use crate::{
    resource::{Resource, Version},
    store::Store,
};

/// What the answer calls itself.
pub(crate) const MEDIA_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The core group for `/api`, all others for `/apis`.
pub(crate) fn document(store: &Store, is_core: bool) -> Value {
    let groups = served(store, is_core);
    let items: Vec<Value> = groups.iter().map(|(group, versions)| entry(store, group, versions)).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn entry(store: &Store, group: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions.iter().map(|version| resources(store, group, version)).collect();
    // The core group has no name at all.
    let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
    json!({"metadata": metadata, "versions": versions})
}

fn resources(store: &Store, group: &str, version: &str) -> Value {
    let tables = store.tables().map(|table| &table.resource).filter(|resource| resource.group == group);
    let resources: Vec<Value> = tables
        .filter_map(|resource| resource.version(version).map(|version| describe(resource, &version)))
        .collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn describe(resource: &Resource, version: &Version) -> Value {
    let kind = json!({"group": resource.group, "version": version.name, "kind": resource.kind});
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("resource", json!(resource.plural));
    set("responseKind", kind.clone());
    set("scope", json!(if resource.namespaced { "Namespaced" } else { "Cluster" }));
    set("singularResource", json!(resource.singular));
    set("verbs", json!(verbs(resource)));
    for (name, list) in [("shortNames", &resource.short_names), ("categories", &resource.categories)] {
        if !list.is_empty() {
            set(name, json!(list));
        }
    }
    let mut subresources = Vec::new();
    if version.scale.is_some() {
        let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        subresources.push(json!({"subresource": "scale", "responseKind": scale, "verbs": SUBRESOURCE_VERBS}));
    }
    if version.has_status {
        subresources.push(json!({"subresource": "status", "responseKind": kind, "verbs": SUBRESOURCE_VERBS}));
    }
    if !subresources.is_empty() {
        set("subresources", json!(subresources));
    }
    Value::Object(fields)
}

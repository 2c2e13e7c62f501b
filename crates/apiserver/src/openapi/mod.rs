//! OpenAPI v3: takes what a cluster serves, gives one document for each group version, so that `kubectl explain`
//! can explain and `kubectl apply` finds that the server checks fields. Built when asked for, from the stored
//! definitions: nothing is kept twice.

mod builtin;
mod paths;
mod types;
pub(crate) mod v2;

pub(crate) use self::{builtin::known_fields, types::is_metadata_field};

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use self::types::{LIST_META, OBJECT_META};
use crate::{
    builtin::{CRD_GROUP, CRD_PLURAL},
    meta::str_at,
    resource::{Resource, ResourceKey, Special},
    store::Store,
};

/// `/openapi/v3`.
pub(crate) fn index(store: &Store) -> Value {
    let mut versions = BTreeSet::new();
    for table in store.tables() {
        let served = table.resource.versions.iter().filter(|version| version.served);
        versions.extend(served.map(|version| prefix(&table.resource.group, &version.name)));
    }
    let paths: Map<String, Value> = versions
        .into_iter()
        .map(|prefix| {
            let url = json!({"serverRelativeURL": format!("/openapi/v3/{prefix}")});
            (prefix, url)
        })
        .collect();
    json!({"paths": paths})
}

/// `api/v1` or `apis/<group>/<version>`.
fn prefix(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// The document of one group version; `None` if nothing is served there.
pub(crate) fn document(store: &Store, group: &str, version: &str) -> Option<Value> {
    let tables = store.tables().map(|table| &table.resource);
    let resources: Vec<&Resource> = tables
        .filter(|resource| resource.group == group && resource.version(version).is_some())
        .map(|resource| &**resource)
        .collect();
    if resources.is_empty() {
        return None;
    }
    let mut schemas = types::shared();
    let mut paths = Map::new();
    for resource in resources {
        let name = component(resource, version);
        let schema = match resource.is_custom() {
            true => custom(store, resource, version),
            false => builtin::schema(group, &resource.kind, &mut schemas),
        };
        let kind = json!({"group": group, "version": version, "kind": resource.kind});
        if resource.special != Special::Review {
            schemas.insert(format!("{name}List"), list(resource, &name, version));
        }
        schemas.insert(name.clone(), complete(schema, &kind));
        paths::add(&mut paths, &prefix(group, version), resource, &kind, &name);
    }
    Some(json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.0"}, "paths": paths,
        "components": {"schemas": schemas}}))
}

/// The name of a schema: the group backwards, as in a Java package.
fn component(resource: &Resource, version: &str) -> String {
    let group = match resource.group.as_str() {
        _ if resource.is_custom() => resource.group.split('.').rev().collect::<Vec<_>>().join("."),
        "" => "io.k8s.api.core".to_owned(),
        CRD_GROUP => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions".to_owned(),
        other => format!("io.k8s.api.{}", other.split('.').next().unwrap_or_default()),
    };
    format!("{group}.{version}.{}", resource.kind)
}

/// The schema a definition gives for one version.
fn custom(store: &Store, resource: &Resource, version: &str) -> Value {
    let name = format!("{}.{}", resource.plural, resource.group);
    let definitions = store.table(&ResourceKey::new(CRD_GROUP, CRD_PLURAL));
    let Some(definition) = definitions.and_then(|table| table.objects.get("", &name)) else {
        return json!({"type": "object"});
    };
    let definition = definition.value();
    let versions = definition.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_array);
    let found = versions.into_iter().flatten().find(|it| str_at(it, "name") == version);
    let schema = found.and_then(|it| it.get("schema")?.get("openAPIV3Schema"));
    schema.cloned().unwrap_or_else(|| json!({"type": "object"}))
}

/// Adds what every kind has.
fn complete(mut schema: Value, kind: &Value) -> Value {
    let Some(fields) = schema.as_object_mut() else { return schema };
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        for (name, text) in types::TYPE_META {
            properties.insert(name.to_owned(), json!({"type": "string", "description": text}));
        }
        properties.insert("metadata".to_owned(), types::reference(OBJECT_META, types::METADATA));
    }
    fields.insert("x-kubernetes-group-version-kind".to_owned(), json!([kind]));
    schema
}

fn list(resource: &Resource, item: &str, version: &str) -> Value {
    let [api_version, kind] =
        types::TYPE_META.map(|(name, text)| (name, json!({"type": "string", "description": text})));
    let properties = json!({
        api_version.0: api_version.1, kind.0: kind.1,
        "metadata": types::reference(LIST_META, "What lists have."),
        "items": {"type": "array", "description": "The objects.", "items": {"$ref": format!("#/components/schemas/{item}")}},
    });
    let kind = json!({"group": resource.group, "version": version, "kind": resource.list_kind});
    json!({"type": "object", "description": format!("A list of {}.", resource.kind), "required": ["items"],
        "properties": properties, "x-kubernetes-group-version-kind": [kind]})
}

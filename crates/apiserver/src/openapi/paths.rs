//! The operations of an OpenAPI document. Clients look here for the kind behind a path and for the query parameters
//! a write understands.

use serde_json::{Map, Value, json};

use crate::resource::{Resource, Special};

const DRY_RUN: (&str, &str) = ("dryRun", "With All nothing is stored.");
const FIELD_MANAGER: (&str, &str) = ("fieldManager", "Who makes the change.");
const FIELD_VALIDATION: (&str, &str) =
    ("fieldValidation", "What happens to unknown and duplicate fields: Ignore, Warn or Strict.");

/// Adds the paths of one resource; `name` is its schema.
pub(super) fn add(
    paths: &mut Map<String, Value>,
    prefix: &str,
    resource: &Resource,
    kind: &Value,
    name: &str,
) {
    let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("/{prefix}{scope}/{}", resource.plural);
    let operation = |action: &str, parameters: &[(&str, &str)]| {
        let parameters: Vec<Value> = parameters.iter().map(|(name, text)| query(name, text)).collect();
        let content =
            json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}});
        json!({"operationId": format!("{action}{}", resource.kind), "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind, "parameters": parameters,
            "responses": {"200": {"description": "OK", "content": content}}})
    };
    let writing = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];
    if resource.special == Special::Review {
        paths.insert(collection, json!({"post": operation("post", &writing)}));
        return;
    }
    let mut in_path = Vec::new();
    if resource.namespaced {
        in_path.push(segment("namespace"));
    }
    paths.insert(
        collection.clone(),
        json!({"parameters": in_path, "get": operation("list", &[]), "post": operation("post", &writing),
            "delete": operation("deletecollection", &[DRY_RUN])}),
    );
    in_path.push(segment("name"));
    paths.insert(
        format!("{collection}/{{name}}"),
        json!({"parameters": in_path, "get": operation("get", &[]), "put": operation("put", &writing),
            "patch": operation("patch", &writing), "delete": operation("delete", &[DRY_RUN])}),
    );
    if resource.namespaced {
        paths.insert(format!("/{prefix}/{}", resource.plural), json!({"get": operation("list", &[])}));
    }
}

fn query(name: &str, description: &str) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": {"type": "string"}})
}

fn segment(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})
}

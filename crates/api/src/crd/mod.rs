//! CustomResourceDefinitions of the provider's kinds and of the address kinds, generated from the Rust types.
//!
//! [`all`] is what is installed: v1beta2 stored, v1beta1 served with a warning and converted by the manager's webhook.

mod column;
mod defaults;
mod definition;
mod kinds;

use std::sync::LazyLock;

use serde_json::Value;

pub use crate::schema::structural_schema;

/// Service of the manager that converts between the versions: namespace and name.
pub const CONVERSION_SERVICE: (&str, &str) = ("capm3-system", "capm3-webhook-service");
/// Path at which it converts.
pub const CONVERSION_PATH: &str = "/convert";
/// Certificate whose authority the API server must trust, as cert-manager names it.
pub const SERVING_CERTIFICATE: &str = "capm3-system/capm3-serving-cert";

/// Every CRD of the provider and of the built-in address manager, in the order of [`crate::v1beta2`] and
/// [`crate::ipam`].
pub fn all() -> Vec<Value> {
    DEFINITIONS.clone()
}

/// The schema of one version of a kind; none if there is no such kind or version.
pub fn schema(kind: &str, version: &str) -> Option<&'static Value> {
    let of_kind = |crd: &&Value| crd.pointer("/spec/names/kind").and_then(Value::as_str) == Some(kind);
    let definition = DEFINITIONS.iter().find(of_kind)?;
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let found = versions.iter().find(|it| it.get("name").and_then(Value::as_str) == Some(version))?;
    found.pointer("/schema/openAPIV3Schema")
}

/// Fills in what the schema of a version has defaults for. Nothing happens to an unknown kind or version.
pub fn fill_in(kind: &str, version: &str, object: &mut Value) {
    if let Some(schema) = schema(kind, version) {
        defaults::fill_in(object, schema);
    }
}

/// Made once: conversion asks for schemas with each object.
static DEFINITIONS: LazyLock<Vec<Value>> =
    LazyLock::new(|| kinds::all().into_iter().map(definition::Definition::crd).collect());

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_carry_no_words_that_an_api_server_refuses() {
        let text = serde_json::to_string(&all()).unwrap();
        for word in [
            "\"nullable\"",
            "\"title\"",
            "$ref",
            "\"anyOf\"",
            "\"default\":null",
            "\"default\":[]",
            "x-required",
        ] {
            assert!(!text.contains(word), "found {word}");
        }
    }

    #[test]
    fn what_is_made_for_machines_shows_whose_it_is_and_what_is_wrong_with_it() {
        for (kind, expected) in [
            ("Metal3Data", "Age Ready Index Claim Template Error"),
            ("Metal3DataClaim", "Age Template Data Error"),
            ("IPClaim", "Age Pool Address Error"),
        ] {
            let all = all();
            let crd = all.iter().find(|crd| crd["spec"]["names"]["kind"] == kind).unwrap();
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let schema = &version["schema"]["openAPIV3Schema"];
                let columns = version["additionalPrinterColumns"].as_array().unwrap();
                let names: Vec<&str> = columns.iter().filter_map(|column| column["name"].as_str()).collect();
                assert_eq!(names.join(" "), expected, "{kind}");
                for path in columns.iter().filter_map(|column| column["jsonPath"].as_str()) {
                    let pointer = path.replace('.', "/properties/");
                    assert!(
                        path.starts_with(".metadata") || schema.pointer(&pointer).is_some(),
                        "{kind}{path}"
                    );
                }
            }
        }
    }

    #[test]
    fn bounds_defaults_and_required_members_come_from_the_types() {
        let schema = schema("Metal3DataTemplate", "v1beta2").unwrap();
        let vlan = schema
            .pointer("/properties/spec/properties/networkData/properties/links/properties/vlans")
            .unwrap();
        assert_eq!(vlan["x-kubernetes-list-map-keys"], json!(["id"]));
        assert_eq!(vlan["items"]["properties"]["vlanID"]["maximum"], json!(4096));
        assert_eq!(vlan["items"]["properties"]["mtu"]["default"], json!(1500));
        assert_eq!(vlan["items"]["required"], json!(["id", "vlanID", "vlanLink"]));
    }

    #[test]
    fn every_field_says_what_it_is_for() {
        for crd in all() {
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let path = format!("{} {}", crd["spec"]["names"]["kind"], version["name"]);
                described(&version["schema"]["openAPIV3Schema"], &path);
            }
        }
    }

    fn described(schema: &Value, path: &str) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let inside = path.contains('.') || name != "metadata";
            let path = format!("{path}.{name}");
            if !inside {
                assert_eq!(property, &json!({"type": "object"}), "{path}: an API server refuses more");
                continue;
            }
            let text = property["description"].as_str().unwrap_or_default();
            assert!(text.ends_with('.') && text.len() > 3, "{path}: {text:?} is no sentence");
            assert!(
                !text.contains("\n ") && !text.contains("  "),
                "{path}: {text:?} passes on the layout of the source"
            );
            described(property, &path);
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(inner) {
                described(inner, path);
            }
        }
    }
}

//! What ConfigMaps and Secrets take, refuse and hold on to.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::*;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const MIB: usize = 1024 * 1024;

/// An object of either kind with these fields.
fn holding(kind: &str, fields: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}});
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

fn path_of(kind: &str) -> &'static str {
    if kind == "Secret" { SECRETS } else { CONFIG_MAPS }
}

#[tokio::test]
async fn a_value_of_another_type_is_refused_in_the_words_of_a_go_decoder() {
    let server = server();
    let table = [
        ("ConfigMap", json!({"data": {"a": 1, "b": true}}), "number", "data", "string"),
        ("ConfigMap", json!({"data": {"a": true}}), "bool", "data", "string"),
        ("ConfigMap", json!({"data": {"a": {}}}), "object", "data", "string"),
        ("ConfigMap", json!({"data": []}), "array", "data", "map[string]string"),
        ("ConfigMap", json!({"binaryData": {"a": 1}}), "number", "binaryData", "[]uint8"),
        ("ConfigMap", json!({"binaryData": 5}), "number", "binaryData", "map[string][]uint8"),
        ("ConfigMap", json!({"immutable": "yes"}), "string", "immutable", "bool"),
        ("Secret", json!({"data": {"a": 1}}), "number", "data", "[]uint8"),
        ("Secret", json!({"stringData": {"a": 1}}), "number", "stringData", "string"),
        ("Secret", json!({"stringData": "x"}), "string", "stringData", "map[string]string"),
        ("Secret", json!({"type": 5}), "number", "type", "v1.SecretType"),
    ];
    for (kind, fields, found, field, wanted) in table {
        let (code, status) = call(&server, "POST", path_of(kind), Some(holding(kind, fields.clone()))).await;
        assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")), "{fields}: {status}");
        let expected = format!(
            "{kind} in version \"v1\" cannot be handled as a {kind}: json: cannot unmarshal {found} into Go struct \
             field {kind}.{field} of type {wanted}"
        );
        assert_eq!(status["message"], expected);
    }
    let body = holding("ConfigMap", json!({"binaryData": {"a": "YQ"}}));
    let (code, status) = call(&server, "POST", CONFIG_MAPS, Some(body)).await;
    assert_eq!(code, 400);
    assert!(status["message"].as_str().unwrap().ends_with("illegal base64 data at input byte 0"));
    let labelled = json!({"metadata": {"name": "a", "labels": {"a": 1}}});
    let (code, status) = call(&server, "POST", CONFIG_MAPS, Some(labelled)).await;
    assert_eq!(code, 400);
    assert_eq!(
        status["message"],
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct \
         field ObjectMeta.metadata.labels of type string"
    );
}

#[tokio::test]
async fn a_null_is_an_empty_value_and_an_empty_map_is_no_field() {
    let server = server();
    let body = holding("ConfigMap", json!({"data": {"n": null}, "binaryData": {}}));
    let stored = ok(&server, "POST", CONFIG_MAPS, Some(body)).await;
    assert_eq!((&stored["data"], stored.get("binaryData")), (&json!({"n": ""}), None));
    let body = holding("Secret", json!({"data": {"n": null, "x": "YQ==\n"}, "stringData": {"s": null}}));
    let stored = ok(&server, "POST", SECRETS, Some(body)).await;
    assert_eq!(stored["data"], json!({"n": "", "x": "YQ==", "s": ""}));
}

#[tokio::test]
async fn keys_are_names_and_stand_in_one_place_only() {
    let server = server();
    let table = [
        (json!({"data": {"a b": "x"}}), "data[a b]", "a valid config key must consist of"),
        (json!({"data": {"..": "x"}}), "data[..]", "must not be '..'"),
        (json!({"binaryData": {"..x": "YQ=="}}), "binaryData[..x]", "must not start with '..'"),
        (
            json!({"data": {"a": "x"}, "binaryData": {"a": "YQ=="}}),
            "data[a]",
            "duplicate of key present in binaryData",
        ),
    ];
    for (fields, path, text) in table {
        let (code, status) =
            call(&server, "POST", CONFIG_MAPS, Some(holding("ConfigMap", fields.clone()))).await;
        assert_eq!(code, 422, "{fields}: {status}");
        let cause = &status["details"]["causes"][0];
        assert_eq!(cause["field"], path);
        assert!(cause["message"].as_str().unwrap().contains(text), "{cause}");
    }
}

#[tokio::test]
async fn all_values_together_have_at_most_one_mebibyte() {
    let server = server();
    let table = [
        ("ConfigMap", json!({"data": {"a": "x".repeat(MIB)}}), None),
        ("ConfigMap", json!({"data": {"a": "x".repeat(MIB)}, "binaryData": {"b": "YQ=="}}), Some("[]")),
        ("Secret", json!({"stringData": {"a": "x".repeat(MIB)}}), None),
        ("Secret", json!({"stringData": {"a": "x".repeat(MIB + 1)}}), Some("data")),
    ];
    for (kind, fields, refused_at) in table {
        let path = format!("{}?dryRun=All", path_of(kind));
        let (code, status) = call(&server, "POST", &path, Some(holding(kind, fields))).await;
        let Some(field) = refused_at else {
            assert_eq!(code, 201, "{kind}");
            continue;
        };
        assert_eq!(code, 422, "{kind}");
        let text = format!("{kind} \"a\" is invalid: {field}: Too long: may not be more than 1048576 bytes");
        assert_eq!(status["message"], text);
    }
}

#[tokio::test]
async fn what_is_immutable_keeps_its_data_but_not_its_labels() {
    let server = server();
    for (kind, value, changed) in [("ConfigMap", "1", "2"), ("Secret", "MQ==", "Mg==")] {
        let fields = json!({"data": {"a": value}, "immutable": true});
        ok(&server, "POST", path_of(kind), Some(holding(kind, fields))).await;
        let path = format!("{}/a", path_of(kind));
        let mut table = vec![
            (json!({"data": {"a": changed}}), vec!["data"]),
            (json!({"data": null}), vec!["data"]),
            (json!({"immutable": null}), vec!["immutable"]),
            (json!({"immutable": false, "data": {"b": value}}), vec!["immutable", "data"]),
        ];
        match kind {
            "Secret" => table.push((json!({"stringData": {"a": "other"}}), vec!["data"])),
            _ => table.push((json!({"binaryData": {"b": "YQ=="}}), vec!["binaryData"])),
        }
        for (patch, fields) in table {
            let (code, status) = merge_patch(&server, &path, patch.clone()).await;
            assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{kind} {patch}");
            let causes: Vec<Value> = fields
                .iter()
                .map(|field| {
                    json!({"reason": "FieldValueForbidden", "field": field,
                        "message": "Forbidden: field is immutable when `immutable` is set"})
                })
                .collect();
            assert_eq!(status["details"]["causes"], json!(causes), "{kind} {patch}");
        }
        let (code, labelled) = merge_patch(&server, &path, json!({"metadata": {"labels": {"a": "b"}}})).await;
        assert_eq!(code, 200, "{labelled}");
        let (code, _) = call(&server, "DELETE", &path, None).await;
        assert_eq!(code, 200);
    }
}

use capm3_engine::manifests::Document;
use serde_json::json;

use super::*;
use crate::migrate::{Options, migrate};

#[test]
fn what_a_server_hides_from_a_reader_of_v1beta1_is_there_again() {
    let hub = json!({
        "apiVersion": v1beta2::API_VERSION,
        "kind": "Metal3MachineTemplate",
        "metadata": {"name": "t", "namespace": "n"},
        "spec": {
            "nodeReuse": true,
            "failureDomainDataTemplates": [{"failureDomain": "rack1", "dataTemplate": {"name": "one"}}],
            "template": {
                "metadata": {"labels": {"rack": "a"}, "annotations": {"note": "b"}},
                "spec": {
                    "image": {"url": "http://x/i", "checksum": "http://x/i.sha256", "diskFormat": "raw"},
                    "hostSelector": {"matchLabels": {"size": "large"}},
                    "dataTemplate": {"name": "two"},
                },
            },
        },
    });
    let shown = conversion::convert(hub.clone(), capm3_api::v1beta1::API_VERSION).unwrap();
    assert_eq!(shown.pointer("/spec/template/metadata"), None, "v1beta1 has no place for it");
    let migration = migrate(&[Document::made("f.yaml", shown)], Options::default());
    assert_eq!(migration.problems, []);
    assert_eq!(migration.documents, [hub]);
}

#[test]
fn differences_are_at_the_deepest_field_that_both_have() {
    let before = json!({"spec": {"a": 1, "l": [{"x": 1}], "gone": 1}, "status": {"x": 1}});
    let after = json!({"spec": {"a": 1, "l": [{"x": 1, "y": 2}], "new": {"z": 3}}});
    let found: Vec<(String, Option<Value>)> =
        differences(&before, &after).into_iter().map(|(path, value)| (path.to_string(), value)).collect();
    assert_eq!(
        found,
        [
            ("spec.l[0].y".to_owned(), Some(json!(2))),
            ("spec.gone".to_owned(), None),
            ("spec.new".to_owned(), Some(json!({"z": 3}))),
        ]
    );
}

#[test]
fn only_fields_that_the_document_does_not_have_are_missing() {
    let stored = json!({"a": 1, "b": {"c": "x", "d": false}, "l": [1, 2], "m": [{"n": 1}], "e": ""});
    for (written, missing) in [
        (json!({"a": 2, "b": {"c": "y"}, "l": [3, 4], "m": [{"n": 1}]}), vec![]),
        (json!({"a": 2, "l": [3], "m": [{}]}), vec!["b.c", "l", "m[0].n"]),
    ] {
        let mut found = Vec::new();
        not_in_document(Some(&written), &stored, &Path::default(), &mut found);
        assert_eq!(found, missing, "{written}");
    }
}

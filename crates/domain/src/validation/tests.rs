//! What holds over all kinds.

use serde_json::{Value, json};

use super::{Refusal, review};

/// Objects that the Go provider stored must stay writable, and must not get worse.
#[test]
fn a_newer_rule_refuses_what_is_brought_in_and_not_what_was_there() {
    let machine = |operator: &str, label: &str| {
        json!({"metadata": {"name": "m", "namespace": "n", "labels": {"a": label}}, "spec": {
            "customDeploy": {"method": "x"},
            "hostSelector": {"matchExpressions": [{"key": "rack", "operator": operator, "values": ["1"]}]}}})
    };
    let (bad, good) = (machine("like", "1"), machine("in", "1"));
    let refused = |old: Option<&Value>, new: &Value| review("Metal3Machine", old, new).refusal.is_some();
    assert!(refused(None, &bad));
    assert!(!refused(Some(&bad), &machine("like", "2")), "a label can be changed");
    assert!(!refused(Some(&bad), &good), "it can be repaired");
    assert!(refused(Some(&good), &bad));
    assert!(refused(Some(&bad), &machine("between", "1")), "another mistake is a new one");
}

#[test]
fn every_wrong_field_is_named_at_once() {
    let machine = json!({"metadata": {"namespace": "n"}, "spec": {
        "image": {"url": "rel"}, "userData": {"name": "u", "namespace": "other"}}});
    let Some(Refusal::Invalid(errors)) = review("Metal3Machine", None, &machine).refusal else {
        panic!("accepted");
    };
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["Spec.Image.URL", "Spec.Image.Checksum", "spec.userData.namespace"]);
}

//! Reviews that are answered, and bodies that are none.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::*;

const MUTATE: &str = "/mutate-infrastructure-cluster-x-k8s-io-v1beta2-metal3cluster";
const VALIDATE: &str = "/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3cluster";

fn send(path: &str, body: &Value) -> (u16, String) {
    let reply = answer(Route::of(path).unwrap(), body.to_string().as_bytes());
    (reply.code, String::from_utf8(reply.body).unwrap())
}

/// The response of a review that is answered by one.
fn ask(path: &str, review: &Value) -> Value {
    let (code, body) = send(path, review);
    assert_eq!(code, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&answer["apiVersion"], &answer["kind"]), (&review["apiVersion"], &review["kind"]));
    assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
    answer["response"].clone()
}

fn cluster(host: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "Metal3Cluster",
        "metadata": {"name": "c1", "namespace": "ns1"},
        "spec": {"controlPlaneEndpoint": {"host": host}},
    })
}

fn review(request: Value) -> Value {
    let mut request = request;
    request["uid"] = json!("u-1");
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
}

#[test]
fn defaulting_is_answered_by_a_patch_that_gives_the_filled_in_object() {
    let object = cluster("10.0.0.1");
    let response = ask(MUTATE, &review(json!({"operation": "CREATE", "object": object})));
    assert_eq!((&response["allowed"], &response["patchType"]), (&json!(true), &json!("JSONPatch")));
    let patch = BASE64_STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &serde_json::from_slice::<json_patch::Patch>(&patch).unwrap()).unwrap();
    let mut filled = object;
    crate::fill_in(&mut filled).unwrap();
    assert_eq!(patched, filled);
    assert_eq!(patched["spec"]["controlPlaneEndpoint"]["port"], 6443);
    let again = ask(MUTATE, &review(json!({"operation": "CREATE", "object": patched})));
    assert_eq!(again, json!({"uid": "u-1", "allowed": true}), "nothing is left to fill in");
}

#[test]
fn a_refusal_is_a_status_with_code_reason_and_causes() {
    let response = ask(VALIDATE, &review(json!({"operation": "CREATE", "object": cluster("")})));
    assert_eq!(response["allowed"], false);
    let status = &response["status"];
    assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
    assert_eq!(status["details"]["causes"][0]["field"], "spec.controlPlaneEndpoint");
    let start =
        "Metal3Cluster.infrastructure.cluster.x-k8s.io \"c1\" is invalid: spec.controlPlaneEndpoint: ";
    assert!(status["message"].as_str().unwrap().starts_with(start), "{status}");
}

#[test]
fn warnings_are_reported_with_the_answer() {
    let object = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataTemplate",
        "metadata": {"name": "t", "namespace": "ns1"}, "spec": {"clusterName": "c1"},
    });
    let path = "/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3datatemplate";
    let response = ask(path, &review(json!({"operation": "CREATE", "object": object})));
    assert_eq!(response["allowed"], true);
    assert!(response["warnings"][0].as_str().unwrap().contains("spec.clusterName"), "{response}");
}

#[test]
fn what_webhooks_are_not_registered_for_passes() {
    for request in [
        json!({"operation": "DELETE", "object": null, "oldObject": cluster("")}),
        json!({"operation": "CONNECT", "object": cluster("")}),
        json!({"operation": "UPDATE", "subResource": "status", "object": cluster(""), "oldObject": cluster("")}),
    ] {
        for path in [MUTATE, VALIDATE] {
            assert_eq!(ask(path, &review(request.clone())), json!({"uid": "u-1", "allowed": true}), "{path}");
        }
    }
}

#[test]
fn a_request_without_the_object_that_its_path_names_is_refused_by_member() {
    let machine = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
        "metadata": {"name": "m"},
    });
    let table = [
        (json!({"operation": "CREATE"}), "object: expected a Metal3Cluster but got nil"),
        (
            json!({"operation": "UPDATE", "object": cluster("h")}),
            "oldObject: expected a Metal3Cluster but got nil",
        ),
        (
            json!({"operation": "CREATE", "object": machine}),
            "object: expected a Metal3Cluster of infrastructure.cluster.x-k8s.io but got Metal3Machine of \
             infrastructure.cluster.x-k8s.io",
        ),
        (
            json!({"operation": "CREATE", "object": 5}),
            "object: expected a Metal3Cluster of infrastructure.cluster.x-k8s.io but got something else",
        ),
    ];
    for (request, message) in table {
        let response = ask(VALIDATE, &review(request.clone()));
        assert_eq!(response["allowed"], false, "{request}");
        assert_eq!(response["status"]["message"], message);
        assert_eq!(
            (&response["status"]["code"], &response["status"]["reason"]),
            (&json!(400), &json!("BadRequest"))
        );
    }
}

#[test]
fn the_older_version_of_a_review_is_answered_in_that_version() {
    let mut review = review(json!({"operation": "CREATE", "object": cluster("h")}));
    review["apiVersion"] = json!("admission.k8s.io/v1beta1");
    assert_eq!(ask(VALIDATE, &review)["allowed"], true);
    let mut review = conversion(&[cluster("h")]);
    review["apiVersion"] = json!("apiextensions.k8s.io/v1beta1");
    assert_eq!(ask("/convert", &review)["result"]["status"], "Success");
}

#[test]
fn a_body_that_is_no_review_is_answered_with_400_and_a_sentence() {
    let admission = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    let conversion = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"});
    let without_uid = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"operation": "CREATE"},
    });
    let future =
        json!({"apiVersion": "admission.k8s.io/v2", "kind": "AdmissionReview", "request": {"uid": "u"}});
    let table = [
        (VALIDATE, json!(null), "the body is not a review: "),
        (VALIDATE, json!([]), "the body is not a review: "),
        (VALIDATE, json!({}), "expected AdmissionReview of admission.k8s.io/v1, got  of "),
        (
            VALIDATE,
            conversion.clone(),
            "expected AdmissionReview of admission.k8s.io/v1, got ConversionReview",
        ),
        (
            VALIDATE,
            future,
            "expected AdmissionReview of admission.k8s.io/v1, got AdmissionReview of admission.k8s.io/v2",
        ),
        (MUTATE, admission.clone(), "the review has no request with a uid"),
        (VALIDATE, without_uid, "the review has no request with a uid"),
        ("/convert", admission, "expected ConversionReview of apiextensions.k8s.io/v1, got AdmissionReview"),
        ("/convert", conversion, "the review has no request with a uid"),
        ("/convert", json!("x"), "the body is not a review: "),
    ];
    for (path, body, start) in table {
        let (code, text) = send(path, &body);
        assert_eq!(code, 400, "{path} {body}");
        assert!(text.starts_with(start), "{path} {body}: {text}");
    }
    let cut = answer(Route::Convert, br#"{"apiVersion": "apiext"#);
    assert_eq!(cut.code, 400);
}

fn conversion(objects: &[Value]) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {
            "uid": "u-2",
            "desiredAPIVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "objects": objects,
        },
    })
}

#[test]
fn every_object_is_converted_in_its_order() {
    let objects: Vec<Value> = ["a", "b", "c"].map(cluster).into();
    let response = ask("/convert", &conversion(&objects));
    assert_eq!(response["result"]["status"], "Success");
    let converted = response["convertedObjects"].as_array().unwrap();
    let expected: Vec<Value> = objects
        .into_iter()
        .map(|object| crate::convert(object, "infrastructure.cluster.x-k8s.io/v1beta1").unwrap())
        .collect();
    assert_eq!(converted, &expected);
    assert_eq!(ask("/convert", &conversion(&[]))["convertedObjects"], json!([]));
}

#[test]
fn one_object_that_cannot_be_converted_fails_the_review_by_its_name_and_field() {
    let older = |timeout: &str| {
        json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Remediation",
            "metadata": {"name": "r1", "namespace": "ns1"},
            "spec": {"strategy": {"type": "Reboot", "retryLimit": 1, "timeout": timeout}},
        })
    };
    let mut review = conversion(&[older("300s"), older("soon")]);
    review["request"]["desiredAPIVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta2");
    let response = ask("/convert", &review);
    assert_eq!(
        (&response["result"]["status"], &response["convertedObjects"]),
        (&json!("Failure"), &json!([]))
    );
    let message = response["result"]["message"].as_str().unwrap();
    assert!(message.starts_with("Metal3Remediation ns1/r1: spec.strategy.timeout: \"soon\""), "{message}");
    let response = ask("/convert", &conversion(&[json!(5)]));
    let message = response["result"]["message"].as_str().unwrap();
    assert!(message.starts_with("object without a name: an object needs the members"), "{message}");
}

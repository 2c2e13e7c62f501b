//! CRDs: pruning, defaults, validation on the wire, versions, changes of the definition, admission, conversion.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use capm3_apiserver::{Admission, AdmissionRequest, Conversion, Denial, Operation};
use common::*;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.test.io";

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_dropped_and_defaults_are_stored() {
    let server = widget_server().await;
    let mut sent = widget("w", 1);
    sent["spec"]["bogus"] = json!({"deep": true});
    sent["extra"] = json!(1);
    let created = ok(&server, "POST", WIDGETS, Some(sent.clone())).await;
    assert_eq!((&created["spec"], created.get("extra")), (&json!({"size": 1, "color": "red"}), None));
    let (code, status) = call(
        &server,
        "POST",
        &format!("{WIDGETS}?fieldValidation=Strict"),
        Some(with_meta(sent, json!({"name": "v"}))),
    )
    .await;
    assert_eq!(
        (code, &status["message"]),
        (
            400,
            &json!(
                "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: \
                 unknown field \"extra\", unknown field \"spec.bogus\""
            )
        )
    );
}

#[tokio::test(start_paused = true)]
async fn an_invalid_object_names_every_field() {
    let server = widget_server().await;
    let mut sent = widget("w", 12);
    sent["spec"]["color"] = json!("green");
    let (code, status) = call(&server, "POST", WIDGETS, Some(sent)).await;
    assert_eq!((code, &status["reason"]), (422, &json!("Invalid")));
    assert_eq!(
        status["message"],
        "Widget.test.io \"w\" is invalid: [spec.size: Invalid value: 12: spec.size in body should be less than or equal to 9, \
         spec.color: Unsupported value: \"green\": supported values: \"red\", \"blue\"]"
    );
    assert_eq!(
        (&status["details"]["group"], &status["details"]["kind"]),
        (&json!("test.io"), &json!("Widget"))
    );
    assert_eq!(status["details"]["causes"][1]["reason"], "FieldValueNotSupported");
    ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let path = format!("{WIDGETS}/w");
    assert_eq!(merge_patch(&server, &path, json!({"spec": {"tags": ["a", "a"]}})).await.0, 422);
    assert_eq!(
        merge_patch(&server, &format!("{path}/status"), json!({"status": {"ready": "yes"}})).await.0,
        422
    );
    let (_, cleared) = merge_patch(&server, &path, json!({"spec": {"color": null}})).await;
    assert_eq!(cleared["spec"]["color"], "red", "what is removed falls back to its default");
}

#[tokio::test(start_paused = true)]
async fn every_served_version_shows_the_same_object() {
    let server = widget_server().await;
    let created = ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let old = WIDGETS.replace("/v1/", "/v1beta1/");
    let (_, seen) = get(&server, &format!("{old}/w")).await;
    assert_eq!(seen["apiVersion"], "test.io/v1beta1");
    assert_eq!(seen["metadata"], created["metadata"]);
    let (_, patched) = merge_patch(&server, &format!("{old}/w"), json!({"spec": {"size": 2}})).await;
    assert_eq!(
        (&patched["apiVersion"], &patched["metadata"]["generation"]),
        (&json!("test.io/v1beta1"), &json!(2))
    );
    let (_, seen) = get(&server, &format!("{WIDGETS}/w")).await;
    assert_eq!((&seen["apiVersion"], &seen["spec"]["size"]), (&json!("test.io/v1"), &json!(2)));
    let mut watch = Stream::open(&server, &format!("{old}?watch=true")).await;
    assert_eq!(watch.next().await.unwrap()["object"]["apiVersion"], "test.io/v1beta1");
    assert_eq!(get(&server, &WIDGETS.replace("/v1/", "/v2/")).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_changed_definition_keeps_the_objects() {
    let server = widget_server().await;
    ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let mut watch = Stream::open(&server, &format!("{WIDGETS}?watch=true")).await;
    watch.brief().await;
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let patch = json!([{"op": "replace", "path": format!("{path}/size/maximum"), "value": 50},
        {"op": "add", "path": format!("{path}/fresh"), "value": {"type": "string"}}]);
    let (code, crd) = raw(
        &server,
        "PATCH",
        CRD,
        &[("content-type", "application/json-patch+json")],
        patch.to_string().into_bytes(),
    )
    .await;
    assert_eq!((code, &crd["metadata"]["generation"]), (200, &json!(2)));
    let (_, patched) =
        merge_patch(&server, &format!("{WIDGETS}/w"), json!({"spec": {"size": 40, "fresh": "x"}})).await;
    assert_eq!((&patched["spec"]["size"], &patched["spec"]["fresh"]), (&json!(40), &json!("x")));
    assert_eq!(watch.brief().await, ("MODIFIED".into(), "w".into()));
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_cannot_be_served_is_refused() {
    let server = server();
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, status) =
        call(&server, "POST", crds, Some(with_meta(widget_crd(), json!({"name": "gadgets.test.io"})))).await;
    assert_eq!(code, 422);
    assert_eq!(
        status["details"]["causes"][0]["message"],
        "Invalid value: \"gadgets.test.io\": must be spec.names.plural+\".\"+spec.group"
    );
    assert_eq!(get(&server, WIDGETS).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_kind_has_no_namespace() {
    let server = server();
    let mut crd = widget_crd();
    crd["spec"]["scope"] = json!("Cluster");
    ok(&server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Some(crd)).await;
    let created = ok(
        &server,
        "POST",
        "/apis/test.io/v1/widgets",
        Some(with_meta(widget("w", 1), json!({"namespace": "x"}))),
    )
    .await;
    assert_eq!(created["metadata"].get("namespace"), None);
    assert!(exists(&server, "/apis/test.io/v1/widgets/w").await);
    assert_eq!(get(&server, WIDGETS).await.0, 404);
}

struct PaintItBlue;

impl Admission for PaintItBlue {
    fn mutate(&self, request: &AdmissionRequest<'_>, object: &mut Value) -> Result<(), Box<Denial>> {
        if request.resource == "widgets" && request.operation == Operation::Create {
            object["spec"]["color"] = json!("blue");
            object["spec"]["bogus"] = json!(1);
        }
        Ok(())
    }

    fn validate(&self, request: &AdmissionRequest<'_>, object: &Value) -> Result<Vec<String>, Box<Denial>> {
        let was = request.old.map(|old| old["spec"]["size"].clone());
        let refused = match request.operation {
            Operation::Update => was != Some(object["spec"]["size"].clone()),
            Operation::Delete => request.name == "precious",
            Operation::Create => false,
        };
        let message = format!("admission denied {} {}", request.resource, request.name);
        let warnings = vec!["blue is “the” color".to_owned()];
        let details = json!({"kind": "widgets"});
        match refused {
            true => Err(Box::new(Denial {
                code: 403,
                reason: "Forbidden".to_owned(),
                message,
                details,
                warnings,
            })),
            false => Ok(warnings),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn admission_may_change_and_refuse() {
    let server = widget_server().await;
    server.set_admission(Arc::new(PaintItBlue));
    let created = ok(&server, "POST", WIDGETS, Some(widget("precious", 1))).await;
    assert_eq!(created["spec"], json!({"size": 1, "color": "blue"}));
    let path = format!("{WIDGETS}/precious");
    let (code, status) = merge_patch(&server, &path, json!({"spec": {"size": 2}})).await;
    assert_eq!((code, &status["message"]), (403, &json!("admission denied widgets precious")));
    assert_eq!(merge_patch(&server, &path, json!({"spec": {"color": "red"}})).await.0, 200);
    assert_eq!(call(&server, "DELETE", &path, None).await.0, 403);
}

#[tokio::test(start_paused = true)]
async fn what_admission_warns_of_reaches_the_caller_refused_or_not() {
    let server = widget_server().await;
    server.set_admission(Arc::new(PaintItBlue));
    let warnings = |response: &http::Response<_>| {
        let values = response.headers().get_all("warning").iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect::<Vec<_>>()
    };
    let body = |size| Full::from(widget("w", size).to_string());
    let request = Request::post(WIDGETS).header("content-type", "application/json");
    let created = send(&server, request.body(body(1)).unwrap()).await;
    assert_eq!(created.status(), 201);
    assert_eq!(warnings(&created), ["299 - \"blue is “the” color\""]);
    let patch = Request::patch(format!("{WIDGETS}/w")).header("content-type", "application/merge-patch+json");
    let refused = send(&server, patch.body(Full::from(r#"{"spec":{"size":2}}"#)).unwrap()).await;
    assert_eq!(refused.status(), 403);
    assert_eq!(warnings(&refused), ["299 - \"blue is “the” color\""]);
}

#[tokio::test(start_paused = true)]
async fn every_caller_of_a_deprecated_version_is_warned_what_to_use() {
    let server = server();
    let mut crd = widget_crd();
    let versions = crd["spec"]["versions"].as_array_mut().unwrap();
    versions.iter_mut().find(|it| it["name"] == "v1beta1").unwrap()["deprecated"] = json!(true);
    ok(&server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Some(crd)).await;
    let first_warning = |path: String| {
        let server = server.clone();
        async move {
            let response = send(&server, Request::get(path).body(Full::default()).unwrap()).await;
            response.headers().get("warning").map(|value| value.to_str().unwrap().to_owned())
        }
    };
    let old = WIDGETS.replace("/v1/", "/v1beta1/");
    let reported = Some("299 - \"test.io/v1beta1 Widget is deprecated; use test.io/v1 Widget\"".to_owned());
    assert_eq!(first_warning(old.clone()).await, reported);
    assert_eq!(first_warning(format!("{old}/missing")).await, reported);
    assert_eq!(first_warning(WIDGETS.to_owned()).await, None);
}

/// The old version calls the size `legacySize`.
struct Rename;

impl Conversion for Rename {
    fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, String> {
        let note = if api_version.ends_with("v1beta1") { "old" } else { "new" };
        if object["metadata"]["name"] == "broken" && note == "old" {
            return Err("cannot be expressed in the older version".to_owned());
        }
        object["apiVersion"] = json!(api_version);
        object["spec"]["note"] = json!(note);
        Ok(object)
    }
}

#[tokio::test(start_paused = true)]
async fn conversion_stands_between_the_versions() {
    let server = widget_server().await;
    server.set_conversion(Arc::new(Rename));
    let old = WIDGETS.replace("/v1/", "/v1beta1/");
    let mut sent = widget("w", 1);
    sent["apiVersion"] = json!("test.io/v1beta1");
    let created = ok(&server, "POST", &old, Some(sent)).await;
    assert_eq!(
        (&created["apiVersion"], &created["spec"]["note"]),
        (&json!("test.io/v1beta1"), &json!("old"))
    );
    assert_eq!(get(&server, &format!("{WIDGETS}/w")).await.1["spec"]["note"], "new");
    ok(&server, "POST", WIDGETS, Some(widget("broken", 1))).await;
    let (code, status) = get(&server, &format!("{old}/broken")).await;
    assert_eq!(
        (code, &status["message"]),
        (500, &json!("Internal error occurred: cannot be expressed in the older version"))
    );
}

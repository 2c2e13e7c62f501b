//! What a real server refuses or answers otherwise than one would expect, and this one with it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::*;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// Code, warnings and body.
async fn asked(
    server: &capm3_apiserver::ApiServer,
    method: &str,
    path: &str,
    content_type: &str,
    body: &str,
) -> (u16, Vec<String>, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let response = send(server, request.body(Full::from(body.to_owned())).unwrap()).await;
    let code = response.status().as_u16();
    let warnings =
        response.headers().get_all("warning").iter().map(|it| it.to_str().unwrap().to_owned()).collect();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, warnings, serde_json::from_slice(&body).unwrap_or_default())
}

/// `kubectl edit` opens the editor again only if it hears that the patch is invalid.
#[tokio::test]
async fn a_patch_that_makes_no_valid_object_is_invalid_and_not_a_bad_request() {
    let server = widget_server().await;
    ok(&server, "POST", CONFIG_MAPS, Some(configmap("a"))).await;
    ok(&server, "POST", WIDGETS, Some(widget("a", 1))).await;
    let (map, widget) = (format!("{CONFIG_MAPS}/a"), format!("{WIDGETS}/a"));
    let strict = "strict decoding error: ";
    let table = [
        (&map, MERGE, r#"{"bogus": 1}"#, format!("{strict}unknown field \"bogus\"")),
        (&map, STRATEGIC, r#"{"bogus": 1}"#, format!("\"map[bogus:1]\": {strict}unknown field \"bogus\"")),
        (
            &map,
            JSON_PATCH,
            r#"[{"op": "add", "path": "/bogus", "value": 1, "more": 2}]"#,
            format!("{strict}json patch unknown field \"[0].more\", unknown field \"bogus\""),
        ),
        (
            &map,
            MERGE,
            r#"{"metadata": {"labels": {"a": "1", "a": "2"}}, "bogus": 1}"#,
            format!("{strict}duplicate field \"metadata.labels.a\", unknown field \"bogus\""),
        ),
        (
            &map,
            MERGE,
            r#"{"data": {"a": 1}}"#,
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string".to_owned(),
        ),
        (&widget, MERGE, r#"{"spec": {"bogus": 1}}"#, format!("{strict}unknown field \"spec.bogus\"")),
        (
            &widget,
            MERGE,
            r#"{"metadata": {"labels": {"a": 1}}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string".to_owned(),
        ),
    ];
    for (path, kind, patch, text) in table {
        let (code, _, status) =
            asked(&server, "PATCH", &format!("{path}?fieldValidation=Strict"), kind, patch).await;
        assert_eq!((code, &status["reason"]), (422, &json!("Invalid")), "{patch}: {status}");
        let message = status["message"].as_str().unwrap();
        assert!(message.starts_with(" \"\" is invalid: patch: Invalid value: "), "{message}");
        assert!(message.ends_with(&text), "{message}");
        assert_eq!(status["details"]["causes"][0]["field"], "patch");
        assert_eq!(status["details"].as_object().unwrap().len(), 1);
    }
    let (code, warnings, _) =
        asked(&server, "PATCH", &map, MERGE, r#"{"metadata": {"labels": {"a": "1", "a": "2"}}, "bogus": 1}"#)
            .await;
    assert_eq!(code, 200);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let put = format!("{map}?fieldValidation=Strict");
    let mut body = configmap("a");
    body["bogus"] = json!(1);
    assert_eq!(call(&server, "PUT", &put, Some(body)).await.0, 400, "a body is another matter");
}

#[tokio::test]
async fn finalizers_of_core_kinds_need_a_domain_and_those_of_custom_kinds_should_have_one() {
    let server = widget_server().await;
    let unqualified = "name is neither a standard finalizer name nor is it fully qualified";
    let core = [
        (json!(["foo"]), Some(("metadata.finalizers[0]", unqualified))),
        (json!(["a.b/c", "metal3.io"]), Some(("metadata.finalizers[1]", unqualified))),
        (json!(["kubernetes"]), None),
        (json!(["orphan"]), None),
        (json!(["a.b/c"]), None),
        (
            json!(["orphan", "foregroundDeletion"]),
            Some(("metadata.finalizers", "finalizer orphan and foregroundDeletion cannot be both set")),
        ),
    ];
    for (finalizers, refusal) in core {
        let body = with_meta(configmap("a"), json!({"finalizers": finalizers}));
        let (code, status) = call(&server, "POST", &format!("{CONFIG_MAPS}?dryRun=All"), Some(body)).await;
        let Some((path, text)) = refusal else {
            assert_eq!(code, 201, "{finalizers}");
            continue;
        };
        assert_eq!(code, 422, "{finalizers}");
        let cause = &status["details"]["causes"][0];
        assert_eq!(cause["field"], path);
        assert!(cause["message"].as_str().unwrap().ends_with(text), "{cause}");
    }
    let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All";
    let body = json!({"metadata": {"name": "a", "finalizers": ["foo"]}});
    assert_eq!(call(&server, "POST", lease, Some(body)).await.0, 201);
    let warned = |name: &str, path: &str| {
        format!(
            "299 - \"metadata.finalizers: \\\"{name}\\\": prefer a domain-qualified finalizer name{path} to avoid \
             accidental conflicts with other finalizer writers\""
        )
    };
    let body = with_meta(widget("a", 1), json!({"finalizers": ["foo", "a.b.c", "a.b/c", "orphan"]}));
    let (code, warnings, _) = asked(&server, "POST", WIDGETS, "application/json", &body.to_string()).await;
    assert_eq!(code, 201);
    assert_eq!(warnings, [warned("a.b.c", " including a path (/)"), warned("foo", "")]);
    let more = json!({"metadata": {"finalizers": ["foo", "bar"]}}).to_string();
    let (_, warnings, _) = asked(&server, "PATCH", &format!("{WIDGETS}/a"), MERGE, &more).await;
    assert_eq!(warnings, [warned("bar", "")], "only about what is new");
}

#[tokio::test]
async fn the_options_of_a_write_are_judged_together_and_by_their_name() {
    let server = server();
    let manager = "m".repeat(129);
    let query = format!("?fieldManager={manager}&dryRun=Some&fieldValidation=Odd");
    let (code, status) = call(&server, "POST", &format!("{CONFIG_MAPS}{query}"), Some(configmap("a"))).await;
    assert_eq!(code, 422);
    assert_eq!(
        status["message"],
        "CreateOptions.meta.k8s.io \"\" is invalid: [fieldManager: Too long: may not be more than 128 bytes, dryRun: \
         Unsupported value: [\"Some\"]: supported values: \"All\", fieldValidation: Unsupported value: \"Odd\": \
         supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"]"
    );
    ok(&server, "POST", &format!("{CONFIG_MAPS}?fieldManager={}", "m".repeat(128)), Some(configmap("a")))
        .await;
    for (method, kind) in [("PUT", "UpdateOptions"), ("PATCH", "PatchOptions"), ("DELETE", "DeleteOptions")] {
        let path = format!("{CONFIG_MAPS}/a?dryRun=Some");
        let content_type = if method == "PATCH" { MERGE } else { "application/json" };
        let (code, _, status) =
            asked(&server, method, &path, content_type, &configmap("a").to_string()).await;
        assert_eq!((code, &status["details"]["kind"]), (422, &json!(kind)), "{method}: {status}");
    }
    assert_eq!(get(&server, &format!("{CONFIG_MAPS}/a?fieldManager={manager}")).await.0, 200);
}

#[tokio::test]
async fn a_negative_limit_is_no_limit() {
    let server = server();
    for name in ["a", "b"] {
        ok(&server, "POST", CONFIG_MAPS, Some(configmap(name))).await;
    }
    assert_eq!(names(&server, &format!("{CONFIG_MAPS}?limit=-1")).await, ["a", "b"]);
    for (limit, text) in [("x", "invalid syntax"), ("99999999999999999999", "value out of range")] {
        let (code, status) = get(&server, &format!("{CONFIG_MAPS}?limit={limit}")).await;
        assert_eq!(code, 400);
        assert_eq!(status["message"], format!("strconv.ParseInt: parsing {limit:?}: {text}"));
    }
}

#[tokio::test]
async fn a_path_with_a_gap_leads_nowhere_except_to_every_namespace() {
    let server = server();
    ok(&server, "POST", CONFIG_MAPS, Some(configmap("a"))).await;
    for path in [
        "//api//v1",
        "//version",
        "/api/v1//namespaces",
        "/healthz/",
        "/api/v1/namespaces/default//configmaps",
    ] {
        assert_eq!(get(&server, path).await.0, 404, "{path}");
    }
    for path in ["/api/v1/", "/version/", "/api/v1/namespaces/"] {
        assert_eq!(get(&server, path).await.0, 200, "{path}");
    }
    assert_eq!(names(&server, "/api/v1/namespaces//configmaps").await, ["a"]);
}

#[tokio::test]
async fn head_is_answered_without_a_body_where_a_real_server_answers_it() {
    let server = widget_server().await;
    ok(&server, "POST", WIDGETS, Some(widget("a", 1))).await;
    let one = format!("{WIDGETS}/a");
    let table = [
        ("/healthz", 200),
        ("/apis", 200),
        ("/apis/test.io/v1", 200),
        ("/openapi/v3", 200),
        (WIDGETS, 200),
        (&one, 200),
        ("/version", 405),
        ("/api", 405),
        ("/api/v1", 405),
        ("/apis/coordination.k8s.io/v1", 405),
        (CONFIG_MAPS, 405),
        ("/api/v1/namespaces/default", 405),
        ("/nothing", 404),
    ];
    for (path, code) in table {
        let request = Request::head(path).body(Full::default()).unwrap();
        let response = send(&server, request).await;
        assert_eq!(response.status().as_u16(), code, "{path}");
        let length: usize = response.headers()["content-length"].to_str().unwrap().parse().unwrap();
        assert!(length > 0, "{path} tells the length");
        assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty(), "{path}");
    }
}

#[tokio::test]
async fn a_pod_begins_pending_whatever_its_body_says() {
    let server = server();
    let body = json!({"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Running"}});
    let pod = ok(&server, "POST", "/api/v1/namespaces/default/pods", Some(body)).await;
    assert_eq!(pod["status"]["phase"], "Pending");
}

#[tokio::test]
async fn a_tried_deletion_answers_as_the_real_one_would() {
    let server = server();
    let (path, tried) = (format!("{CONFIG_MAPS}/a"), format!("{CONFIG_MAPS}/a?dryRun=All"));
    let stored = ok(&server, "POST", CONFIG_MAPS, Some(configmap("a"))).await;
    let status = ok(&server, "DELETE", &tried, None).await;
    assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Success")));
    assert_eq!(status["details"]["uid"], stored["metadata"]["uid"]);
    let foreground = json!({"propagationPolicy": "Foreground"});
    let marked = ok(&server, "DELETE", &tried, Some(foreground)).await;
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_eq!(marked["metadata"]["deletionTimestamp"], NOW);
    assert_eq!(get(&server, &path).await, (200, stored), "nothing happened");
    let space = ok(&server, "POST", "/api/v1/namespaces", Some(json!({"metadata": {"name": "x"}}))).await;
    let marked = ok(&server, "DELETE", "/api/v1/namespaces/x?dryRun=All", None).await;
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert_eq!(get(&server, "/api/v1/namespaces/x").await, (200, space));
}

//! HTTP: media types, sizes, methods, discovery, patch formats, and what the server remembers about requests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::{Arc, Mutex};

use capm3_apiserver::{ApiServer, Options, WriteRecord};
use common::*;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test(start_paused = true)]
async fn whatever_is_sent_the_answer_is_a_status() {
    let server = widget_server().await;
    ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let one = format!("{WIDGETS}/w");
    let json = "application/json";
    let table = vec![
        ("POST", WIDGETS, json, b"{".to_vec(), 400, "BadRequest"),
        ("POST", WIDGETS, json, b"\xff\xfe".to_vec(), 400, "BadRequest"),
        ("POST", WIDGETS, json, Vec::new(), 400, "BadRequest"),
        ("POST", WIDGETS, json, vec![b' '; 3 * 1024 * 1024 + 1], 413, "RequestEntityTooLarge"),
        (
            "POST",
            WIDGETS,
            "application/vnd.kubernetes.protobuf",
            b"k8s".to_vec(),
            415,
            "UnsupportedMediaType",
        ),
        ("PUT", &one, "application/yaml", b"a: b".to_vec(), 400, "BadRequest"),
        ("PATCH", &one, json, b"{}".to_vec(), 415, "UnsupportedMediaType"),
        ("PATCH", &one, "application/apply-patch+yaml", b"{}".to_vec(), 415, "UnsupportedMediaType"),
        (
            "PATCH",
            &one,
            "application/strategic-merge-patch+json",
            b"{}".to_vec(),
            415,
            "UnsupportedMediaType",
        ),
        ("PATCH", &one, "application/merge-patch+json", b"[]".to_vec(), 400, "BadRequest"),
        ("PATCH", &one, "application/json-patch+json", b"{}".to_vec(), 400, "BadRequest"),
        (
            "PATCH",
            &one,
            "application/json-patch+json",
            br#"[{"op":"remove","path":"/nope"}]"#.to_vec(),
            422,
            "Invalid",
        ),
        (
            "PATCH",
            &one,
            "application/json-patch+json",
            br#"[{"op":"replace","path":"","value":5}]"#.to_vec(),
            400,
            "BadRequest",
        ),
        ("DELETE", &one, json, b"{".to_vec(), 400, "BadRequest"),
        ("POST", &one, json, b"{}".to_vec(), 405, "MethodNotAllowed"),
        ("PUT", WIDGETS, json, b"{}".to_vec(), 405, "MethodNotAllowed"),
        ("BREW", WIDGETS, json, b"{}".to_vec(), 405, "MethodNotAllowed"),
        ("POST", "/apis/test.io/v1/widgets", json, b"{}".to_vec(), 405, "MethodNotAllowed"),
        ("GET", "/apis/test.io/v1/widgets/w", json, Vec::new(), 404, "NotFound"),
        ("GET", "/apis/test.io/v1/namespaces/default/gadgets", json, Vec::new(), 404, "NotFound"),
        ("GET", "/api/v1/namespaces/default/nodes", json, Vec::new(), 404, "NotFound"),
        ("GET", "/apis/test.io/v1/namespaces/default/widgets/w/scale", json, Vec::new(), 404, "NotFound"),
        ("GET", "/apis/test.io/v1/namespaces/default/widgets/w/log/x", json, Vec::new(), 404, "NotFound"),
        ("GET", "/nonsense", json, Vec::new(), 404, "NotFound"),
        ("GET", "/clusters/none/api/v1/nodes", json, Vec::new(), 503, "ServiceUnavailable"),
        ("GET", "/api/v1/nodes?limit=many", json, Vec::new(), 400, "BadRequest"),
    ];
    for (method, path, content_type, body, code, reason) in table {
        let (found, status) = raw(&server, method, path, &[("content-type", content_type)], body).await;
        let seen = (found, status["kind"].as_str(), status["reason"].as_str(), status["code"].as_u64());
        assert_eq!(
            seen,
            (code, Some("Status"), Some(reason), Some(u64::from(code))),
            "{method} {path} {content_type}: {status}"
        );
    }
    let (code, _) =
        raw(&server, "GET", WIDGETS, &[("accept", "application/vnd.kubernetes.protobuf")], vec![]).await;
    assert_eq!(code, 406);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_that_can_be_sent_makes_it_panic_and_every_failure_is_a_status(
        method in "(GET|HEAD|PUT|POST|PATCH|DELETE|OPTIONS|BREW)",
        path in "(/api/v1|/apis/test\\.io/v1|/openapi/v3|/clusters|/apis|)(/(namespaces|default|widgets|nodes|w|status|scale|\\.\\.|%2f|%00|)){0,6}",
        query in "((watch|dryRun|limit|continue|labelSelector|fieldSelector|resourceVersion|includeObject)=[a-z0-9=,%(]{0,6}&){0,3}",
        content_type in "application/(json|yaml|json-patch\\+json|merge-patch\\+json|strategic-merge-patch\\+json|vnd\\.kubernetes\\.protobuf)",
        accept in "(application/json;as=Table;v=v1;g=meta\\.k8s\\.io|application/yaml|application/json|text/plain|)",
        body in "[{}\\[\\]:,\"a-z0-9$/-]{0,40}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let server = widget_server().await;
            let uri = format!("{}?{query}", if path.is_empty() { "/" } else { &path });
            let mut request = http::Request::builder().method(method.as_str()).uri(&uri).header("content-type", content_type);
            request = request.header("accept", accept);
            let response = send(&server, request.body(http_body_util::Full::from(body)).unwrap()).await;
            let is_failure = response.status().as_u16() >= 400;
            if is_failure {
                let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
                if method == "HEAD" {
                    assert!(body.is_empty(), "{method} {uri}");
                } else {
                    let status: Value = serde_saphyr::from_slice(&body).unwrap();
                    assert_eq!(status["kind"], "Status", "{method} {uri}");
                }
            }
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_json_patch_is_applied_as_a_whole() {
    let server = server();
    ok(&server, "POST", MAPS, Some(configmap("a"))).await;
    let patch = |operations: Value| {
        let server = server.clone();
        async move {
            raw(
                &server,
                "PATCH",
                &format!("{MAPS}/a"),
                &[("content-type", "application/json-patch+json")],
                operations.to_string().into_bytes(),
            )
            .await
        }
    };
    let (code, patched) = patch(json!([{"op": "test", "path": "/data/k", "value": "v"}, {"op": "add", "path": "/data/n", "value": "1"}])).await;
    assert_eq!((code, &patched["data"]), (200, &json!({"k": "v", "n": "1"})));
    let (code, _) =
        patch(json!([{"op": "remove", "path": "/data/n"}, {"op": "test", "path": "/data/k", "value": "x"}]))
            .await;
    assert_eq!(code, 422);
    assert_eq!(get(&server, &format!("{MAPS}/a")).await.1, patched);
}

#[tokio::test(start_paused = true)]
async fn patches_cannot_build_an_object_too_deep_to_be_read() {
    let server = server();
    ok(&server, "POST", "/api/v1/nodes", Some(json!({"metadata": {"name": "n"}, "spec": {}}))).await;
    let inner = (0..60).fold(json!({}), |inner, _| json!({"a": inner}));
    let headers = [("content-type", "application/json-patch+json")];
    let add = |path: String| json!([{"op": "add", "path": path, "value": inner}]).to_string().into_bytes();
    let first = raw(&server, "PATCH", "/api/v1/nodes/n", &headers, add("/spec/a".to_owned())).await;
    let deep = format!("/spec/a{}/b", "/a".repeat(60));
    let second = raw(&server, "PATCH", "/api/v1/nodes/n", &headers, add(deep)).await;
    assert_eq!((first.0, second.0, second.1["kind"].as_str()), (200, 400, Some("Status")));
    assert_eq!(ok(&server, "GET", "/api/v1/nodes/n", None).await, first.1);
}

#[tokio::test(start_paused = true)]
async fn a_strategic_patch_of_a_built_in_kind_merges() {
    let server = server();
    ok(&server, "POST", MAPS, Some(configmap("a"))).await;
    let patch = json!({"data": {"k": null, "n": "1"}}).to_string().into_bytes();
    let (code, patched) = raw(
        &server,
        "PATCH",
        &format!("{MAPS}/a"),
        &[("content-type", "application/strategic-merge-patch+json")],
        patch,
    )
    .await;
    assert_eq!((code, &patched["data"]), (200, &json!({"n": "1"})));
}

#[tokio::test(start_paused = true)]
async fn discovery_lists_what_is_served() {
    let server = widget_server().await;
    assert_eq!(get(&server, "/readyz").await, (200, json!("ok")));
    assert_eq!(ok(&server, "GET", "/version", None).await["major"], "1");
    assert_eq!(ok(&server, "GET", "/api", None).await["versions"], json!(["v1"]));
    let groups = ok(&server, "GET", "/apis", None).await;
    let group =
        groups["groups"].as_array().unwrap().iter().find(|group| group["name"] == "test.io").unwrap().clone();
    assert_eq!(group["preferredVersion"]["groupVersion"], "test.io/v1");
    assert_eq!(ok(&server, "GET", "/apis/test.io", None).await["kind"], "APIGroup");
    let resources = ok(&server, "GET", "/apis/test.io/v1", None).await;
    let names: Vec<&str> =
        resources["resources"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["widgets", "widgets/status"]);
    assert_eq!(get(&server, "/apis/none/v1").await.0, 404);
}

fn observed() -> (ApiServer, Arc<Mutex<Vec<WriteRecord>>>) {
    let records: Arc<Mutex<Vec<WriteRecord>>> = Arc::default();
    let seen = Arc::clone(&records);
    let observer = Arc::new(move |record: &WriteRecord| seen.lock().unwrap().push(record.clone()));
    (ApiServer::new(Options { observer: Some(observer), ..options() }), records)
}

#[tokio::test(start_paused = true)]
async fn every_write_is_observed_in_order_also_the_refused_and_the_idle() {
    let (server, records) = observed();
    server.add_cluster("c");
    let owner = ok(&server, "POST", MAPS, Some(configmap("a"))).await;
    ok(
        &server,
        "POST",
        MAPS,
        Some(with_meta(configmap("child"), json!({"ownerReferences": [owned_by(&owner)]}))),
    )
    .await;
    call(&server, "POST", MAPS, Some(configmap("a"))).await;
    merge_patch(&server, &format!("{MAPS}/a"), json!({})).await;
    call(
        &server,
        "PUT",
        &format!("{MAPS}/a"),
        Some(with_meta(configmap("a"), json!({"resourceVersion": "1"}))),
    )
    .await;
    get(&server, MAPS).await;
    ok(&server, "DELETE", &format!("{MAPS}/a"), None).await;
    ok(&server, "POST", "/clusters/c/api/v1/nodes", Some(json!({"metadata": {"name": "n"}}))).await;

    let records = records.lock().unwrap();
    let brief: Vec<(&str, &str, u16)> =
        records.iter().map(|it| (it.verb.as_str(), it.name.as_str(), it.code)).collect();
    assert_eq!(
        brief,
        [
            ("create", "a", 201),
            ("create", "child", 201),
            ("create", "a", 409),
            ("patch", "a", 200),
            ("update", "a", 409),
            ("delete", "a", 200),
            ("gc", "child", 200),
            ("create", "n", 201),
        ]
    );
    assert_eq!(records.iter().map(|it| it.sequence).collect::<Vec<_>>(), (1..=8).collect::<Vec<u64>>());
    assert_eq!(records[3].resource_version, records[0].resource_version, "an idle write keeps the version");
    assert_eq!(records[2].resource_version, None);
    assert_eq!((records[0].resource.as_str(), records[0].user_agent.as_str()), ("/configmaps", "test"));
    assert_eq!((records[7].cluster.as_deref(), records[7].namespace.as_deref()), (Some("c"), None));
    assert_eq!(records[0].body_digest.len(), 16);
    assert_ne!(records[0].body_digest, records[1].body_digest);
}

#[tokio::test(start_paused = true)]
async fn an_observer_may_read_the_server_that_notifies_it() {
    let slot: Arc<Mutex<Option<ApiServer>>> = Arc::default();
    let counts: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (seen, inner) = (Arc::clone(&counts), Arc::clone(&slot));
    let observer = Arc::new(move |_: &WriteRecord| {
        let server = inner.lock().unwrap().clone();
        seen.lock().unwrap().extend(server.map(|server| server.objects(None).len()));
    });
    let server = ApiServer::new(Options { observer: Some(observer), ..options() });
    *slot.lock().unwrap() = Some(server.clone());
    ok(&server, "POST", MAPS, Some(configmap("a"))).await;
    ok(&server, "DELETE", &format!("{MAPS}/a"), None).await;
    assert_eq!(*counts.lock().unwrap(), [3, 2]);
}

#[tokio::test(start_paused = true)]
async fn requests_are_counted_by_caller_verb_resource_and_code() {
    let server = widget_server().await;
    ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    for _ in 0..3 {
        get(&server, &format!("{WIDGETS}/w/status")).await;
    }
    get(&server, &format!("{WIDGETS}/none")).await;
    let counts = server.requests();
    let find = |verb: &str, subresource: &str, code: u16| {
        let matches = |it: &&capm3_apiserver::RequestCount| {
            it.user_agent == "test"
                && it.resource == "test.io/widgets"
                && it.verb == verb
                && it.subresource == subresource
                && it.code == code
        };
        counts.iter().find(matches).map(|it| it.count)
    };
    assert_eq!(
        (find("create", "", 201), find("get", "status", 200), find("get", "", 404)),
        (Some(1), Some(3), Some(1))
    );
}

async fn run(seed: u64) -> Vec<Value> {
    let server = with_widgets(ApiServer::new(Options { seed, ..options() })).await;
    let mut generated = widget("", 1);
    generated["metadata"] = json!({"generateName": "w-"});
    for _ in 0..5 {
        ok(&server, "POST", WIDGETS, Some(generated.clone())).await;
    }
    server.objects(None).iter().map(|object| (**object).clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_run() {
    assert_eq!(run(1).await, run(1).await);
    assert_ne!(run(1).await, run(2).await);
}

//! Lists: order, selectors, pages, revisions, shapes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use capm3_apiserver::{ApiServer, Options};
use common::*;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn filled() -> ApiServer {
    let server = server();
    for (namespace, name, label) in
        [("default", "b", "x"), ("default", "a", "y"), ("kube-system", "c", "x"), ("default", "d", "x")]
    {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        ok(&server, "POST", &path, Some(with_meta(configmap(name), json!({"labels": {"l": label}})))).await;
    }
    server
}

#[tokio::test(start_paused = true)]
async fn a_list_is_ordered_by_namespace_and_name_and_has_kind_and_version() {
    let server = filled().await;
    let list = ok(&server, "GET", "/api/v1/configmaps", None).await;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("ConfigMapList"), &json!("v1")));
    assert!(list["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap() > 0);
    assert_eq!(list["items"][0]["kind"], "ConfigMap");
    assert_eq!(names(&server, "/api/v1/configmaps").await, ["a", "b", "d", "c"]);
    assert_eq!(names(&server, MAPS).await, ["a", "b", "d"]);
}

#[tokio::test(start_paused = true)]
async fn selectors_choose_and_unknown_fields_are_refused() {
    let server = filled().await;
    let table: [(&str, &[&str]); 6] = [
        ("labelSelector=l%3Dx", &["b", "d"]),
        ("labelSelector=l%20notin%20(x)", &["a"]),
        ("labelSelector=!l", &[]),
        ("fieldSelector=metadata.name%3Dd", &["d"]),
        ("fieldSelector=metadata.name!%3Dd", &["a", "b"]),
        ("fieldSelector=metadata.name%3Dd&labelSelector=l%3Dy", &[]),
    ];
    for (query, expected) in table {
        assert_eq!(names(&server, &format!("{MAPS}?{query}")).await, expected, "{query}");
    }
    let (code, status) = get(&server, &format!("{MAPS}?fieldSelector=spec.x%3Dy")).await;
    assert_eq!(
        (code, &status["reason"], &status["message"]),
        (400, &json!("BadRequest"), &json!("field label not supported: spec.x"))
    );
    assert_eq!(get(&server, &format!("{MAPS}?labelSelector=a%20b")).await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn a_definition_can_make_fields_selectable() {
    let server = widget_server().await;
    ok(&server, "POST", WIDGETS, Some(widget("red", 1))).await;
    let mut blue = widget("blue", 1);
    blue["spec"]["color"] = json!("blue");
    ok(&server, "POST", WIDGETS, Some(blue)).await;
    assert_eq!(names(&server, &format!("{WIDGETS}?fieldSelector=spec.color%3Dblue")).await, ["blue"]);
}

async fn page(server: &ApiServer, token: &str) -> (Vec<String>, Value) {
    let list = ok(server, "GET", &format!("/api/v1/configmaps?limit=2&continue={token}"), None).await;
    let names = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
    (names.collect(), list["metadata"].clone())
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_revision_whatever_happens_between_them() {
    let server = filled().await;
    let (first, metadata) = page(&server, "").await;
    assert_eq!((first, &metadata["remainingItemCount"]), (vec!["a".to_owned(), "b".to_owned()], &json!(2)));
    ok(&server, "DELETE", "/api/v1/namespaces/kube-system/configmaps/c", None).await;
    ok(&server, "POST", MAPS, Some(configmap("e"))).await;
    merge_patch(&server, &format!("{MAPS}/d"), json!({"data": {"k": "w"}})).await;
    let (second, rest) = page(&server, metadata["continue"].as_str().unwrap()).await;
    assert_eq!(second, ["d", "c"]);
    assert_eq!((&rest["resourceVersion"], rest.get("continue")), (&metadata["resourceVersion"], None));
    assert_eq!(get(&server, "/api/v1/configmaps?continue=nonsense").await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_a_forgotten_revision_is_gone() {
    let server = ApiServer::new(Options { log_capacity: 1, ..options() });
    for name in ["a", "b", "c"] {
        ok(&server, "POST", MAPS, Some(configmap(name))).await;
    }
    let list = ok(&server, "GET", &format!("{MAPS}?limit=1"), None).await;
    for name in ["d", "e"] {
        ok(&server, "POST", MAPS, Some(configmap(name))).await;
    }
    let token = list["metadata"]["continue"].as_str().unwrap();
    let (code, status) = get(&server, &format!("{MAPS}?limit=1&continue={token}")).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
}

#[tokio::test(start_paused = true)]
async fn a_revision_may_be_old_exact_or_too_large() {
    let server = filled().await;
    let list = ok(&server, "GET", MAPS, None).await;
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
    ok(&server, "DELETE", &format!("{MAPS}/a"), None).await;
    assert_eq!(names(&server, &format!("{MAPS}?resourceVersion=0")).await, ["b", "d"]);
    assert_eq!(
        names(&server, &format!("{MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact")).await,
        ["a", "b", "d"]
    );
    let (code, status) = get(&server, &format!("{MAPS}?resourceVersion=9999")).await;
    assert_eq!((code, &status["reason"]), (504, &json!("Timeout")));
    assert_eq!(get(&server, &format!("{MAPS}?resourceVersion=x")).await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_is_shown_on_request() {
    let server = filled().await;
    let accept = |kind: &str| format!("application/json;as={kind};g=meta.k8s.io;v=v1");
    let (_, one) =
        raw(&server, "GET", &format!("{MAPS}/a"), &[("accept", &accept("PartialObjectMetadata"))], vec![])
            .await;
    assert_eq!(
        (&one["kind"], &one["apiVersion"], one.get("data")),
        (&json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1"), None)
    );
    assert_eq!(one["metadata"]["name"], "a");
    let (_, list) =
        raw(&server, "GET", MAPS, &[("accept", &accept("PartialObjectMetadataList"))], vec![]).await;
    assert_eq!(
        (&list["kind"], &list["items"][0]["kind"]),
        (&json!("PartialObjectMetadataList"), &json!("PartialObjectMetadata"))
    );
}

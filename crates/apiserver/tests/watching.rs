//! Watches: where they start, what selectors make of events, bookmarks, ends.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use capm3_apiserver::{ApiServer, Options};
use common::*;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn create(server: &ApiServer, name: &str, labels: Value) -> Value {
    ok(server, "POST", MAPS, Some(with_meta(configmap(name), json!({"labels": labels})))).await
}

async fn revision(server: &ApiServer) -> String {
    ok(server, "GET", MAPS, None).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

fn brief(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn without_a_version_the_present_comes_first() {
    let server = server();
    create(&server, "a", json!({})).await;
    for query in ["watch=true", "watch=true&resourceVersion=0"] {
        let mut watch = Stream::open(&server, &format!("{MAPS}?{query}")).await;
        assert_eq!(watch.brief().await, brief("ADDED", "a"));
        assert!(watch.is_quiet().await);
    }
}

#[tokio::test(start_paused = true)]
async fn from_a_version_only_what_came_later_is_seen() {
    let server = server();
    create(&server, "a", json!({})).await;
    let start = revision(&server).await;
    create(&server, "b", json!({})).await;
    let mut watch = Stream::open(&server, &format!("{MAPS}?watch=true&resourceVersion={start}")).await;
    assert_eq!(watch.brief().await, brief("ADDED", "b"));
    assert!(watch.is_quiet().await);
    merge_patch(&server, &format!("{MAPS}/a"), json!({"data": {"k": "w"}})).await;
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["data"]["k"]), (&json!("MODIFIED"), &json!("w")));
    let deleted = ok(&server, "DELETE", &format!("{MAPS}/a"), None).await;
    let event = watch.next().await.unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["metadata"]["uid"]),
        (&json!("DELETED"), &deleted["details"]["uid"])
    );
    assert_eq!(
        event["object"]["metadata"]["resourceVersion"],
        revision(&server).await,
        "a deletion has a version of its own"
    );
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_is_no_event() {
    let server = server();
    create(&server, "a", json!({})).await;
    let mut watch =
        Stream::open(&server, &format!("{MAPS}?watch=true&resourceVersion={}", revision(&server).await))
            .await;
    merge_patch(&server, &format!("{MAPS}/a"), json!({"data": {"k": "v"}})).await;
    assert!(watch.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn a_version_from_the_future_waits_until_it_is_passed() {
    let server = server();
    let start: u64 = revision(&server).await.parse().unwrap();
    let mut watch = Stream::open(&server, &format!("{MAPS}?watch=true&resourceVersion={}", start + 1)).await;
    create(&server, "a", json!({})).await;
    assert!(watch.is_quiet().await);
    create(&server, "b", json!({})).await;
    assert_eq!(watch.brief().await, brief("ADDED", "b"));
}

#[tokio::test(start_paused = true)]
async fn entering_and_leaving_a_selector_look_like_creation_and_deletion() {
    let server = server();
    create(&server, "a", json!({"l": "x"})).await;
    let mut watch = Stream::open(
        &server,
        &format!("{MAPS}?watch=true&labelSelector=l%3Dy&resourceVersion={}", revision(&server).await),
    )
    .await;
    let label = |value: &str| json!({"metadata": {"labels": {"l": value}}});
    let path = format!("{MAPS}/a");
    merge_patch(&server, &path, label("y")).await;
    merge_patch(&server, &path, json!({"data": {"k": "w"}})).await;
    let (_, left) = merge_patch(&server, &path, label("x")).await;
    assert_eq!(watch.brief().await, brief("ADDED", "a"));
    assert_eq!(watch.brief().await, brief("MODIFIED", "a"));
    let gone = watch.next().await.unwrap();
    assert_eq!(
        (&gone["type"], &gone["object"]["metadata"]["resourceVersion"]),
        (&json!("DELETED"), &left["metadata"]["resourceVersion"])
    );
    ok(&server, "DELETE", &path, None).await;
    assert!(watch.is_quiet().await, "what was not selected is not reported when it goes");
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_its_namespace_its_resource_and_its_name_only() {
    let server = server();
    let mut watch =
        Stream::open(&server, &format!("{MAPS}?watch=true&fieldSelector=metadata.name%3Db")).await;
    ok(&server, "POST", "/api/v1/namespaces/kube-system/configmaps", Some(configmap("b"))).await;
    ok(&server, "POST", "/api/v1/namespaces/default/secrets", Some(json!({"metadata": {"name": "b"}}))).await;
    create(&server, "a", json!({})).await;
    assert!(watch.is_quiet().await);
    create(&server, "b", json!({})).await;
    assert_eq!(watch.brief().await, brief("ADDED", "b"));
    let mut single = Stream::open(&server, &format!("{MAPS}/b?watch=true")).await;
    assert_eq!(single.brief().await, brief("ADDED", "b"));
    let mut all = Stream::open(&server, "/api/v1/configmaps?watch=true").await;
    let seen = [all.brief().await.1, all.brief().await.1, all.brief().await.1];
    assert_eq!(seen, ["a", "b", "b"]);
}

#[tokio::test(start_paused = true)]
async fn too_old_a_version_is_expired() {
    let server = ApiServer::new(Options { log_capacity: 2, ..options() });
    let start = revision(&server).await;
    let mut slow = Stream::open(&server, &format!("{MAPS}?watch=true&resourceVersion={start}")).await;
    for name in ["a", "b", "c"] {
        create(&server, name, json!({})).await;
    }
    let mut late = Stream::open(&server, &format!("{MAPS}?watch=true&resourceVersion={start}")).await;
    for watch in [&mut slow, &mut late] {
        let event = watch.next().await.unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["code"], &event["object"]["reason"]),
            (&json!("ERROR"), &json!(410), &json!("Expired"))
        );
        assert!(event["object"]["message"].as_str().unwrap().starts_with("too old resource version"));
        assert_eq!(watch.next().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_every_minute_and_before_the_end() {
    let server = server();
    let path = format!(
        "{MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion={}",
        revision(&server).await
    );
    let mut watch = Stream::open(&server, &path).await;
    let began = tokio::time::Instant::now();
    ok(&server, "POST", "/api/v1/namespaces/default/secrets", Some(json!({"metadata": {"name": "s"}}))).await;
    for seconds in [60, 100] {
        let event = watch.next().await.unwrap();
        assert_eq!((&event["type"], &event["object"]["kind"]), (&json!("BOOKMARK"), &json!("ConfigMap")));
        assert_eq!(event["object"]["metadata"]["resourceVersion"], revision(&server).await);
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_without_bookmarks_just_ends_the_stream() {
    let server = server();
    let mut watch = Stream::open(&server, &format!("{MAPS}?watch=true&timeoutSeconds=5")).await;
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_a_bookmark_that_says_so() {
    let server = server();
    create(&server, "a", json!({})).await;
    let path = format!(
        "{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let mut watch = Stream::open(&server, &path).await;
    assert_eq!(watch.brief().await, brief("ADDED", "a"));
    let end = watch.next().await.unwrap();
    assert_eq!(end["type"], "BOOKMARK");
    assert_eq!(end["object"]["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
    create(&server, "b", json!({})).await;
    assert_eq!(watch.brief().await, brief("ADDED", "b"));
    assert_eq!(get(&server, &format!("{MAPS}?watch=true&sendInitialEvents=true")).await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn many_events_arrive_in_order_and_none_is_lost() {
    let server = server();
    let mut watch = Stream::open(&server, &format!("{MAPS}?watch=true")).await;
    for index in 0..500 {
        create(&server, &format!("m{index:03}"), json!({})).await;
    }
    for index in 0..500 {
        assert_eq!(watch.brief().await, brief("ADDED", &format!("m{index:03}")));
    }
    assert!(watch.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_sleeps_is_woken_by_a_writer() {
    let server = server();
    let mut watch = Stream::open(&server, &format!("{MAPS}?watch=true")).await;
    // A task of its own: nobody but the server can make it read on.
    let reader = tokio::spawn(async move { watch.brief().await });
    tokio::task::yield_now().await;
    create(&server, "a", json!({})).await;
    let event = tokio::time::timeout(std::time::Duration::from_secs(1), reader)
        .await
        .expect("the watcher was not woken");
    assert_eq!(event.unwrap(), brief("ADDED", "a"));
}

#[tokio::test(start_paused = true)]
async fn removing_a_cluster_ends_its_watches_and_makes_it_unreachable() {
    let server = server();
    server.add_cluster("metal3/one");
    let mut watch = Stream::open(&server, "/clusters/metal3/one/api/v1/nodes?watch=true").await;
    assert!(watch.is_quiet().await);
    server.remove_cluster("metal3/one");
    assert_eq!(watch.next().await, None);
    let (code, status) = get(&server, "/clusters/metal3/one/api/v1/nodes").await;
    assert_eq!((code, &status["reason"]), (503, &json!("ServiceUnavailable")));
}

#[tokio::test]
async fn the_history_has_every_revision_until_it_is_trimmed() {
    let server = with_widgets(ApiServer::new(Options { log_capacity: 3, ..options() })).await;
    let history = || server.history(None, "test.io", "widgets");
    call(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let path = format!("{WIDGETS}/w");
    merge_patch(&server, &path, json!({"spec": {"size": 2}})).await;
    call(&server, "DELETE", &path, None).await;
    let reported: Vec<(Value, bool)> =
        history().unwrap().into_iter().map(|r| (r.object["spec"]["size"].clone(), r.removed)).collect();
    assert_eq!(reported, [(json!(1), false), (json!(2), false), (json!(2), true)]);
    let numbers: Vec<u64> = history().unwrap().iter().map(|r| r.number).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    call(&server, "POST", WIDGETS, Some(widget("x", 1))).await;
    assert_eq!(history(), None, "a fourth change does not fit");
    assert_eq!(server.history(None, "test.io", "gadgets"), None);
}

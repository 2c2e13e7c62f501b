//! Deletion: finalizers, preconditions, propagation, the garbage collector, namespaces.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use capm3_apiserver::ApiServer;
use common::*;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn create_map(server: &ApiServer, name: &str, metadata: Value) -> Value {
    ok(server, "POST", MAPS, Some(with_meta(configmap(name), metadata))).await
}

async fn map_owned_by(server: &ApiServer, name: &str, owners: &[&Value]) -> Value {
    let owners: Vec<Value> = owners.iter().map(|owner| owned_by(owner)).collect();
    create_map(server, name, json!({"ownerReferences": owners})).await
}

async fn delete_map(server: &ApiServer, name: &str, options: Value) -> (u16, Value) {
    call(server, "DELETE", &format!("{MAPS}/{name}"), Some(options)).await
}

#[tokio::test(start_paused = true)]
async fn an_object_without_finalizers_goes_at_once() {
    let server = server();
    let created = create_map(&server, "a", json!({})).await;
    let (code, status) = delete_map(&server, "a", json!({})).await;
    assert_eq!(
        (code, &status["status"], &status["details"]["uid"]),
        (200, &json!("Success"), &created["metadata"]["uid"])
    );
    let (code, status) = delete_map(&server, "a", json!({})).await;
    assert_eq!((code, &status["message"]), (404, &json!("configmaps \"a\" not found")));
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_holds_the_object_until_it_is_taken() {
    let server = widget_server().await;
    ok(
        &server,
        "POST",
        WIDGETS,
        Some(with_meta(widget("w", 1), json!({"finalizers": ["x.io/a", "x.io/b"]}))),
    )
    .await;
    let path = format!("{WIDGETS}/w");
    let (code, marked) = call(&server, "DELETE", &path, None).await;
    assert_eq!(code, 200);
    assert_eq!(
        (&marked["metadata"]["deletionTimestamp"], &marked["metadata"]["deletionGracePeriodSeconds"]),
        (&json!(NOW), &json!(0))
    );
    assert_eq!(marked["metadata"]["generation"], 2);
    assert_eq!(call(&server, "DELETE", &path, None).await, (200, marked));

    let (code, status) =
        merge_patch(&server, &path, json!({"metadata": {"finalizers": ["x.io/a", "x.io/b", "x.io/c"]}}))
            .await;
    assert_eq!(code, 422);
    assert_eq!(
        status["details"]["causes"][0]["message"],
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"x.io/c\"}"
    );
    merge_patch(&server, &path, json!({"metadata": {"finalizers": ["x.io/b"]}})).await;
    assert!(exists(&server, &path).await);
    let (code, last) = merge_patch(&server, &path, json!({"metadata": {"finalizers": null}})).await;
    assert_eq!((code, last["metadata"].get("finalizers")), (200, None));
    assert!(!exists(&server, &path).await);
}

#[tokio::test(start_paused = true)]
async fn preconditions_must_hold() {
    let server = server();
    let created = create_map(&server, "a", json!({})).await;
    let (code, status) = delete_map(&server, "a", json!({"preconditions": {"uid": "other"}})).await;
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains("the UID in the precondition (other) does not match the UID in record")
    );
    assert_eq!(delete_map(&server, "a", json!({"preconditions": {"resourceVersion": "1"}})).await.0, 409);
    let exact =
        json!({"uid": created["metadata"]["uid"], "resourceVersion": created["metadata"]["resourceVersion"]});
    assert_eq!(delete_map(&server, "a", json!({"preconditions": exact})).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn dependents_go_with_their_last_owner_and_take_theirs_along() {
    let server = server();
    let (a, b) = (create_map(&server, "a", json!({})).await, create_map(&server, "b", json!({})).await);
    let child = map_owned_by(&server, "child", &[&a]).await;
    map_owned_by(&server, "grandchild", &[&child]).await;
    map_owned_by(&server, "shared", &[&a, &b]).await;
    delete_map(&server, "a", json!({})).await;
    assert_eq!(names(&server, MAPS).await, ["b", "shared"]);
    let (_, shared) = get(&server, &format!("{MAPS}/shared")).await;
    assert_eq!(
        shared["metadata"]["ownerReferences"].as_array().unwrap().len(),
        1,
        "the dead owner is struck out"
    );
    delete_map(&server, "b", json!({})).await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_dependent_with_a_finalizer_is_marked_and_waits() {
    let server = server();
    let a = create_map(&server, "a", json!({})).await;
    create_map(&server, "child", json!({"ownerReferences": [owned_by(&a)], "finalizers": ["x.io/a"]})).await;
    delete_map(&server, "a", json!({})).await;
    let (_, child) = get(&server, &format!("{MAPS}/child")).await;
    assert_eq!(child["metadata"]["deletionTimestamp"], NOW);
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_owners_are_all_dead_is_collected_when_it_appears() {
    let server = server();
    let gone =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gone", "uid": "no-such-uid"}});
    map_owned_by(&server, "late", &[&gone]).await;
    assert!(!exists(&server, &format!("{MAPS}/late")).await);
    create_map(&server, "adopted", json!({})).await;
    merge_patch(
        &server,
        &format!("{MAPS}/adopted"),
        json!({"metadata": {"ownerReferences": [owned_by(&gone)]}}),
    )
    .await;
    assert!(!exists(&server, &format!("{MAPS}/adopted")).await);
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_a_kind_that_is_not_served_cannot_be_called_dead() {
    let server = server();
    let foreign =
        json!({"apiVersion": "foreign.io/v1", "kind": "Thing", "metadata": {"name": "t", "uid": "u"}});
    map_owned_by(&server, "child", &[&foreign]).await;
    assert!(exists(&server, &format!("{MAPS}/child")).await);
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_another_namespace_counts_as_dead() {
    let server = server();
    let owner =
        ok(&server, "POST", "/api/v1/namespaces/kube-system/configmaps", Some(configmap("owner"))).await;
    map_owned_by(&server, "child", &[&owner]).await;
    assert!(!exists(&server, &format!("{MAPS}/child")).await);
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_removes_dependents_first() {
    let server = server();
    let a = create_map(&server, "a", json!({})).await;
    create_map(&server, "child", json!({"ownerReferences": [owned_by(&a)], "finalizers": ["x.io/a"]})).await;
    let (_, marked) = delete_map(&server, "a", json!({"propagationPolicy": "Foreground"})).await;
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_eq!(names(&server, MAPS).await, ["a", "child"]);
    merge_patch(&server, &format!("{MAPS}/child"), json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn foreground_deletion_does_not_wait_for_dependents_that_do_not_block() {
    let server = server();
    let a = create_map(&server, "a", json!({})).await;
    let mut owner = owned_by(&a);
    owner["blockOwnerDeletion"] = json!(false);
    create_map(&server, "child", json!({"ownerReferences": [owner], "finalizers": ["x.io/a"]})).await;
    delete_map(&server, "a", json!({"propagationPolicy": "Foreground"})).await;
    assert_eq!(names(&server, MAPS).await, ["child"]);
}

#[tokio::test(start_paused = true)]
async fn objects_that_own_each_other_can_be_deleted_in_the_foreground() {
    let server = server();
    let a = create_map(&server, "a", json!({})).await;
    let b = map_owned_by(&server, "b", &[&a]).await;
    merge_patch(&server, &format!("{MAPS}/a"), json!({"metadata": {"ownerReferences": [owned_by(&b)]}}))
        .await;
    delete_map(&server, "a", json!({"propagationPolicy": "Foreground"})).await;
    assert_eq!(names(&server, MAPS).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn orphaned_dependents_stay_without_their_owner() {
    let server = server();
    let a = create_map(&server, "a", json!({})).await;
    map_owned_by(&server, "child", &[&a]).await;
    call(&server, "DELETE", &format!("{MAPS}/a?propagationPolicy=Orphan"), None).await;
    assert_eq!(names(&server, MAPS).await, ["child"]);
    assert_eq!(get(&server, &format!("{MAPS}/child")).await.1["metadata"].get("ownerReferences"), None);
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_by_selector() {
    let server = server();
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        create_map(&server, name, json!({"labels": {"l": label}})).await;
    }
    let deleted = ok(&server, "DELETE", &format!("{MAPS}?labelSelector=l%3Dx"), None).await;
    assert_eq!(
        (deleted["kind"].as_str(), deleted["items"].as_array().map(Vec::len)),
        (Some("ConfigMapList"), Some(2))
    );
    assert_eq!(names(&server, MAPS).await, ["b"]);
}

async fn create_namespace(server: &ApiServer, name: &str) {
    ok(
        server,
        "POST",
        "/api/v1/namespaces",
        Some(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_content_along() {
    let server = server();
    create_namespace(&server, "team").await;
    let maps = "/api/v1/namespaces/team/configmaps";
    ok(&server, "POST", maps, Some(configmap("a"))).await;
    ok(&server, "POST", maps, Some(with_meta(configmap("held"), json!({"finalizers": ["x.io/a"]})))).await;
    let (_, marked) = call(&server, "DELETE", "/api/v1/namespaces/team", None).await;
    assert_eq!(marked["status"]["phase"], "Terminating");
    assert_eq!(names(&server, maps).await, ["held"]);

    let (code, status) = call(&server, "POST", maps, Some(configmap("new"))).await;
    assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")));
    assert_eq!(
        status["message"],
        "configmaps \"new\" is forbidden: unable to create new content in namespace team because it is being terminated"
    );
    assert_eq!(status["details"]["causes"][0]["reason"], "NamespaceTerminating");

    merge_patch(&server, &format!("{maps}/held"), json!({"metadata": {"finalizers": null}})).await;
    assert!(!exists(&server, "/api/v1/namespaces/team").await);
    let (code, status) = call(&server, "POST", maps, Some(configmap("new"))).await;
    assert_eq!((code, &status["message"]), (404, &json!("namespaces \"team\" not found")));
}

#[tokio::test(start_paused = true)]
async fn an_empty_namespace_goes_at_once_and_the_first_ones_never() {
    let server = server();
    create_namespace(&server, "team").await;
    call(&server, "DELETE", "/api/v1/namespaces/team", None).await;
    assert_eq!(names(&server, "/api/v1/namespaces").await, ["default", "kube-system"]);
    let (code, status) = call(&server, "DELETE", "/api/v1/namespaces/default", None).await;
    assert_eq!(
        (code, &status["message"]),
        (403, &json!("namespaces \"default\" is forbidden: this namespace may not be deleted"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_definition_takes_its_objects_along_and_its_watches_end() {
    let server = widget_server().await;
    ok(&server, "POST", WIDGETS, Some(widget("a", 1))).await;
    ok(&server, "POST", WIDGETS, Some(with_meta(widget("held", 1), json!({"finalizers": ["x.io/a"]})))).await;
    let mut watch =
        Stream::open(&server, &format!("{WIDGETS}?watch=true&fieldSelector=metadata.name%3Dheld")).await;
    assert_eq!(watch.brief().await, ("ADDED".into(), "held".into()));
    let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.test.io";
    call(&server, "DELETE", crd, None).await;
    assert_eq!(names(&server, WIDGETS).await, ["held"]);
    assert_eq!(call(&server, "POST", WIDGETS, Some(widget("new", 1))).await.0, 405);
    merge_patch(&server, &format!("{WIDGETS}/held"), json!({"metadata": {"finalizers": null}})).await;
    assert!(!exists(&server, crd).await);
    assert_eq!(get(&server, WIDGETS).await.0, 404);
    while let Some(event) = watch.next().await {
        assert_ne!(event["type"], "ERROR");
    }
}

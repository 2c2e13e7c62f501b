//! Create and update: names, system metadata, generations, no-op writes, optimistic locking, the status split.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::*;
use serde_json::{Value, json};

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_new_object_gets_uid_timestamp_version_and_generation() {
    let server = widget_server().await;
    let sent = with_meta(
        widget("w", 1),
        json!({"uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z", "generation": 9}),
    );
    let created = ok(&server, "POST", WIDGETS, Some(sent)).await;
    let metadata = &created["metadata"];
    assert_eq!(metadata["creationTimestamp"], NOW);
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert!(version(&created) > 0);
    assert_eq!(get(&server, &format!("{WIDGETS}/w")).await, (200, created));
}

#[tokio::test(start_paused = true)]
async fn a_generated_name_is_the_prefix_and_five_letters() {
    let server = widget_server().await;
    let mut sent = widget("", 1);
    sent["metadata"] = json!({"generateName": "rack-"});
    let first = ok(&server, "POST", WIDGETS, Some(sent.clone())).await;
    let second = ok(&server, "POST", WIDGETS, Some(sent)).await;
    for object in [&first, &second] {
        let name = object["metadata"]["name"].as_str().unwrap();
        assert!(name.starts_with("rack-") && name.len() == 10, "{name}");
    }
    assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_created_is_refused_with_the_reason_kubernetes_gives() {
    let server = widget_server().await;
    ok(&server, "POST", WIDGETS, Some(widget("taken", 1))).await;
    let table = [
        (widget("taken", 1), 409, "AlreadyExists", "widgets.test.io \"taken\" already exists"),
        (
            widget("", 1),
            422,
            "Invalid",
            "Widget.test.io \"\" is invalid: metadata.name: Required value: name or generateName is required",
        ),
        (
            with_meta(widget("w", 1), json!({"namespace": "other"})),
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            json!({"apiVersion": "test.io/v1beta1", "kind": "Widget", "metadata": {"name": "w"}}),
            400,
            "BadRequest",
            "the API version in the data (test.io/v1beta1) does not match the expected API version (test.io/v1)",
        ),
        (
            json!({"apiVersion": "test.io/v1", "kind": "Gadget", "metadata": {"name": "w"}}),
            400,
            "BadRequest",
            "Gadget in version \"v1\" cannot be handled as a Widget",
        ),
        (json!([]), 400, "BadRequest", "the request body must be a JSON object"),
        (
            with_meta(widget("w", 1), json!({"labels": {"a": 1}})),
            400,
            "BadRequest",
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field \
             ObjectMeta.labels of type string",
        ),
    ];
    for (body, code, reason, message) in table {
        let (found, status) = call(&server, "POST", WIDGETS, Some(body.clone())).await;
        assert_eq!(
            (found, status["reason"].as_str().unwrap(), status["message"].as_str().unwrap()),
            (code, reason, message),
            "{body}"
        );
        assert_eq!(
            (status["kind"].as_str(), status["code"].as_u64()),
            (Some("Status"), Some(u64::from(code)))
        );
    }
    let (code, status) = call(&server, "POST", WIDGETS, Some(widget("Bad_Name", 1))).await;
    assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!("metadata.name")));
    let (code, status) =
        call(&server, "POST", WIDGETS, Some(with_meta(widget("w", 1), json!({"resourceVersion": "5"}))))
            .await;
    assert_eq!(
        (code, &status["message"]),
        (500, &json!("resourceVersion should not be set on objects to be created"))
    );
}

#[tokio::test(start_paused = true)]
async fn the_generation_counts_spec_changes_only() {
    let server = widget_server().await;
    ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let path = format!("{WIDGETS}/w");
    let table = [
        (json!({"spec": {"size": 2}}), 2),
        (json!({"metadata": {"labels": {"a": "b"}}}), 2),
        (json!({"status": {"ready": true}}), 2),
        (json!({"spec": {"note": "x"}}), 3),
        (json!({"spec": {"note": null}}), 4),
    ];
    for (patch, generation) in table {
        let (_, patched) = merge_patch(&server, &path, patch.clone()).await;
        assert_eq!(patched["metadata"]["generation"], generation, "{patch}");
    }
    let (_, patched) =
        merge_patch(&server, &format!("{path}/status"), json!({"status": {"ready": true}})).await;
    assert_eq!(patched["metadata"]["generation"], 4);
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_have_no_generation() {
    let server = server();
    let created = ok(&server, "POST", "/api/v1/namespaces/default/configmaps", Some(configmap("a"))).await;
    assert_eq!(created["metadata"].get("generation"), None);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_nothing_keeps_the_version() {
    let server = widget_server().await;
    let created = ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let path = format!("{WIDGETS}/w");
    for patch in [
        json!({}),
        json!({"spec": {"size": 1}}),
        json!({"spec": {"unknown": 1}}),
        json!({"metadata": {"labels": {}}}),
        json!({"status": {"ready": true}}),
    ] {
        assert_eq!(merge_patch(&server, &path, patch.clone()).await, (200, created.clone()), "{patch}");
    }
    assert_eq!(call(&server, "PUT", &path, Some(created.clone())).await, (200, created));
}

#[tokio::test(start_paused = true)]
async fn an_update_must_know_the_latest_version() {
    let server = widget_server().await;
    let created = ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let path = format!("{WIDGETS}/w");
    merge_patch(&server, &path, json!({"spec": {"size": 2}})).await;

    let (code, status) = call(&server, "PUT", &path, Some(created.clone())).await;
    assert_eq!((code, &status["reason"]), (409, &json!("Conflict")));
    assert_eq!(
        status["message"],
        "Operation cannot be fulfilled on widgets.test.io \"w\": the object has been modified; please apply your changes to the \
         latest version and try again"
    );
    let (code, status) = call(&server, "PUT", &path, Some(widget("w", 3))).await;
    assert_eq!(code, 422);
    assert_eq!(
        status["message"],
        "widgets.test.io \"w\" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update"
    );
    let stale = created["metadata"]["resourceVersion"].clone();
    let (code, _) =
        merge_patch(&server, &path, json!({"metadata": {"resourceVersion": stale}, "spec": {"size": 5}}))
            .await;
    assert_eq!(code, 409);
    let (code, _) = merge_patch(&server, &path, json!({"spec": {"size": 5}})).await;
    assert_eq!(code, 200);
    let (code, _) = merge_patch(
        &server,
        &format!("{path}/status"),
        json!({"metadata": {"resourceVersion": stale}, "status": {}}),
    )
    .await;
    assert_eq!(code, 409);
}

#[tokio::test(start_paused = true)]
async fn built_in_kinds_may_be_overwritten_unconditionally_except_leases() {
    let server = server();
    let path = "/api/v1/namespaces/default/configmaps";
    ok(&server, "POST", path, Some(configmap("a"))).await;
    assert_eq!(call(&server, "PUT", &format!("{path}/a"), Some(configmap("a"))).await.0, 200);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}});
    ok(&server, "POST", leases, Some(lease.clone())).await;
    assert_eq!(call(&server, "PUT", &format!("{leases}/l"), Some(lease)).await.0, 422);
}

#[tokio::test(start_paused = true)]
async fn immutable_metadata_is_restored_or_refused() {
    let server = widget_server().await;
    let created = ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let path = format!("{WIDGETS}/w");
    let restored = json!({"metadata": {"creationTimestamp": null, "generation": 77, "uid": null}});
    assert_eq!(merge_patch(&server, &path, restored).await, (200, created.clone()));
    for (patch, field) in [
        (json!({"metadata": {"uid": "other"}}), "metadata.uid"),
        (json!({"metadata": {"deletionTimestamp": NOW}}), "metadata.deletionTimestamp"),
    ] {
        let (code, status) = merge_patch(&server, &path, patch).await;
        assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!(field)));
    }
    let renamed = with_meta(created.clone(), json!({"name": "other"}));
    for (code, status) in [
        call(&server, "PUT", &path, Some(renamed)).await,
        merge_patch(&server, &path, json!({"metadata": {"name": "other"}})).await,
    ] {
        let message = json!("the name of the object (other) does not match the name on the URL (w)");
        assert_eq!((code, &status["message"]), (400, &message));
    }
    let (code, status) = call(&server, "PUT", &path, Some(with_meta(created, json!({"uid": "other"})))).await;
    assert_eq!(code, 409, "{status}");
}

#[tokio::test(start_paused = true)]
async fn the_status_is_split_from_the_rest_both_ways() {
    let server = widget_server().await;
    let mut sent = widget("w", 1);
    sent["status"] = json!({"ready": true});
    let created = ok(&server, "POST", WIDGETS, Some(sent)).await;
    assert_eq!(created.get("status"), None);

    let both = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"size": 5}, "status": {"ready": true}});
    let path = format!("{WIDGETS}/w");
    let (_, status_only) = merge_patch(&server, &format!("{path}/status"), both.clone()).await;
    assert_eq!((&status_only["spec"]["size"], &status_only["status"]), (&json!(1), &json!({"ready": true})));
    assert_eq!(status_only["metadata"].get("labels"), None);

    let (_, rest) = merge_patch(
        &server,
        &path,
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"size": 5}, "status": {"ready": false}}),
    )
    .await;
    assert_eq!(
        (&rest["spec"]["size"], &rest["status"], &rest["metadata"]["labels"]["a"]),
        (&json!(5), &json!({"ready": true}), &json!("b"))
    );
    assert_eq!(get(&server, &format!("{path}/status")).await.1, rest);
    assert_eq!(call(&server, "DELETE", &format!("{path}/status"), None).await.0, 405);
}

#[tokio::test(start_paused = true)]
async fn a_node_keeps_the_status_it_registers_with() {
    let server = server();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"nodeInfo": {"machineID": "m"}}});
    let created = ok(&server, "POST", "/api/v1/nodes", Some(node)).await;
    assert_eq!(created["status"]["nodeInfo"]["machineID"], "m");
    let (_, patched) = merge_patch(
        &server,
        "/api/v1/nodes/n",
        json!({"spec": {"providerID": "p"}, "status": {"nodeInfo": null}}),
    )
    .await;
    assert_eq!(
        (&patched["spec"]["providerID"], &patched["status"]["nodeInfo"]["machineID"]),
        (&json!("p"), &json!("m"))
    );
}

#[tokio::test(start_paused = true)]
async fn the_string_data_of_a_secret_becomes_data() {
    let server = server();
    let path = "/api/v1/namespaces/default/secrets";
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "eA=="}, "stringData": {"b": "hi"}});
    let created = ok(&server, "POST", path, Some(secret)).await;
    assert_eq!(
        (&created["data"], &created["type"], created.get("stringData")),
        (&json!({"a": "eA==", "b": "aGk="}), &json!("Opaque"), None)
    );
    let (_, patched) = merge_patch(&server, &format!("{path}/s"), json!({"stringData": {"a": "hi"}})).await;
    assert_eq!(patched["data"]["a"], "aGk=");
    assert_eq!(merge_patch(&server, &format!("{path}/s"), json!({"data": {"a": "***"}})).await.0, 422);
    assert_eq!(merge_patch(&server, &format!("{path}/s"), json!({"type": "other"})).await.0, 422);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_but_stores_nothing() {
    let server = widget_server().await;
    let created = ok(&server, "POST", &format!("{WIDGETS}?dryRun=All"), Some(widget("w", 1))).await;
    assert_eq!(created["spec"]["color"], "red");
    assert!(!exists(&server, &format!("{WIDGETS}/w")).await);
    let stored = ok(&server, "POST", WIDGETS, Some(widget("w", 1))).await;
    let (_, patched) =
        merge_patch(&server, &format!("{WIDGETS}/w?dryRun=All"), json!({"spec": {"size": 7}})).await;
    assert_eq!(patched["spec"]["size"], 7);
    ok(&server, "DELETE", &format!("{WIDGETS}/w?dryRun=All"), None).await;
    assert_eq!(get(&server, &format!("{WIDGETS}/w")).await.1, stored);
}

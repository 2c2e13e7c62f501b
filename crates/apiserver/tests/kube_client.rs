//! The server as `kube::Client` sees it: typed objects, patches, watches.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::*;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::{
    api::{
        core::v1::{ConfigMap, Namespace, Node, Pod, Secret},
        storage::v1::VolumeAttachment,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams, WatchEvent, WatchParams,
    },
};
use serde_json::json;

fn client(server: &capm3_apiserver::ApiServer) -> Client {
    Client::new(server.clone(), "default")
}

fn widgets(client: &Client) -> Api<DynamicObject> {
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("test.io", "v1", "Widget"), "widgets");
    Api::namespaced_with(client.clone(), "default", &resource)
}

fn typed<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_typed_object_lives_through_create_get_list_patch_and_delete() {
    let api: Api<ConfigMap> = Api::default_namespaced(client(&server()));
    let created = api.create(&PostParams::default(), &typed(configmap("a"))).await.unwrap();
    assert_eq!(created.metadata.creation_timestamp.as_ref().unwrap().0.to_string(), NOW);
    assert_eq!(api.get("a").await.unwrap(), created);
    let patched =
        api.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"k": "w"}}))).await.unwrap();
    assert_eq!(patched.data.unwrap()["k"], "w");
    assert_ne!(patched.metadata.resource_version, created.metadata.resource_version);
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
    api.delete("a", &DeleteParams::default()).await.unwrap().right().unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_crd_is_served_as_soon_as_it_is_created() {
    let client = client(&server());
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let crd = crds.create(&PostParams::default(), &typed(widget_crd())).await.unwrap();
    let conditions = crd.status.unwrap().conditions.unwrap();
    assert!(
        conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
    );
    let widget = widgets(&client).create(&PostParams::default(), &typed(widget("w", 3))).await.unwrap();
    assert_eq!(widget.data["spec"], json!({"size": 3, "color": "red"}));
    assert_eq!(widget.metadata.generation, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_typed_error_carries_reason_code_and_details() {
    let api: Api<Secret> = Api::default_namespaced(client(&server()));
    let kube::Error::Api(status) = api.get("missing").await.unwrap_err() else { panic!("not an API error") };
    assert_eq!(
        (status.code, status.reason.as_str(), status.message.as_str()),
        (404, "NotFound", "secrets \"missing\" not found")
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_sees_what_another_client_writes() {
    let server = widget_server().await;
    let (reader, writer) = (widgets(&client(&server)), widgets(&client(&server)));
    let list = reader.list(&ListParams::default()).await.unwrap();
    let mut events = reader
        .watch(&WatchParams::default(), &list.metadata.resource_version.unwrap())
        .await
        .unwrap()
        .boxed();
    writer.create(&PostParams::default(), &typed(widget("w", 1))).await.unwrap();
    writer.patch("w", &PatchParams::default(), &Patch::Merge(json!({"spec": {"size": 2}}))).await.unwrap();
    writer.delete("w", &DeleteParams::default()).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.push(match events.try_next().await.unwrap().unwrap() {
            WatchEvent::Added(_) => "added",
            WatchEvent::Modified(_) => "modified",
            WatchEvent::Deleted(_) => "deleted",
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(seen, ["added", "modified", "deleted"]);
}

#[tokio::test(start_paused = true)]
async fn the_status_is_patched_through_its_own_endpoint() {
    let server = widget_server().await;
    let api = widgets(&client(&server));
    api.create(&PostParams::default(), &typed(widget("w", 1))).await.unwrap();
    let patched = api
        .patch_status("w", &PatchParams::default(), &Patch::Merge(json!({"status": {"ready": true}})))
        .await
        .unwrap();
    assert_eq!(patched.data["status"], json!({"ready": true}));
    assert_eq!(patched.metadata.generation, Some(1));
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_can_be_read_listed_and_watched() {
    let client = client(&server());
    let api: Api<Secret> = Api::default_namespaced(client);
    let secret = json!({"metadata": {"name": "s", "labels": {"a": "b"}}, "stringData": {"password": "x"}});
    api.create(&PostParams::default(), &typed(secret)).await.unwrap();
    assert_eq!(api.get_metadata("s").await.unwrap().metadata.labels.unwrap()["a"], "b");
    assert_eq!(api.list_metadata(&ListParams::default()).await.unwrap().items.len(), 1);
    let mut events = api.watch_metadata(&WatchParams::default(), "0").await.unwrap().boxed();
    let Some(WatchEvent::Added(object)) = events.try_next().await.unwrap() else { panic!("no event") };
    assert_eq!(object.metadata.name.as_deref(), Some("s"));
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_node_and_volume_attachments_are_listed_and_watched() {
    let client = client(&server());
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    for (name, node) in [("a", "n1"), ("b", "n2")] {
        let pod = json!({"metadata": {"name": name}, "spec": {"nodeName": node, "containers": []}});
        pods.create(&PostParams::default(), &typed(pod)).await.unwrap();
    }
    let of_node = ListParams::default().fields("spec.nodeName=n2");
    let everywhere: Api<Pod> = Api::all(client.clone());
    let found = everywhere.list(&of_node).await.unwrap();
    assert_eq!(found.items.iter().map(|pod| pod.name_any()).collect::<Vec<_>>(), ["b"]);
    let watched = WatchParams::default().fields("spec.nodeName=n2");
    let mut events = everywhere.watch(&watched, "0").await.unwrap().boxed();
    let Some(WatchEvent::Added(pod)) = events.try_next().await.unwrap() else { panic!("no event") };
    assert_eq!(pod.name_any(), "b");

    let attachments: Api<VolumeAttachment> = Api::all(client);
    let attachment =
        json!({"metadata": {"name": "va"}, "spec": {"attacher": "csi", "nodeName": "n2", "source": {}}});
    attachments.create(&PostParams::default(), &typed(attachment)).await.unwrap();
    let mut events = attachments.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    let Some(WatchEvent::Added(found)) = events.try_next().await.unwrap() else { panic!("no event") };
    assert_eq!(found.spec.node_name, "n2");
    attachments.delete("va", &DeleteParams::default()).await.unwrap();
    let Some(WatchEvent::Deleted(_)) = events.try_next().await.unwrap() else { panic!("no event") };
}

#[tokio::test(start_paused = true)]
async fn each_cluster_reports_the_version_that_was_chosen_for_it() {
    let server = server();
    server.add_cluster("metal3/one");
    let rows =
        [("v1.27.3", "27"), ("v1.28.0", "28"), ("v1.28.3-eks-a5565ad", "28+"), ("v1.36.0+capm3", "36")];
    for (version, minor) in rows {
        server.report_version(Some("metal3/one"), version);
        let info = client(&server.cluster("metal3/one")).apiserver_version().await.unwrap();
        assert_eq!(
            (info.git_version.as_str(), info.major.as_str(), info.minor.as_str()),
            (version, "1", minor)
        );
    }
    server.report_version(Some("metal3/one"), "v1.20.0");
    assert_eq!(client(&server).apiserver_version().await.unwrap().git_version, "v1.36.0+capm3");
}

#[tokio::test(start_paused = true)]
async fn a_workload_cluster_is_another_api() {
    let server = server();
    server.add_cluster("metal3/one");
    let nodes: Api<Node> = Api::all(client(&server.cluster("metal3/one")));
    nodes
        .create(&PostParams::default(), &typed(json!({"metadata": {"name": "n"}, "status": {"phase": "x"}})))
        .await
        .unwrap();
    let here: Api<Node> = Api::all(client(&server));
    assert!(here.list(&ListParams::default()).await.unwrap().items.is_empty());
    let namespaces: Api<Namespace> = Api::all(client(&server.cluster("metal3/one")));
    assert_eq!(namespaces.list(&ListParams::default()).await.unwrap().items.len(), 2);
}

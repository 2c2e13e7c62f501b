//! Each fault as its client sees it, on a server with three pools.

use std::sync::Arc;

use capm3_apiserver::ApiServer;
use capm3_engine::{ApiClient, ApiError, Caches, Detail, ObjectKey, ResourceKind, client::WatchEvent};
use serde_json::{Value, json};

use super::{
    super::{Faults, Faulty},
    Absence, AnswerFault,
    rewrite::spoil,
};
use crate::running;

fn pools() -> ResourceKind {
    let [group, version, kind, plural] =
        ["ipam.metal3.io", "v1alpha1", "IPPool", "ippools"].map(str::to_owned);
    ResourceKind { group, version, kind, plural }
}

fn resource(path: [&str; 4]) -> ResourceKind {
    let [group, version, kind, plural] = path.map(str::to_owned);
    ResourceKind { group, version, kind, plural }
}

fn pool(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

/// A server with pools `a`, `b` and `c`, made in this order, and a client that has a fault before it.
async fn behind(fault: AnswerFault) -> (ApiServer, Arc<Absence>, ApiClient) {
    let (server, _) = running::server(&crate::Options::default()).await.unwrap();
    let absence = Arc::new(Absence::new(pools(), fault, None));
    let faulty = Faulty::new(server.clone(), Arc::clone(&absence) as Arc<dyn Faults>);
    let client = ApiClient::new(kube::Client::new(faulty, "default"), "test");
    for name in ["a", "b", "c"] {
        let spec = json!({"clusterName": "x", "namePrefix": "x", "pools": [{"start": "10.0.0.1", "end": "10.0.0.9"}]});
        client.create(&pools(), "default", json!({"metadata": {"name": name}, "spec": spec})).await.unwrap();
    }
    (server, absence, client)
}

fn refused(error: &ApiError) -> String {
    match error {
        ApiError::NotFound { subject, .. } if subject.resource == "configmaps" => "404 of another".to_owned(),
        ApiError::NotServed { .. } => "404".to_owned(),
        ApiError::Refused { code, reason, .. } => format!("{code} {reason}"),
        other => panic!("{other}"),
    }
}

/// Names in a list, those that cannot be read in capitals.
fn names(objects: &[Value]) -> String {
    let name = |object: &Value| {
        let name = object.pointer("/metadata/name").unwrap().as_str().unwrap();
        if object["spec"].is_object() { name.to_owned() } else { name.to_uppercase() }
    };
    objects.iter().map(name).collect()
}

async fn list(client: &ApiClient) -> String {
    let page = client.list_page::<Value>(&pools(), "", Detail::Whole, None).await;
    page.map_or_else(|error| refused(&error), |page| names(&page.items))
}

async fn get(client: &ApiClient) -> String {
    match client.get::<Value>(&pools(), &pool("a")).await {
        Ok(found) => names(found.as_slice()),
        Err(error) => refused(&error),
    }
}

async fn patch(client: &ApiClient) -> String {
    let change = json!({"metadata": {"labels": {"l": "v"}}});
    let answer = client.merge_patch(&pools(), &pool("b"), None, &change).await;
    answer.map_or_else(|error| refused(&error), |object| names(&[object]))
}

async fn discovered(client: &ApiClient) -> bool {
    // The list of resources of a version, read as if it were an object.
    let root = resource(["", "", "", ""]);
    let found: Option<Value> =
        client.below("/apis/ipam.metal3.io/v1alpha1?x=").get(&root, &pool("")).await.unwrap();
    let resources = found.unwrap_or_default();
    let resources = resources["resources"].as_array().cloned().unwrap_or_default();
    resources.iter().any(|it| it["name"] == "ippools")
}

async fn definition(client: &ApiClient) -> &'static str {
    let kind = capm3_provider::host_crd::definitions();
    let found: Option<Value> =
        client.get(&kind, &ObjectKey::new("", "ippools.ipam.metal3.io")).await.unwrap();
    match found.map(|crd| crd["spec"]["versions"][0]["served"] == true) {
        None => "gone",
        Some(true) => "served",
        Some(false) => "not served",
    }
}

/// List, get, write, discovery and definition while each fault lasts.
#[tokio::test(start_paused = true)]
async fn each_fault_changes_the_answers_that_it_names_and_no_others() {
    use AnswerFault as F;
    let table = [
        (F::NotFoundText, "404", "404", "404", true, "served"),
        (F::NotFoundOther, "404 of another", "404 of another", "404 of another", true, "served"),
        (F::EmptyList, "", "a", "b", true, "served"),
        (F::PartialList, "b", "a", "b", true, "served"),
        (F::Unreadable, "Abc", "A", "b", true, "served"),
        (F::Forbidden, "403 Forbidden", "403 Forbidden", "403 Forbidden", true, "served"),
        (F::NotServed, "404", "404", "404", false, "not served"),
        (F::CrdGone, "404", "404", "404", false, "gone"),
        (F::OldList, "ab", "a", "b", true, "served"),
        (F::WatchDeleted, "abc", "a", "b", true, "served"),
    ];
    assert_eq!(table.map(|row| row.0), AnswerFault::ALL);
    for (fault, listed, got, patched, is_discovered, defined) in table {
        let (_, absence, client) = behind(fault).await;
        let seen = async || {
            let (list, get) = (list(&client).await, get(&client).await);
            let (discovered, definition) = (discovered(&client).await, definition(&client).await);
            (list, get, patch(&client).await, discovered, definition)
        };
        absence.begin();
        let expected = (listed.to_owned(), got.to_owned(), patched.to_owned(), is_discovered, defined);
        assert_eq!(seen().await, expected, "{fault}");
        absence.over();
        let all = ("abc".to_owned(), "a".to_owned(), "b".to_owned(), true, "served");
        assert_eq!(seen().await, all, "{fault} is over");
    }
}

/// What a watch reports that is open when a fault begins and ends, until the server closes it.
#[tokio::test(start_paused = true)]
async fn open_watches_deliver_the_beginning_and_the_end() {
    use AnswerFault as F;
    let table = [
        (F::NotFoundText, "begin closed"),
        (F::NotFoundOther, "begin closed"),
        (F::EmptyList, "begin expired"),
        (F::PartialList, "begin expired"),
        (F::Unreadable, "begin applied A applied b applied A end expired"),
        (F::Forbidden, "begin closed"),
        (F::NotServed, "begin closed"),
        (F::CrdGone, "begin closed"),
        (F::OldList, "begin expired"),
        (
            F::WatchDeleted,
            "begin deleted a deleted b deleted c applied b applied a end applied a applied b applied c",
        ),
    ];
    assert_eq!(table.map(|row| row.0), AnswerFault::ALL);
    for (fault, expected) in table {
        assert_eq!(watched(fault).await, expected, "{fault}");
    }
}

async fn watched(fault: AnswerFault) -> String {
    let (server, absence, client) = behind(fault).await;
    let others = ApiClient::new(kube::Client::new(server, "default"), "others");
    let page = others.list_page::<Value>(&pools(), "", Detail::Whole, None).await.unwrap();
    let version = page.metadata.resource_version.unwrap();
    let mut stream = client.watch(&pools(), "", Detail::Whole, &version).await.unwrap();
    absence.begin();
    let mut reported = "begin".to_owned();
    for step in ["", "b", "a", "end"] {
        match step {
            "" => {}
            "end" => {
                absence.over();
                reported.push_str(" end");
            }
            name => {
                let change = json!({"metadata": {"labels": {"l": name}}});
                others.merge_patch(&pools(), &pool(name), None, &change).await.unwrap();
            }
        }
        let quiet = std::time::Duration::from_secs(1);
        while let Ok(event) = tokio::time::timeout(quiet, stream.next::<Value>()).await {
            match event {
                Ok(Some(WatchEvent::Applied(object))) => {
                    reported.push_str(&format!(" applied {}", names(&[object])))
                }
                Ok(Some(WatchEvent::Deleted(object))) => {
                    reported.push_str(&format!(" deleted {}", names(&[object])))
                }
                Ok(None) => return format!("{reported} closed"),
                Err(ApiError::Expired { .. }) => return format!("{reported} expired"),
                other => panic!("{other:?}"),
            }
        }
    }
    reported
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_opened_during_the_fault_reports_deletions_at_once() {
    let (_, absence, client) = behind(AnswerFault::WatchDeleted).await;
    absence.begin();
    let mut stream = client.watch(&pools(), "", Detail::Metadata, "1").await.unwrap();
    let first = stream.next::<Value>().await.unwrap();
    assert!(matches!(first, Some(WatchEvent::Deleted(object)) if object["kind"] == "PartialObjectMetadata"));
}

#[tokio::test(start_paused = true)]
async fn a_fault_begins_before_the_write_that_it_was_set_to() {
    let (server, _, _) = behind(AnswerFault::Forbidden).await;
    let absence = Arc::new(Absence::new(pools(), AnswerFault::Forbidden, Some(2)));
    let faulty = Faulty::new(server, Arc::clone(&absence) as Arc<dyn Faults>);
    let client = ApiClient::new(kube::Client::new(faulty, "default"), "test");
    assert_eq!(patch(&client).await, "b", "not counted");
    absence.arm();
    assert_eq!([patch(&client).await, patch(&client).await], ["b", "403 Forbidden"]);
    absence.begun().await;
    assert_eq!(absence.writes(), 2);
}

/// Otherwise the fault would do nothing to a kind, and nobody would know.
#[test]
fn no_kind_of_the_provider_can_read_an_object_that_is_spoilt() {
    let mut caches = Caches::default();
    capm3_provider::kinds::register(&mut caches);
    let kinds = caches.kinds();
    assert!(kinds.len() > 10, "{kinds:?}");
    for kind in kinds {
        let mut object = json!({"apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": {"name": "whole", "namespace": "n", "resourceVersion": "5"}});
        if !kind.group.is_empty() {
            object["spec"] = json!({});
        }
        caches.feed(&kind, &object);
        assert_eq!(caches.version(&kind, &ObjectKey::new("n", "whole")), 5, "{kind}");
        object["metadata"]["name"] = json!("spoilt");
        spoil(&mut object);
        caches.feed(&kind, &object);
        assert_eq!(caches.version(&kind, &ObjectKey::new("n", "spoilt")), 0, "{kind}");
    }
}

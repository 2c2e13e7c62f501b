//! Events of a plan on the embedded API server: of what was written, also if a later write fails, and counted if they repeat.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::sync::Arc;

use capm3_apiserver::ApiServer;
use capm3_engine::{
    ApiClient, Caches, Clock, EventNote, Executor, Note, ObjectKey, Plan, ResourceKind, Write,
};
use jiff::Timestamp;
use serde_json::{Value, json};

fn core(kind: &str, plural: &str) -> ResourceKind {
    ResourceKind { group: String::new(), version: "v1".into(), kind: kind.into(), plural: plural.into() }
}

fn config_maps() -> ResourceKind {
    core("ConfigMap", "configmaps")
}

fn create(name: &str) -> Write {
    Write::Create {
        kind: config_maps(),
        key: ObjectKey::new("ns", name),
        object: json!({"metadata": {"name": name}}),
    }
}

fn event(reason: &'static str) -> EventNote {
    let mut object = capm3_api::v1beta2::Metal3Machine::default();
    object.metadata.name = Some("a".to_owned());
    object.metadata.namespace = Some("ns".to_owned());
    EventNote::normal(&object, reason, "it happened")
}

async fn started() -> (ApiServer, Executor) {
    let clock = Clock::starting_at(Timestamp::from_second(1_767_225_600).unwrap());
    let server = ApiServer::new(capm3_apiserver::Options::new(Arc::new(move || clock.now()), 1));
    let client = ApiClient::new(kube::Client::new(server.clone(), "default"), "test");
    let namespace = json!({"metadata": {"name": "ns"}});
    client.create(&core("Namespace", "namespaces"), "", namespace).await.unwrap();
    (server, Executor::new(client, Arc::new(Caches::default()), clock, "test"))
}

/// Reason and count of each event.
fn events(server: &ApiServer) -> Vec<(String, u64)> {
    let row =
        |event: &Arc<Value>| (event["reason"].as_str().unwrap().to_owned(), event["count"].as_u64().unwrap());
    server.objects_of(&["Event"]).iter().map(row).collect()
}

#[tokio::test(start_paused = true)]
async fn the_event_of_a_write_that_was_done_is_recorded_if_a_later_write_fails() {
    let (server, executor) = started().await;
    let mut plan: Plan<Note> = Plan::default();
    plan.writes.push(create("a"));
    plan.event(event("First"));
    // The name is taken by now.
    plan.writes.push(create("a"));
    plan.event(event("Second"));
    assert!(executor.act(&plan).await.is_err());
    assert_eq!(events(&server), [("First".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_repeats_is_counted() {
    let (server, executor) = started().await;
    for name in ["a", "b", "c"] {
        let mut plan: Plan<Note> = Plan::default();
        plan.writes.push(create(name));
        plan.event(event("Again"));
        executor.act(&plan).await.unwrap();
    }
    assert_eq!(events(&server), [("Again".to_owned(), 3)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_only_logged_is_no_event() {
    let (server, executor) = started().await;
    let mut plan: Plan<Note> = Plan::default();
    plan.event(event("Logged").only_logged());
    executor.act(&plan).await.unwrap();
    assert_eq!(events(&server), []);
}

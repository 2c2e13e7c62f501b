//! What an operator reads of the life of machines at level info, and that expected ends are no warnings.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "common/log.rs"]
mod log;

use std::{collections::BTreeSet, path::Path, time::Duration};

use capm3_engine::{ObjectKey, ResourceKind};
use capm3_lab::{Lab, Options, manifests};
use log::Log;
use serde_json::Value;
use tracing::subscriber::set_default;
use tracing_subscriber::EnvFilter;

/// More than anything takes that is not held up.
const LIMIT: Duration = Duration::from_secs(7200);

/// What is logged once of each machine, in order.
const MILESTONES: [&str; 5] =
    ["HostClaimed", "DataReady", "BareMetalHostProvisioned", "Ready", "HostReleased"];

fn entries(log: &Log) -> Vec<Value> {
    log.take().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Controller and id of the reconcile that logged it.
fn reconcile(entry: &Value) -> (&str, u64) {
    (text(entry, "/span/controller"), entry["span"]["reconcile_id"].as_u64().unwrap_or_default())
}

fn milestones<'a>(entries: &'a [Value], machine: &str) -> Vec<&'a Value> {
    let is_it = |entry: &&Value| {
        entry["level"] == "INFO"
            && entry["fields"]["kind"] == "Metal3Machine"
            && entry["fields"]["object"] == format!("metal3/{machine}")
            && MILESTONES.contains(&text(entry, "/fields/reason"))
    };
    entries.iter().filter(is_it).collect()
}

/// Machines come up and the Cluster is deleted: each milestone is one line that names cluster, machine and host, with the id of
/// the reconcile, whose duration is a line at debug; the deletion warns of nothing.
#[tokio::test(start_paused = true)]
async fn each_milestone_of_a_machine_is_one_line_and_a_normal_deletion_warns_of_nothing() {
    let log = Log::default();
    let (writer, filter) = (log.clone(), EnvFilter::new("info,capm3=debug"));
    let logs = tracing_subscriber::fmt().json().with_env_filter(filter);
    let _logs = set_default(logs.with_writer(move || writer.clone()).finish());
    let lab = Lab::start(&Options::default()).await.unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/three-racks");
    lab.apply(&manifests::read(&folder).unwrap()).await.unwrap();
    lab.settle(LIMIT).await;
    let host_of = |machine: &Value| {
        let host = text(machine, "/metadata/annotations/metal3.io~1BareMetalHost");
        (text(machine, "/metadata/name").to_owned(), host.trim_start_matches("metal3/").to_owned())
    };
    let machines: Vec<(String, String)> =
        lab.objects("Metal3Machine").iter().map(|machine| host_of(machine)).collect();
    assert_eq!(machines.len(), 6);
    let mut all = entries(&log);
    let clusters = ResourceKind {
        group: "cluster.x-k8s.io".to_owned(),
        version: "v1beta2".to_owned(),
        kind: "Cluster".to_owned(),
        plural: "clusters".to_owned(),
    };
    lab.client().delete(&clusters, &ObjectKey::new("metal3", "my-cluster"), None).await.unwrap();
    lab.settle(LIMIT).await;
    assert!(lab.objects("Cluster").is_empty() && lab.objects("Metal3Machine").is_empty());
    let deletion = entries(&log);
    let loud: Vec<&Value> =
        deletion.iter().filter(|entry| ["WARN", "ERROR"].contains(&text(entry, "/level"))).collect();
    assert!(loud.is_empty(), "{loud:#?}");
    all.extend(deletion);
    let ended: BTreeSet<(&str, u64)> = all
        .iter()
        .filter(|entry| entry["level"] == "DEBUG" && entry["fields"]["message"] == "reconciled")
        .inspect(|entry| assert!(text(entry, "/fields/duration").ends_with('s'), "{entry}"))
        .map(reconcile)
        .collect();
    for (machine, host) in &machines {
        let lines = milestones(&all, machine);
        let reasons: Vec<&str> = lines.iter().map(|line| text(line, "/fields/reason")).collect();
        assert_eq!(reasons, MILESTONES, "{machine}: {lines:#?}");
        for line in &lines {
            assert_eq!(line["fields"]["cluster"], "my-cluster", "{line}");
            // Before the claim is answered the machine has no host; the sentence names the one that it asks for.
            let claims = text(line, "/fields/message") == format!("host {host} is claimed");
            assert!(claims || line["fields"]["host"] == *host, "{line}");
            assert_eq!(reconcile(line).0, "metal3machine", "{line}");
            assert!(ended.contains(&reconcile(line)), "no end of the reconcile of {line}");
        }
    }
}

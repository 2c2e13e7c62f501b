//! What the provider does when machines seem to be gone: a version that is not served, a definition being deleted, a
//! restore in parts. No host of a live machine is touched.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use capm3_engine::{ObjectKey, ResourceKind, informer::KindState};
use capm3_lab::{Lab, Options, moving::Restore};
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const HOUR: Duration = Duration::from_secs(3600);

/// The hosts as they are in use: what is on them, whose they are, and their power.
fn hosts_in_use(lab: &Lab) -> BTreeMap<String, Value> {
    let hosts = lab.objects("BareMetalHost");
    let used = hosts.iter().filter(|host| host.pointer("/spec/image").is_some_and(Value::is_object));
    used.map(|host| (name(host), host["spec"].clone())).collect()
}

/// Serves v1beta2 of Metal3Machines or not.
async fn serve(lab: &Lab, is_served: bool) {
    let (definitions, key) = (ResourceKind::definitions(), metal3("Metal3Machine").definition_key());
    let definition = lab.client().get::<Value>(&definitions, &key).await.unwrap().unwrap();
    let mut versions = definition["spec"]["versions"].clone();
    for version in versions.as_array_mut().unwrap().iter_mut().filter(|version| version["name"] == "v1beta2")
    {
        version["served"] = is_served.into();
    }
    let patch = json!({"spec": {"versions": versions}});
    lab.client().merge_patch(&definitions, &key, None, &patch).await.unwrap();
}

/// How the provider sees the kind of Metal3Machines.
fn state_of_machines(lab: &Lab) -> KindState {
    lab.provider().unwrap().caches().health_of(&metal3("Metal3Machine")).unwrap().state()
}

/// A botched upgrade: the version that the provider reads is not served any more, and the provider restarts.
#[tokio::test(start_paused = true)]
async fn hosts_of_live_machines_are_not_touched_while_their_version_is_not_served() {
    let options =
        Options { release_orphaned_hosts_after: Some(Duration::from_secs(5)), ..Options::default() };
    let mut lab = Lab::start(&options).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    let before = hosts_in_use(&lab);
    assert_eq!(before.len(), 6);
    lab.stop_providers();
    serve(&lab, false).await;
    lab.start_provider();
    tokio::time::sleep(3 * HOUR).await;
    assert_eq!(hosts_in_use(&lab), before);
    assert!(matches!(state_of_machines(&lab), KindState::NotServed(_)), "{}", state_of_machines(&lab));
    let reported = events(&lab, "HostOrphaned");
    assert_eq!(reported.len(), 6, "{reported:?}");
    assert!(reported[0].contains("cannot be read: the kind is not served"), "{reported:?}");
    serve(&lab, true).await;
    tokio::time::sleep(HOUR).await;
    rest(&lab).await;
    assert_eq!(hosts_in_use(&lab), before);
    assert_eq!(state_of_machines(&lab), KindState::Synced);
    assert_eq!(lab.provider().unwrap().orphaned_hosts(), 0);
    for machine in lab.objects("Metal3Machine") {
        assert_eq!(condition(&machine, "Ready").0, "True", "{machine}");
    }
}

/// The same without a restart: what is known is kept.
#[tokio::test(start_paused = true)]
async fn a_version_that_is_switched_off_under_a_running_provider_changes_nothing() {
    let lab = settled(&three_racks()).await;
    let before = hosts_in_use(&lab);
    serve(&lab, false).await;
    tokio::time::sleep(HOUR).await;
    assert_eq!(hosts_in_use(&lab), before);
    assert!(!state_of_machines(&lab).is_healthy());
    serve(&lab, true).await;
    tokio::time::sleep(HOUR).await;
    rest(&lab).await;
    assert_eq!(hosts_in_use(&lab), before);
}

/// The deletion of the definition marks every machine as deleted, though nobody wants the hosts wiped.
#[tokio::test(start_paused = true)]
async fn no_host_is_cleared_while_the_definition_of_machines_is_being_deleted() {
    let lab = settled(&three_racks()).await;
    let before = hosts_in_use(&lab);
    let (definitions, key) = (ResourceKind::definitions(), metal3("Metal3Machine").definition_key());
    lab.client().delete(&definitions, &key, None).await.unwrap();
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 6);
    for machine in &machines {
        assert!(
            machine.pointer("/metadata/deletionTimestamp").is_some(),
            "marked with its definition: {machine}"
        );
    }
    tokio::time::sleep(HOUR).await;
    assert_eq!(hosts_in_use(&lab), before);
    for machine in lab.objects("Metal3Machine") {
        let printed = machine.pointer("/status/conditions").unwrap().to_string();
        assert!(printed.contains("CustomResourceDefinition of Metal3Machine is being deleted"), "{printed}");
    }
    assert_eq!(events(&lab, "HostRefused").len(), 6);
}

/// Where a backup is restored: an empty management cluster, an hour old.
async fn empty() -> Lab {
    let lab = Lab::start(&Options { seed: 7, ..Options::default() }).await.unwrap();
    tokio::time::sleep(HOUR).await;
    lab
}

/// A host as the backup has it: its operator reads the status from the annotation.
fn with_status(origin: &Lab) -> impl Fn(&mut Value) {
    let hosts = origin.objects("BareMetalHost");
    let status: BTreeMap<String, String> =
        hosts.iter().map(|host| (name(host), host["status"].to_string())).collect();
    move |object| {
        if let (Some(status), "BareMetalHost") = (status.get(&name(object)), text(object, "/kind").as_str()) {
            object["metadata"]["annotations"]["baremetalhost.metal3.io/status"] = status.as_str().into();
        }
        if text(object, "/kind") == "Cluster" {
            object["spec"]["paused"] = true.into();
        }
    }
}

/// Hosts, with what belongs to no cluster.
fn is_host_or_its_own(object: &Value) -> bool {
    match text(object, "/kind").as_str() {
        "Namespace" | "BareMetalHost" => true,
        "Secret" => object.pointer("/metadata/ownerReferences").is_none(),
        _ => false,
    }
}

fn is_no_host(object: &Value) -> bool {
    text(object, "/kind") != "BareMetalHost"
}

fn cluster() -> ObjectKey {
    ObjectKey::new("metal3", "my-cluster")
}

/// Every machine is ready on the host that it had, and no host was provisioned again.
fn assert_as_before(origin: &Lab, lab: &Lab) {
    assert_eq!(hosts_in_use(lab), hosts_in_use(origin));
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 6);
    for machine in &machines {
        assert_eq!(condition(machine, "Ready").0, "True", "{machine}");
        assert_eq!(host_of(machine), host_of(&get(origin, "Metal3Machine", &name(machine))));
    }
    for host in lab.objects("BareMetalHost") {
        let start = "/status/operationHistory/provision/start";
        assert_eq!(text(&host, start), text(&get(origin, "BareMetalHost", &name(&host)), start));
    }
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_restored_an_hour_before_their_machines_are_kept_for_them() {
    let (origin, lab) = (settled(&three_racks()).await, empty().await);
    let (mut restore, change) = (Restore::default(), with_status(&origin));
    restore.bring(&origin, &lab, "metal3", is_host_or_its_own, &change).await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(hosts_in_use(&lab), hosts_in_use(&origin));
    assert_eq!(lab.provider().unwrap().orphaned_hosts(), 6);
    let reported = events(&lab, "HostOrphaned");
    assert_eq!(reported.len(), 6, "{reported:?}");
    assert!(reported[0].contains("capm3 release host/"), "{reported:?}");
    restore.bring(&origin, &lab, "metal3", |_| true, &change).await.unwrap();
    restore.bring_nodes(&origin, &lab, &cluster()).await.unwrap();
    rest(&lab).await;
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    assert_as_before(&origin, &lab);
    assert_eq!(lab.provider().unwrap().orphaned_hosts(), 0);
}

#[tokio::test(start_paused = true)]
async fn machines_that_are_restored_before_their_hosts_wait_for_them() {
    let (origin, lab) = (settled(&three_racks()).await, empty().await);
    let (mut restore, change) = (Restore::default(), with_status(&origin));
    restore.bring(&origin, &lab, "metal3", is_no_host, &change).await.unwrap();
    restore.bring_nodes(&origin, &lab, &cluster()).await.unwrap();
    rest(&lab).await;
    pause_cluster(&lab, false).await;
    tokio::time::sleep(HOUR).await;
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 6);
    for machine in &machines {
        let printed = machine.pointer("/status/conditions").unwrap().to_string();
        assert!(
            printed.contains(&format!("BareMetalHost {} of this machine is not found", host_of(machine))),
            "{printed}"
        );
    }
    restore.bring(&origin, &lab, "metal3", |_| true, &change).await.unwrap();
    rest(&lab).await;
    assert_as_before(&origin, &lab);
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_restored_without_their_machines_stay_and_are_reported_every_hour() {
    let (origin, lab) = (settled(&three_racks()).await, empty().await);
    let (mut restore, change) = (Restore::default(), with_status(&origin));
    restore.bring(&origin, &lab, "metal3", is_host_or_its_own, &change).await.unwrap();
    tokio::time::sleep(24 * HOUR).await;
    assert_eq!(hosts_in_use(&lab), hosts_in_use(&origin));
    let events = lab.objects("Event");
    let reports: Vec<&Arc<Value>> = events.iter().filter(|e| text(e, "/reason") == "HostOrphaned").collect();
    assert_eq!(reports.len(), 6);
    for report in reports {
        let count = report["count"].as_u64().unwrap();
        assert!((23..=25).contains(&count), "{count} times in a day: {report}");
    }
}

/// The backup of the machines is older than their claim on a host: they know nothing of it.
#[tokio::test(start_paused = true)]
async fn machines_from_a_backup_older_than_their_claim_wait_until_somebody_tells_them() {
    let (origin, lab) = (settled(&three_racks()).await, empty().await);
    let (mut restore, change) = (Restore::default(), with_status(&origin));
    let older = |object: &mut Value| {
        change(object);
        if text(object, "/kind") == "Metal3Machine" {
            object["metadata"]["annotations"].as_object_mut().unwrap().remove("metal3.io/BareMetalHost");
            object["spec"].as_object_mut().unwrap().remove("providerID");
        }
    };
    restore.bring(&origin, &lab, "metal3", |_| true, older).await.unwrap();
    restore.bring_nodes(&origin, &lab, &cluster()).await.unwrap();
    rest(&lab).await;
    pause_cluster(&lab, false).await;
    tokio::time::sleep(HOUR).await;
    assert_eq!(hosts_in_use(&lab), hosts_in_use(&origin));
    let machines = lab.objects("Metal3Machine");
    assert_eq!(machines.len(), 6);
    for machine in &machines {
        assert_eq!(text(machine, HOST), "");
        let printed = machine.pointer("/status/conditions").unwrap().to_string();
        assert!(
            printed.contains(
                "is this machine and the host is in use, but this machine does not record the host"
            ),
            "{printed}"
        );
        let record = get(&origin, "Metal3Machine", &name(machine))["metadata"]["annotations"]
            ["metal3.io/BareMetalHost"]
            .clone();
        patch_machine(
            &lab,
            &name(machine),
            json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": record}}}),
        )
        .await;
    }
    rest(&lab).await;
    assert_as_before(&origin, &lab);
}

/// The same where the hosts come later still: no machine takes a free host instead of the one that it had.
#[tokio::test(start_paused = true)]
async fn machines_without_a_record_whose_data_is_there_take_no_free_host() {
    let (origin, lab) = (settled(&three_racks()).await, empty().await);
    let (mut restore, change) = (Restore::default(), with_status(&origin));
    let used = hosts_in_use(&origin);
    let older = |object: &mut Value| {
        change(object);
        if text(object, "/kind") == "Metal3Machine" {
            object["metadata"]["annotations"].as_object_mut().unwrap().remove("metal3.io/BareMetalHost");
            object["spec"].as_object_mut().unwrap().remove("providerID");
        }
    };
    restore.bring(&origin, &lab, "metal3", is_no_host, older).await.unwrap();
    let free: Vec<Arc<Value>> =
        origin.objects("BareMetalHost").into_iter().filter(|host| !used.contains_key(&name(host))).collect();
    assert!(!free.is_empty(), "there are hosts to be tempted by");
    for host in &free {
        let spare = json!({"metadata": {"name": name(host), "namespace": "metal3", "labels": host["metadata"]["labels"]},
            "spec": host["spec"]});
        let kind = ResourceKind {
            group: "metal3.io".into(),
            version: "v1alpha1".into(),
            kind: "BareMetalHost".into(),
            plural: "baremetalhosts".into(),
        };
        lab.client().create(&kind, "metal3", spare).await.unwrap();
    }
    rest(&lab).await;
    pause_cluster(&lab, false).await;
    tokio::time::sleep(HOUR).await;
    assert_eq!(lab.objects("BareMetalHost").len(), free.len());
    for host in lab.objects("BareMetalHost") {
        assert_eq!(host.pointer("/spec/consumerRef"), None, "{host}");
    }
    for machine in lab.objects("Metal3Machine") {
        let printed = machine.pointer("/status/conditions").unwrap().to_string();
        assert!(
            printed.contains("exists), but no BareMetalHost has a spec.consumerRef to this machine"),
            "{printed}"
        );
    }
}

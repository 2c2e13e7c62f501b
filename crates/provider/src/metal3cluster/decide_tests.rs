//! Tables of decisions about a Metal3Cluster.

use std::sync::Arc;

use capm3_api::neighbours::Cluster;
use capm3_engine::Write;
use serde_json::{Value, json};

use super::*;
use crate::plan::waits_for;

fn snapshot(metal3_cluster: Value, cluster: Option<Value>, machines: usize) -> ClusterSnapshot {
    let read = |v: Value| Arc::new(serde_json::from_value(v).unwrap());
    ClusterSnapshot {
        metal3_cluster: read(metal3_cluster),
        owner: Some("c".into()),
        cluster: cluster.map(|c| Arc::new(serde_json::from_value::<Cluster>(c).unwrap())),
        machines,
        is_proven_empty: true,
    }
}

fn good() -> Value {
    json!({"metadata": {"namespace": "n", "name": "c", "generation": 1, "resourceVersion": "1"},
        "spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}, "failureDomains": [{"name": "rack1"}]}})
}

fn deleting() -> Value {
    let mut object = good();
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    object["metadata"]["finalizers"] = json!([finalizer::CLUSTER]);
    object
}

fn patched(plan: &Plan, pointer: &str) -> Value {
    let found = plan.writes.iter().find_map(|w| match w {
        Write::Patch { patch, .. } => patch.pointer(pointer).cloned(),
        _ => None,
    });
    found.unwrap_or(Value::Null)
}

fn condition_of(plan: &Plan, type_: &str) -> Value {
    let conditions = patched(plan, "/status/conditions");
    conditions.as_array().into_iter().flatten().find(|c| c["type"] == type_).cloned().unwrap_or_default()
}

/// The object after the plan was carried out.
fn applied(mut object: Value, plan: &Plan) -> Value {
    for write in &plan.writes {
        let Write::Patch { patch, .. } = write else { panic!("only patches") };
        json_patch::merge(&mut object, patch);
    }
    object
}

/// With an owner Cluster, an endpoint host and a port, the Metal3Cluster becomes provisioned.
#[test]
fn cl1_a_valid_endpoint_makes_it_provisioned() {
    let plan = decide(&snapshot(good(), Some(json!({})), 0), "t");
    assert_eq!(patched(&plan, "/status/initialization/provisioned"), json!(true));
    assert_eq!(condition_of(&plan, "Ready")["status"], "True");
}

/// The annotation with the prefixes is judged here: a condition says whether it can be read, and an event once that it cannot.
#[test]
fn ls130_the_annotations_of_label_sync_have_a_condition() {
    const KEY: &str = "metal3.io/metal3-label-sync-prefixes";
    let mut object = good();
    let mut result = |value: Value| {
        let annotations = if value.is_null() { json!({}) } else { json!({KEY: value}) };
        object["metadata"]["annotations"] = annotations;
        let plan = decide(&snapshot(object.clone(), Some(json!({})), 0), "t");
        object = applied(object.clone(), &plan);
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let printed = conditions.into_iter().find(|c| c["type"] == "LabelSyncActive").unwrap_or_default();
        let events: Vec<String> = plan.events.iter().map(|e| e.message.clone()).collect();
        let ready = object["status"]["conditions"][0]["status"].clone();
        assert_eq!(ready, "True", "labels are no reason to be not ready");
        (printed["status"].clone(), printed["reason"].clone(), events)
    };
    assert_eq!(result(Value::Null), (Value::Null, Value::Null, vec![]), "nobody asked");
    assert_eq!(result(json!("a.b,c")), (json!("True"), json!("Active"), vec![]));
    let problem = "annotation metal3.io/metal3-label-sync-prefixes: invalid prefix (B): it must be a DNS name of lower-case \
                   letters, digits, '-' and '.', without a slash";
    let invalid = |events| (json!("False"), json!("InvalidAnnotation"), events);
    assert_eq!(result(json!("a,B")), invalid(vec![problem.to_owned()]));
    assert_eq!(result(json!("a,B")), invalid(vec![]), "reported once");
    assert_eq!(result(json!("")), (json!("True"), json!("Active"), vec![]));
    assert_eq!(result(Value::Null), (json!("False"), json!("NotRequested"), vec![]));
}

/// An endpoint without host or port gives the failure reason `InvalidConfiguration` and a condition that names what is
/// missing. It is tried again when the object changes, not by the clock: nothing else can help. Both go when the endpoint is
/// complete.
#[test]
fn cl2_a_missing_member_of_the_endpoint_is_named_and_the_failure_goes_with_its_cause() {
    let mut object = good();
    object["spec"]["controlPlaneEndpoint"] = json!({"host": "h"});
    let plan = decide(&snapshot(object.clone(), Some(json!({})), 0), "t");
    let printed = condition_of(&plan, condition::INFRASTRUCTURE_READY);
    assert_eq!(
        (printed["status"].as_str(), printed["reason"].as_str()),
        (Some("False"), Some("InvalidConfiguration"))
    );
    assert!(printed["message"].as_str().unwrap().contains("[ControlPlaneEndpoint.Port]"), "{printed}");
    assert_eq!(patched(&plan, "/status/deprecated/v1beta1/failureReason"), "InvalidConfiguration");
    assert_eq!(
        waits_for(&plan),
        "Invalid Metal3Cluster provided: missing fields from Spec: [ControlPlaneEndpoint.Port]",
        "not given up"
    );
    let mut mended = applied(object, &plan);
    mended["spec"] = good()["spec"].clone();
    let plan = decide(&snapshot(mended.clone(), Some(json!({})), 0), "later");
    let healed = applied(mended, &plan);
    assert_eq!(healed.pointer("/status/deprecated/v1beta1/failureReason"), None);
}

/// An endpoint without host or port gives the failure reason `InvalidConfiguration` and a message with the missing
/// member.
#[test]
fn s15_an_endpoint_without_host_is_an_invalid_configuration() {
    let mut object = good();
    object["spec"]["controlPlaneEndpoint"] = json!({"port": 6443});
    let plan = decide(&snapshot(object, Some(json!({})), 0), "t");
    assert_eq!(patched(&plan, "/status/deprecated/v1beta1/failureReason"), "InvalidConfiguration");
    assert!(plan.to_string().contains("[ControlPlaneEndpoint.Host]"));
}

/// An endpoint that no host owns yet is accepted and never probed: what is decided depends on the object alone.
#[test]
fn s20_an_endpoint_is_never_probed() {
    let mut object = good();
    object["spec"]["controlPlaneEndpoint"] = json!({"host": "203.0.113.200", "port": 6443});
    let plan = decide(&snapshot(object, Some(json!({})), 0), "t");
    assert_eq!(patched(&plan, "/status/initialization/provisioned"), json!(true));
}

/// Without an owner Cluster nothing changes but the copy of the failure domains, and nothing is tried again.
#[test]
fn cl3_without_owner_only_the_failure_domains_are_copied() {
    let plan = decide(&ClusterSnapshot { owner: None, ..snapshot(good(), None, 0) }, "t");
    assert_eq!(patched(&plan, "/status/failureDomains"), json!([{"name": "rack1"}]));
    assert_eq!(patched(&plan, "/status/conditions"), Value::Null);
    assert_eq!(patched(&plan, "/metadata/finalizers"), Value::Null);
    assert!(matches!(plan.end, End::WaitFor(_)));
}

/// An owner Cluster that is named and not there is reported in both generations of conditions and as a failure; a cluster that
/// is new waits without a status write first, and all of it goes when the Cluster comes.
#[test]
fn an_owner_that_is_named_and_not_there_is_reported_until_it_comes() {
    let mut object = good();
    object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    let early = decide(&snapshot(object.clone(), None, 0), "2026-01-01T00:00:02Z");
    assert_eq!(patched(&early, "/status/conditions"), Value::Null, "it may come yet");
    assert_eq!(early.end, End::After(std::time::Duration::from_secs(3)));
    let reported = decide(&snapshot(object.clone(), None, 0), "2026-01-01T00:01:00Z");
    assert_eq!(waits_for(&reported), "Cluster c of the owner reference does not exist");
    let printed = condition_of(&reported, condition::INFRASTRUCTURE_READY);
    assert_eq!(
        (printed["status"].as_str(), printed["reason"].as_str()),
        (Some("False"), Some("FailedToGetOwnerCluster"))
    );
    assert_eq!(printed["message"], "Cluster c of the owner reference does not exist");
    assert_eq!(condition_of(&reported, "Ready")["status"], "False");
    let legacy = patched(&reported, "/status/deprecated/v1beta1");
    assert_eq!(legacy["failureReason"], "InvalidConfiguration");
    assert_eq!(legacy["failureMessage"], "Unable to get owner cluster");
    let old = legacy["conditions"].as_array().unwrap().iter();
    let old: Vec<_> = old.filter(|c| c["reason"] == "InternalFailureOccured").collect();
    assert_eq!(old.len(), 2, "the condition and its summary: {legacy}");
    assert_eq!(old[0]["severity"], "Error");
    let mute = applied(object, &reported);
    assert!(decide(&snapshot(mute.clone(), None, 0), "2026-01-01T00:02:00Z").is_quiet(), "reported once");
    let healed = decide(&snapshot(mute.clone(), Some(json!({})), 0), "2026-01-01T00:03:00Z");
    let healed = applied(mute, &healed);
    assert_eq!(healed.pointer("/status/deprecated/v1beta1/failureReason"), None);
    assert_eq!(healed.pointer("/status/initialization/provisioned"), Some(&json!(true)));
    assert!(!healed.to_string().contains("FailedToGetOwnerCluster"), "{healed}");
}

/// The finalizer is stored before provisioned is reported.
#[test]
fn cl4_the_finalizer_comes_before_provisioned() {
    let plan = decide(&snapshot(good(), Some(json!({})), 0), "t");
    let position = |pointer: &str| {
        plan.writes
            .iter()
            .position(|w| matches!(w, Write::Patch { patch, .. } if patch.pointer(pointer).is_some()))
    };
    assert_eq!(patched(&plan, "/metadata/finalizers"), json!([finalizer::CLUSTER]));
    assert!(position("/metadata/finalizers") < position("/status/initialization"));
}

/// Deletion waits while a Machine of the cluster exists, then the finalizer goes; the Cluster need not exist.
#[test]
fn cl5_deletion_waits_for_machines_and_needs_no_cluster() {
    let waiting = decide(&snapshot(deleting(), None, 2), "t");
    assert_eq!(waits_for(&waiting), "waiting for 2 Machines to be deleted");
    assert_eq!(condition_of(&waiting, "Ready")["reason"], "Deleting");
    let gone = decide(&snapshot(deleting(), None, 0), "t");
    assert_eq!(patched(&gone, "/metadata/finalizers"), json!([]));
}

/// Failure domains are mirrored from spec to status; removing them clears the status.
#[test]
fn cl6_failure_domains_are_mirrored_and_cleared() {
    let plan = decide(&snapshot(good(), Some(json!({})), 0), "t");
    let mut object = applied(good(), &plan);
    assert_eq!(object["status"]["failureDomains"], json!([{"name": "rack1"}]));
    object["spec"].as_object_mut().unwrap().remove("failureDomains");
    let plan = decide(&snapshot(object.clone(), Some(json!({})), 0), "t");
    assert_eq!(applied(object, &plan)["status"].get("failureDomains"), None);
}

/// Conditions in the Kubernetes form carry the generation and stand beside those in the older form.
#[test]
fn cl7_conditions_of_both_generations_are_written() {
    let plan = decide(&snapshot(good(), Some(json!({})), 0), "t");
    for type_ in ["Ready", "BaremetalInfrastructureReady", "Paused"] {
        assert_eq!(condition_of(&plan, type_)["observedGeneration"], 1, "{type_}");
    }
    assert_eq!(legacy(&plan), [("Ready", "True"), ("BaremetalInfrastructureReady", "True")].map(owned));
    let mut bad = good();
    bad["spec"]["controlPlaneEndpoint"] = json!({"port": 6443});
    let plan = decide(&snapshot(bad, Some(json!({})), 0), "t");
    assert_eq!(condition_of(&plan, "Ready")["status"], "False");
    assert_eq!(legacy(&plan), [("Ready", "False"), ("BaremetalInfrastructureReady", "False")].map(owned));
}

fn owned((type_, status): (&str, &str)) -> (String, String) {
    (type_.to_owned(), status.to_owned())
}

/// Type and status of each condition in the older form.
fn legacy(plan: &Plan) -> Vec<(String, String)> {
    let conditions = patched(plan, "/status/deprecated/v1beta1/conditions");
    let text = |c: &Value, member: &str| c[member].as_str().unwrap_or_default().to_owned();
    conditions.as_array().unwrap().iter().map(|c| (text(c, "type"), text(c, "status"))).collect()
}

/// While it waits for Machines, it does not report a pause that is over, and both generations say that it goes.
#[test]
fn a_cluster_that_goes_says_so_in_both_generations() {
    let mut object = deleting();
    object["metadata"]["annotations"] = json!({annotation::PAUSED: ""});
    let paused = applied(object.clone(), &decide(&snapshot(object, None, 2), "t"));
    let mut woken = paused;
    woken["metadata"]["annotations"] = json!({});
    let plan = decide(&snapshot(woken, None, 2), "t2");
    assert_eq!(condition_of(&plan, condition::PAUSED)["status"], "False");
    let legacy = patched(&plan, "/status/deprecated/v1beta1/conditions");
    let ready = legacy.as_array().unwrap().iter().find(|c| c["type"] == "Ready").unwrap();
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("Deleting")));
}

/// The condition `Paused` shows the cause, Cluster or annotation or both; nothing else happens, not even deletion.
#[test]
fn cl8_a_pause_shows_its_cause_and_stops_everything() {
    let mut noted = good();
    noted["metadata"]["annotations"] = json!({annotation::PAUSED: ""});
    for (object, paused, causes) in [
        (good(), true, "Cluster spec.paused is set to true"),
        (noted.clone(), false, "Metal3Cluster has the cluster.x-k8s.io/paused annotation"),
        (
            noted,
            true,
            "Cluster spec.paused is set to true, Metal3Cluster has the cluster.x-k8s.io/paused annotation",
        ),
    ] {
        let plan = decide(&snapshot(object, Some(json!({"spec": {"paused": paused}})), 0), "t");
        assert_eq!(condition_of(&plan, "Paused")["message"], causes);
        assert_eq!(patched(&plan, "/status/initialization"), Value::Null);
    }
    let stays = decide(&snapshot(deleting(), Some(json!({"spec": {"paused": true}})), 0), "t");
    assert_eq!(patched(&stays, "/metadata/finalizers"), Value::Null);
}

/// A Metal3Cluster that is managed by somebody else is left alone.
#[test]
fn cl11_an_externally_managed_cluster_is_left_alone() {
    let mut object = good();
    object["metadata"]["annotations"] = json!({annotation::MANAGED_BY: "somebody"});
    assert!(decide(&snapshot(object, Some(json!({})), 0), "t").is_quiet());
}

/// What the controller wrote itself leads to no further write.
#[test]
fn cl12_a_second_pass_writes_nothing() {
    let first = decide(&snapshot(good(), Some(json!({})), 0), "t");
    let object = applied(good(), &first);
    assert!(decide(&snapshot(object, Some(json!({})), 0), "later").is_quiet());
}

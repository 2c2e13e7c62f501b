//! What to do with a Metal3Cluster.

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Initialization, Metal3Cluster},
    vocabulary::{annotation, condition, finalizer, reason},
};
use capm3_engine::{End, Plan};

use super::Snapshot;
use crate::{
    conditions::{self, Severity, Stamp},
    finalizers::{add_finalizer, remove_finalizer},
};

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &Snapshot, now: &str) -> Plan {
    let old = snapshot.metal3_cluster.as_ref();
    let mut new = old.clone();
    let end = judge(snapshot, &mut new, now);
    let content_changed = {
        let mut before = old.status.clone();
        before.last_updated.clone_from(&new.status.last_updated);
        before != new.status
    };
    if content_changed {
        new.status.last_updated = Some(now.to_owned());
    }
    let mut plan = Plan::done();
    plan.update(old, &new);
    plan.ending(end)
}

fn judge(snapshot: &Snapshot, new: &mut Metal3Cluster, now: &str) -> End {
    if new.metadata.annotation(annotation::MANAGED_BY).is_some() {
        return End::Done;
    }
    if new.metadata.is_deleting() {
        return delete(snapshot, new, now);
    }
    let Some(owner) = &snapshot.owner else {
        return End::WaitFor("an owner reference to a Cluster".to_owned());
    };
    let Some(cluster) = &snapshot.cluster else {
        return End::WaitFor(format!("Cluster {owner}"));
    };
    let causes = pause_causes(new, cluster.is_paused());
    let stamp = Stamp { now, generation: new.metadata.generation };
    new.status.failure_domains.clone_from(&new.spec.failure_domains);
    if !causes.is_empty() {
        conditions::set(
            &mut new.status.conditions,
            stamp,
            condition::PAUSED,
            true,
            reason::PAUSED,
            causes.join(", "),
        );
        return End::WaitFor("the end of the pause".to_owned());
    }
    conditions::set(&mut new.status.conditions, stamp, condition::PAUSED, false, reason::NOT_PAUSED, "");
    add_finalizer(&mut new.metadata, finalizer::CLUSTER);
    let end = judge_endpoint(new, stamp);
    summarise(new, stamp);
    end
}

fn pause_causes(object: &Metal3Cluster, cluster_paused: bool) -> Vec<&'static str> {
    let mut causes = Vec::new();
    if cluster_paused {
        causes.push("Cluster spec.paused is set to true");
    }
    if object.metadata.annotation(annotation::PAUSED).is_some() {
        causes.push("Metal3Cluster has the cluster.x-k8s.io/paused annotation");
    }
    causes
}

fn judge_endpoint(new: &mut Metal3Cluster, stamp: Stamp<'_>) -> End {
    let endpoint = new.spec.control_plane_endpoint.as_ref();
    let mut missing = Vec::new();
    if endpoint.and_then(|e| e.host.as_deref()).unwrap_or_default().is_empty() {
        missing.push("ControlPlaneEndpoint.Host");
    }
    if endpoint.and_then(|e| e.port).unwrap_or_default() == 0 {
        missing.push("ControlPlaneEndpoint.Port");
    }
    let type_ = condition::INFRASTRUCTURE_READY;
    let status = &mut new.status;
    if missing.is_empty() {
        status.initialization = Some(Initialization { provisioned: Some(true) });
        conditions::set(&mut status.conditions, stamp, type_, true, reason::READY, "");
        conditions::set_legacy_true(conditions::legacy(&mut status.deprecated), stamp.now, type_);
        return End::Done;
    }
    let message =
        format!("Invalid Metal3Cluster provided: missing fields from Spec: [{}]", missing.join(" "));
    conditions::set_legacy_false(
        conditions::legacy(&mut status.deprecated),
        stamp.now,
        type_,
        Severity::Error,
        reason::INVALID_CONFIGURATION,
        message.clone(),
    );
    conditions::set(&mut status.conditions, stamp, type_, false, reason::INVALID_CONFIGURATION, message);
    End::WaitFor("a complete spec.controlPlaneEndpoint".to_owned())
}

/// Keeps the object until no Machine needs it.
fn delete(snapshot: &Snapshot, new: &mut Metal3Cluster, now: &str) -> End {
    if snapshot.machines == 0 {
        remove_finalizer(&mut new.metadata, finalizer::CLUSTER);
        return End::Done;
    }
    let stamp = Stamp { now, generation: new.metadata.generation };
    // The count is left out of the message: it would cost a write for each Machine that goes.
    conditions::set(
        &mut new.status.conditions,
        stamp,
        condition::READY,
        false,
        reason::DELETING,
        "waiting for the Machines of the Cluster to be gone",
    );
    End::WaitFor(format!("{} Machines to be gone", snapshot.machines))
}

fn summarise(new: &mut Metal3Cluster, stamp: Stamp<'_>) {
    let parts = [condition::INFRASTRUCTURE_READY];
    conditions::summarise(&mut new.status.conditions, stamp, &parts);
    conditions::summarise_legacy(conditions::legacy(&mut new.status.deprecated), stamp.now, &parts);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use capm3_api::neighbours::Cluster;
    use capm3_engine::Write;
    use serde_json::{Value, json};

    use super::*;

    fn snapshot(metal3_cluster: Value, cluster: Option<Value>, machines: usize) -> Snapshot {
        let read = |v: Value| Arc::new(serde_json::from_value(v).unwrap());
        Snapshot {
            metal3_cluster: read(metal3_cluster),
            owner: Some("c".into()),
            cluster: cluster.map(|c| Arc::new(serde_json::from_value::<Cluster>(c).unwrap())),
            machines,
        }
    }

    fn good() -> Value {
        json!({"metadata": {"namespace": "n", "name": "c", "generation": 1, "resourceVersion": "1"},
            "spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}, "failureDomains": [{"name": "rack1"}]}})
    }

    fn patched(plan: &Plan, pointer: &str) -> Value {
        let found = plan.writes.iter().find_map(|w| match w {
            Write::Patch { patch, .. } => patch.pointer(pointer).cloned(),
            _ => None,
        });
        found.unwrap_or(Value::Null)
    }

    #[test]
    fn a_valid_endpoint_makes_it_provisioned_and_mirrors_failure_domains() {
        let plan = decide(&snapshot(good(), Some(json!({})), 0), "t");
        assert_eq!(patched(&plan, "/status/initialization/provisioned"), json!(true));
        assert_eq!(patched(&plan, "/status/failureDomains"), json!([{"name": "rack1"}]));
        assert_eq!(patched(&plan, "/metadata/finalizers"), json!([finalizer::CLUSTER]));
        assert_eq!(patched(&plan, "/status/conditions/0/reason"), json!("Ready"));
    }

    #[test]
    fn a_second_look_writes_nothing() {
        let first = decide(&snapshot(good(), Some(json!({})), 0), "t");
        let mut object = good();
        for write in &first.writes {
            let Write::Patch { patch, .. } = write else { panic!("only patches") };
            merge(&mut object, patch);
        }
        assert!(decide(&snapshot(object, Some(json!({})), 0), "later").is_quiet());
    }

    fn merge(target: &mut Value, patch: &Value) {
        for (key, value) in patch.as_object().unwrap() {
            if value.is_object() {
                let slot = target.as_object_mut().unwrap().entry(key.clone()).or_insert(json!({}));
                merge(slot, value);
            } else {
                target[key] = value.clone();
            }
        }
    }

    #[test]
    fn a_missing_port_is_named() {
        let mut object = good();
        object["spec"]["controlPlaneEndpoint"] = json!({"host": "h"});
        let plan = decide(&snapshot(object, Some(json!({})), 0), "t");
        let text = plan.to_string();
        assert!(text.contains("[ControlPlaneEndpoint.Port]"), "{text}");
    }

    #[test]
    fn a_paused_cluster_is_left_alone_but_says_so() {
        let plan = decide(&snapshot(good(), Some(json!({"spec": {"paused": true}})), 0), "t");
        assert_eq!(patched(&plan, "/status/conditions/0/type"), json!("Paused"));
        assert_eq!(patched(&plan, "/status/initialization"), Value::Null);
    }

    #[test]
    fn deletion_waits_for_machines_and_needs_no_cluster() {
        let mut object = good();
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object["metadata"]["finalizers"] = json!([finalizer::CLUSTER]);
        let waiting = decide(&snapshot(object.clone(), None, 2), "t");
        assert_eq!(waiting.end, End::WaitFor("2 Machines to be gone".into()));
        let gone = decide(&snapshot(object, None, 0), "t");
        assert_eq!(patched(&gone, "/metadata/finalizers"), json!([]));
    }
}

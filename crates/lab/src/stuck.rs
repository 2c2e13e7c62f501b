//! Why something does not get on: for each machine what it waits for, and each host with the reason it was not taken.

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Machine};
use capm3_engine::Object;
use capm3_provider::metal3machine::{self, Reported, Stage};
use serde_json::Value;

use crate::Lab;

/// A machine that is not provisioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckMachine {
    /// Name of the Metal3Machine.
    pub name: String,
    /// What it waits for.
    pub reported: Reported,
    /// Hosts with the reason they were not taken, where it waits for a host.
    pub hosts: Vec<String>,
}

/// An owner of machines that has fewer ready ones than it wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortOwner {
    /// Kind and name.
    pub owner: String,
    /// Wanted replicas.
    pub wanted: i64,
    /// Machines that are ready.
    pub ready: i64,
    /// What it needs before it can make machines and is not there.
    pub missing: Vec<String>,
}

/// Machines that are not provisioned, by name: the very decision that the controller made, as text.
pub fn stuck_machines(lab: &Lab) -> Vec<StuckMachine> {
    let Some(provider) = lab.provider() else {
        return Vec::new();
    };
    let machines = lab.objects("Metal3Machine");
    let machines =
        machines.iter().filter_map(|o| serde_json::from_value::<Metal3Machine>(o.as_ref().clone()).ok());
    machines
        .filter_map(|machine| {
            let glance = metal3machine::glance(provider.caches().as_ref(), &machine.key())?;
            let reported = glance.reported(provider.caches().as_ref())?;
            let hosts = match glance.decision.stage {
                Stage::Host => metal3machine::choose_host(&glance.snapshot).verdicts,
                _ => Vec::new(),
            };
            let hosts = hosts.iter().map(ToString::to_string).collect();
            Some(StuckMachine { name: machine.metadata.name_str().to_owned(), reported, hosts })
        })
        .collect()
}

/// Control planes and deployments that have fewer ready machines than they want.
pub fn short_owners(lab: &Lab) -> Vec<ShortOwner> {
    let owners = ["KubeadmControlPlane", "MachineDeployment"];
    let objects = owners.iter().flat_map(|kind| lab.objects(kind).into_iter().map(move |o| (*kind, o)));
    objects
        .filter_map(|(kind, object)| {
            let number =
                |pointer: &str, or: i64| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(or);
            let (wanted, ready) = (number("/spec/replicas", 1), number("/status/readyReplicas", 0));
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let missing = || missing(lab, kind, &object);
            let owner = format!("{kind} {name}");
            (ready < wanted).then(|| ShortOwner { owner, wanted, ready, missing: missing() })
        })
        .collect()
}

/// Where owners of machines name other objects: kind and name.
const REFERENCES: [&str; 4] = [
    "/spec/machineTemplate/spec/infrastructureRef",
    "/spec/machineTemplate/infrastructureRef",
    "/spec/template/spec/infrastructureRef",
    "/spec/template/spec/bootstrap/configRef",
];

fn missing(lab: &Lab, kind: &str, owner: &Value) -> Vec<String> {
    let text =
        |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let mut missing = Vec::new();
    if kind == "KubeadmControlPlane" {
        let name = text(owner, "/metadata/name");
        let named = |cluster: &Arc<Value>| text(cluster, "/spec/controlPlaneRef/name") == name;
        if !lab.objects("Cluster").iter().any(named) {
            missing.push("no Cluster names it in spec.controlPlaneRef".to_owned());
        }
    } else if let Some(cluster) = text(owner, "/spec/clusterName")
        && lab.object("Cluster", &cluster).is_none()
    {
        missing.push(format!("Cluster {cluster} of spec.clusterName is not there"));
    }
    for reference in REFERENCES.iter().filter_map(|pointer| owner.pointer(pointer)) {
        if let (Some(kind), Some(name)) = (text(reference, "/kind"), text(reference, "/name"))
            && lab.object(&kind, &name).is_none()
        {
            missing.push(format!("{kind} {name}, from which its machines are made, is not there"));
        }
    }
    missing
}

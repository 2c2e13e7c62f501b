//! Why something does not make progress: for each machine what it waits for, and each host with the reason it was not taken.

use std::sync::Arc;

use capm3_api::{v1beta2::Metal3Machine, vocabulary::annotation};
use capm3_engine::{Object, ObjectKey};
use capm3_provider::metal3machine::{self, Reported, Stage};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Lab,
    expected::{KINDS, Owner, expected},
    report::WaitRow,
};

/// A machine that is not provisioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckMachine {
    /// Namespace and name of the Metal3Machine.
    pub key: ObjectKey,
    /// What it waits for.
    pub reported: Reported,
    /// Hosts with the reason they were not taken, where it waits for a host.
    pub hosts: Vec<String>,
}

impl StuckMachine {
    /// The same as a row of a report.
    pub fn row(&self) -> WaitRow {
        let ObjectKey { namespace, name } = self.key.clone();
        WaitRow { namespace, machine: name, wait: self.reported.clone() }
    }
}

/// An owner of machines that has fewer ready ones than it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortOwner {
    /// Who asks, for how many, and how many are ready.
    pub owner: Owner,
    /// Why it cannot have machines: a pause, and what it needs and is not there.
    pub missing: Vec<String>,
}

/// Machines that are not provisioned, by name: the very decision that the controller made, as text.
pub fn stuck_machines(lab: &Lab) -> Vec<StuckMachine> {
    let Some(provider) = lab.provider() else {
        return Vec::new();
    };
    let machines = lab.objects("Metal3Machine");
    let machines = machines.iter().filter_map(|object| Metal3Machine::deserialize(object.as_ref()).ok());
    machines
        .filter_map(|machine| {
            let preview = metal3machine::preview(provider.caches().as_ref(), &machine.key(), &[], true)?;
            let reported = preview.reported(provider.caches().as_ref())?;
            let hosts = match preview.decision.stage {
                Stage::Host => metal3machine::choose_host(&preview.snapshot).verdicts,
                _ => Vec::new(),
            };
            let hosts = hosts.iter().map(ToString::to_string).collect();
            Some(StuckMachine { key: machine.key(), reported, hosts })
        })
        .collect()
}

/// Owners that have fewer ready machines than they ask for.
pub fn short_owners(lab: &Lab) -> Vec<ShortOwner> {
    let owners = expected(&lab.server().objects_of(&KINDS)).owners;
    let short = owners.into_iter().filter(|owner| owner.ready < owner.wanted);
    short.map(|owner| ShortOwner { missing: missing(lab, &owner), owner }).collect()
}

/// Where owners of machines name what their machines are made from.
const TEMPLATES: [&str; 4] = [
    "/spec/machineTemplate/spec/infrastructureRef",
    "/spec/machineTemplate/infrastructureRef",
    "/spec/template/spec/infrastructureRef",
    "/spec/template/spec/bootstrap/configRef",
];

/// Where a Machine names its parts.
const PARTS: [&str; 2] = ["/spec/infrastructureRef", "/spec/bootstrap/configRef"];

fn missing(lab: &Lab, owner: &Owner) -> Vec<String> {
    let Some(object) = lab.object_at(owner.kind, &owner.key) else { return Vec::new() };
    let text =
        |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let is_there = |kind: &str, name: &str| {
        lab.object_at(kind, &ObjectKey::new(owner.key.namespace.clone(), name)).is_some()
    };
    let mut missing = Vec::new();
    if object.pointer("/metadata/annotations").is_some_and(|all| all.get(annotation::PAUSED).is_some()) {
        missing.push(format!("it is paused: it has the annotation {}", annotation::PAUSED));
    }
    match owner.kind {
        "KubeadmControlPlane" => {
            let names_it = |cluster: &Arc<Value>| {
                text(cluster, "/spec/controlPlaneRef/name").as_deref() == Some(&owner.key.name)
                    && text(cluster, "/metadata/namespace").as_deref() == Some(&owner.key.namespace)
            };
            if !lab.objects("Cluster").iter().any(names_it) {
                missing.push("no Cluster names it in spec.controlPlaneRef".to_owned());
            }
        }
        "Metal3Machine" => missing.push("no Machine names it in spec.infrastructureRef".to_owned()),
        _ => {
            let cluster = text(&object, "/spec/clusterName").filter(|name| !is_there("Cluster", name));
            missing.extend(cluster.map(|name| format!("Cluster {name} of spec.clusterName does not exist")));
        }
    }
    let mut look_for = |pointers: &[&str], what: &str| {
        for reference in pointers.iter().filter_map(|pointer| object.pointer(pointer)) {
            if let (Some(kind), Some(name)) = (text(reference, "/kind"), text(reference, "/name"))
                && !is_there(&kind, &name)
            {
                missing.push(format!("{kind} {name}, {what}, does not exist"));
            }
        }
    };
    match owner.kind {
        "Machine" => look_for(&PARTS, "which it names"),
        _ => look_for(&TEMPLATES, "from which its machines are made"),
    }
    missing
}

//! Why something does not get on: for each machine what it waits for, and each host with the reason it was not taken.

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Machine};
use capm3_engine::Object;
use capm3_provider::metal3machine;
use serde_json::Value;

use crate::Lab;

/// A machine that is not provisioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckMachine {
    /// Name of the Metal3Machine.
    pub name: String,
    /// What it waits for.
    pub waits_for: String,
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
            let waits_for = glance.waits_for()?;
            let waits_for = waits_for.strip_prefix("waiting for ").unwrap_or(waits_for).to_owned();
            let choice = metal3machine::choose_host(&glance.snapshot);
            let hosts = choice.verdicts.iter().map(ToString::to_string).collect();
            Some(StuckMachine { name: machine.metadata.name_str().to_owned(), waits_for, hosts })
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
            (ready < wanted).then(|| ShortOwner { owner: format!("{kind} {name}"), wanted, ready })
        })
        .collect()
}

//! What a MachineSet reports.

use capm3_api::{metadata::MetadataExt, neighbours::ContractRef};

use super::{SET_NAME, Snapshot, count, wanted};
use crate::{
    kinds::ReplicaStatus,
    metadata::{Saying, say},
};

pub(super) fn of(s: &Snapshot) -> ReplicaStatus {
    let generation = s.set.metadata.generation;
    let mut status = s.set.status.clone().unwrap_or_default();
    status.selector = Some(format!("{SET_NAME}={}", s.set.metadata.name_str()));
    status.replicas = Some(count(s.counts.there));
    status.ready_replicas = Some(count(s.counts.ready));
    status.available_replicas = Some(count(s.counts.available));
    status.up_to_date_replicas = Some(if s.is_current { count(s.counts.there) } else { 0 });
    status.observed_generation = generation;
    let missing = missing(s);
    let growth = growth(s.counts.there, wanted(&s.set), missing.as_deref());
    let scaling = Saying {
        message: &growth.message,
        ..Saying::of("ScalingUp", growth.is_growing, "ScalingUp", "NotScalingUp")
    };
    for saying in [machines_ready(s, missing.as_deref()), scaling] {
        say(&mut status.conditions, saying, &s.now, generation);
    }
    status
}

/// Without any machine Cluster API says True, with reason NoReplicas. Where a set is to have machines and cannot make any
/// that would look as if all were well, so here it is False.
fn machines_ready<'a>(s: &Snapshot, missing: Option<&'a str>) -> Saying<'a> {
    let type_ = "MachinesReady";
    match (s.counts.there, missing) {
        (0, Some(message)) if wanted(&s.set) > 0 => {
            Saying { type_, status: "False", reason: "NotReady", message }
        }
        (0, _) => Saying { type_, status: "True", reason: "NoReplicas", message: "" },
        (there, _) => Saying::of(type_, s.counts.ready == there, "Ready", "NotReady"),
    }
}

/// Which templates are not there, as a sentence.
fn missing(s: &Snapshot) -> Option<String> {
    let spec = &s.set.spec.template.spec;
    let kind = |reference: &Option<ContractRef>, is_there: bool, or: &str| {
        let reference = reference.as_ref().filter(|_| !is_there)?;
        Some(reference.kind.clone().unwrap_or_else(|| or.to_owned()))
    };
    let config = kind(&spec.bootstrap.config_ref, s.config_template.is_some(), "KubeadmConfigTemplate");
    let machine = kind(&spec.infrastructure_ref, s.template.is_some(), "Metal3MachineTemplate");
    match (config, machine) {
        (Some(config), Some(machine)) => Some(format!("{config} and {machine} do not exist")),
        (Some(kind), None) | (None, Some(kind)) => Some(format!("{kind} does not exist")),
        (None, None) => None,
    }
}

struct Growth {
    is_growing: bool,
    message: String,
}

fn growth(there: usize, wanted: usize, missing: Option<&str>) -> Growth {
    let message = match (there < wanted, missing) {
        (true, None) => format!("Scaling up from {there} to {wanted} replicas"),
        (true, Some(missing)) => {
            format!("Scaling up from {there} to {wanted} replicas is blocked because:\n* {missing}")
        }
        (false, Some(missing)) => format!("Scaling up would be blocked because {missing}"),
        (false, None) => String::new(),
    };
    Growth { is_growing: there < wanted, message }
}

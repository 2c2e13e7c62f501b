//! Who does not get the machines that they ask for, why, and what would help: in the words of `explain`.
//!
//! Takes a simulation that is at rest; gives a stop for each control plane, MachineDeployment, MachineSet or Machine that is not
//! complete. Counts are those that the owner reports.

use capm3_engine::{Memory, ObjectKey, manifests::Document};
use capm3_world::dry_run as world;
use serde_json::Value;

use super::{
    result::{Stop, StuckMachine},
    simulation::Simulation,
};
use crate::explain::{self, Advice, Explanation, Site};

/// So many machines of one owner are explained: the others wait for the same.
const EXPLAINED: usize = 5;

/// The codes that mean that no host can be taken.
const NO_HOST: &str = "CAPM3-H";

/// Somebody who asks for machines.
struct Owner {
    kind: &'static str,
    key: ObjectKey,
    wanted: u64,
    reached: u64,
    /// Machines beyond those that are wanted, such as old ones that have not gone.
    beyond: u64,
    object: Value,
    /// The label that its machines carry, with its name.
    label: &'static str,
}

/// Every stop, by kind and name.
pub(super) fn stops(simulation: &Simulation, rests: bool) -> Vec<Stop> {
    let short: Vec<Owner> =
        owners(&simulation.memory).into_iter().filter(|owner| !owner.is_complete()).collect();
    if short.is_empty() && rests {
        return Vec::new();
    }
    let site = site(&simulation.memory);
    short.iter().map(|owner| stop(simulation, &site, owner)).collect()
}

impl Owner {
    fn is_complete(&self) -> bool {
        self.reached >= self.wanted && self.beyond == 0
    }

    fn name(&self) -> String {
        format!("{}/{}", self.kind, self.key.name)
    }
}

fn owners(memory: &Memory) -> Vec<Owner> {
    let kinds = [
        ("KubeadmControlPlane", "cluster.x-k8s.io/control-plane-name"),
        ("MachineDeployment", "cluster.x-k8s.io/deployment-name"),
        ("MachineSet", "cluster.x-k8s.io/set-name"),
        ("Machine", ""),
    ];
    kinds.into_iter().flat_map(|(kind, label)| of_kind(memory, kind, label)).collect()
}

fn of_kind(memory: &Memory, kind: &'static str, label: &'static str) -> Vec<Owner> {
    let wanted = memory.caches().kinds().into_iter().find(|it| it.kind == kind);
    let objects = wanted.map(|kind| memory.values(&kind)).unwrap_or_default();
    let is_own = |object: &Value| {
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let is_controlled =
            owners.into_iter().flatten().any(|owner| owner.get("controller") == Some(&Value::Bool(true)));
        let is_going = object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
        !is_going && (!is_controlled || matches!(kind, "KubeadmControlPlane" | "MachineDeployment"))
    };
    objects.into_iter().filter(is_own).map(|object| owner(kind, label, object)).collect()
}

fn owner(kind: &'static str, label: &'static str, object: Value) -> Owner {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_u64);
    let key = ObjectKey::new(text("/metadata/namespace"), text("/metadata/name"));
    let count = |member: &str| number(&format!("/status/{member}")).unwrap_or(0);
    let (wanted, reached, beyond) = match kind {
        "Machine" => (1, u64::from(object.pointer("/status/nodeRef/name").is_some()), 0),
        _ => {
            let wanted = number("/spec/replicas").unwrap_or(1);
            let reached = count("upToDateReplicas").min(count("readyReplicas"));
            (wanted, reached, count("replicas").saturating_sub(wanted))
        }
    };
    Owner { kind, key, wanted, reached: reached.min(wanted), beyond, object, label }
}

/// Everything that is there in the end, as `explain` reads it.
fn site(memory: &Memory) -> Site {
    let kinds = memory.caches().kinds();
    let documents = kinds.iter().flat_map(|kind| {
        memory.values(kind).into_iter().map(|mut object| {
            if let Some(members) = object.as_object_mut() {
                members.insert("apiVersion".to_owned(), kind.api_version().into());
                members.insert("kind".to_owned(), kind.kind.clone().into());
            }
            Document::made("the plan", object)
        })
    });
    Site::read(&documents.collect::<Vec<_>>(), false)
}

fn stop(simulation: &Simulation, site: &Site, owner: &Owner) -> Stop {
    let stuck: Vec<(ObjectKey, Explanation)> = machines_of(&simulation.memory, owner)
        .into_iter()
        .filter_map(|key| Some((key.clone(), explain::explain(site, &key)?)))
        .filter(|(_, explanation)| explanation.stage != "Ready")
        .collect();
    let mut what_to_do = Vec::new();
    let waits_for_host = stuck.iter().any(|(_, explanation)| {
        explanation.stage == "Host" || explanation.code.is_some_and(|code| code.as_str().starts_with(NO_HOST))
    });
    if waits_for_host && owner.beyond > 0 {
        what_to_do.extend(roll_out_without_surge(owner));
    }
    let why = why(simulation, owner, stuck.is_empty());
    let more = stuck.len().saturating_sub(EXPLAINED);
    Stop {
        owner: owner.name(),
        namespace: owner.key.namespace.clone(),
        wanted: owner.wanted,
        reached: owner.reached,
        why,
        what_to_do,
        machines: stuck.into_iter().take(EXPLAINED).map(|(key, it)| machine(simulation, &key, it)).collect(),
        more,
    }
}

/// The Metal3Machines of an owner.
fn machines_of(memory: &Memory, owner: &Owner) -> Vec<ObjectKey> {
    let kind = memory.caches().kinds().into_iter().find(|it| it.kind == "Metal3Machine");
    let is_of = |object: &Value| {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if text("/metadata/namespace") != owner.key.namespace {
            return false;
        }
        match owner.kind {
            "Machine" => {
                text("/metadata/name")
                    == owner
                        .object
                        .pointer("/spec/infrastructureRef/name")
                        .and_then(Value::as_str)
                        .unwrap_or_default()
            }
            _ => {
                object
                    .pointer("/metadata/labels")
                    .and_then(|labels| labels.get(owner.label))
                    .and_then(Value::as_str)
                    == Some(&owner.key.name)
            }
        }
    };
    let all = kind.map(|kind| memory.values(&kind)).unwrap_or_default();
    let key = |object: &Value| {
        let text = |member: &str| {
            object.pointer(&format!("/metadata/{member}")).and_then(Value::as_str).unwrap_or_default()
        };
        ObjectKey::new(text("namespace"), text("name"))
    };
    all.iter().filter(|object| is_of(object)).map(key).collect()
}

/// What the owner itself waits for, and machines that it cannot replace.
fn why(simulation: &Simulation, owner: &Owner, is_alone: bool) -> Vec<String> {
    let mut why = Vec::new();
    for (controller, kind) in [
        (world::Controller::ControlPlane, "KubeadmControlPlane"),
        (world::Controller::Deployment, "MachineDeployment"),
        (world::Controller::Set, "MachineSet"),
    ] {
        let is_its = |key: &ObjectKey| {
            key.namespace == owner.key.namespace
                && (kind == owner.kind && key.name == owner.key.name
                    || kind == "MachineSet" && key.name.starts_with(&format!("{}-", owner.key.name)))
        };
        let waits = simulation.waits.iter().filter(|((of, key), _)| *of == controller && is_its(key));
        if is_alone || kind == "KubeadmControlPlane" {
            why.extend(waits.map(|((_, key), wait)| format!("{kind} {} waits for {wait}", key.name)));
        }
    }
    let given_up = machines_of(&simulation.memory, owner)
        .into_iter()
        .filter(|key| world::is_given_up(&simulation.memory, key));
    for key in given_up {
        let name = simulation.name(&key);
        why.push(match owner.kind {
            "KubeadmControlPlane" => format!(
                "Machine {name} has failed and is not replaced: without it the control plane would have no majority of healthy machines"
            ),
            "Machine" => format!("Machine {name} has failed, and nobody owns it who would replace it"),
            _ => format!("Machine {name} has failed and is not replaced"),
        });
    }
    why
}

/// A roll-out that lacks hosts for a machine beyond its number can take those of old machines.
fn roll_out_without_surge(owner: &Owner) -> Option<Advice> {
    let path = match owner.kind {
        "MachineDeployment" => "spec.rollout.strategy.rollingUpdate.maxSurge to 0 and maxUnavailable to 1",
        "KubeadmControlPlane" if owner.wanted >= 3 => "spec.rollout.strategy.rollingUpdate.maxSurge to 0",
        _ => return None,
    };
    let text = format!(
        "set {path} of {} {}: an old machine then returns its host before a new one comes",
        owner.kind, owner.key.name
    );
    Some(Advice { text, command: None })
}

fn machine(simulation: &Simulation, key: &ObjectKey, explanation: Explanation) -> StuckMachine {
    let named = |text: String| simulation.with_names(&text);
    let advice = |advice: Advice| Advice {
        text: simulation.with_names(&advice.text),
        command: advice.command.map(|command| simulation.with_names(&command)),
    };
    StuckMachine {
        machine: simulation.name(key),
        stands: named(explanation.stands),
        code: explanation.code,
        why: explanation.why.map(named),
        host_counts: explanation.host_counts,
        who: explanation.who,
        what_to_do: explanation.what_to_do.into_iter().map(advice).collect(),
    }
}

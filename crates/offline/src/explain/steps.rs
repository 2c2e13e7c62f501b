//! The way of a machine, step by step: what is done, where it stands, what comes later.

use capm3_api::{
    metadata::MetadataExt,
    vocabulary::{annotation, finalizer, host_state, label},
};
use capm3_domain::{
    host::Ownership,
    user_data::{has_user_data, user_data_secret},
};
use capm3_provider::metal3machine::{MachineSnapshot, Stage};
use serde::Serialize;

use super::pools::PoolLine;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepLine {
    /// What must be.
    pub name: &'static str,
    /// Whether it is.
    pub state: StepState,
    /// What is known of it.
    pub fact: Option<String>,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It is done.
    Done,
    /// The machine stands here.
    Here,
    /// It comes later.
    Later,
}

/// Where a machine stands, and which step is the cause of it: mostly that one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrow {
    pub(super) stage: Stage,
    pub(super) cause: Stage,
}

/// The steps; `missing` is a Secret with bootstrap data that is named and not there.
pub(super) fn steps(
    snapshot: &MachineSnapshot<'_>,
    arrow: Arrow,
    pools: &[PoolLine],
    missing: Option<&str>,
) -> Vec<StepLine> {
    if snapshot.metal3_machine.metadata.is_deleting() {
        return leaving(snapshot, arrow.stage);
    }
    let steps = [
        (Stage::Owner, "Machine", snapshot.machine.as_ref().map(|m| m.metadata.name_str().to_owned())),
        (Stage::Cluster, "Cluster", snapshot.cluster.as_ref().map(|c| c.metadata.name_str().to_owned())),
        (Stage::Pause, "not paused", (!is_paused(snapshot)).then(String::new)),
        (Stage::Infrastructure, "infrastructure", infrastructure(snapshot)),
        (Stage::Bootstrap, "bootstrap data", bootstrap(snapshot)),
        (Stage::Host, "host", host(snapshot)),
        (Stage::Data, "data", data(snapshot, pools)),
        (Stage::Provisioning, "image", image(snapshot)),
        (Stage::Node, "Node", node(snapshot)),
    ];
    // Once the node boots nobody needs the Secret any more.
    let missing = missing.filter(|_| arrow.stage <= Stage::Provisioning);
    let line = |(step, name, fact): (Stage, &'static str, Option<String>)| match missing {
        Some(secret) if step == Stage::Bootstrap => {
            let state = if arrow.cause == step { StepState::Here } else { StepState::Later };
            StepLine { name, state, fact: Some(format!("Secret {secret} does not exist")) }
        }
        _ => plain(arrow, step, name, fact),
    };
    steps.into_iter().map(line).collect()
}

fn plain(arrow: Arrow, step: Stage, name: &'static str, fact: Option<String>) -> StepLine {
    let Arrow { stage, cause } = arrow;
    StepLine {
        name,
        state: match &fact {
            _ if step == cause => StepState::Here,
            _ if step == stage => StepState::Later,
            _ if step < stage => StepState::Done,
            Some(_) => StepState::Done,
            None => StepState::Later,
        },
        fact: fact.filter(|fact| !fact.is_empty() && step != stage),
    }
}

fn is_paused(snapshot: &MachineSnapshot<'_>) -> bool {
    snapshot.cluster.as_ref().is_some_and(|cluster| cluster.is_paused())
        || snapshot.metal3_machine.metadata.annotation(annotation::PAUSED).is_some()
}

fn infrastructure(snapshot: &MachineSnapshot<'_>) -> Option<String> {
    snapshot.cluster.as_ref().filter(|cluster| cluster.infrastructure_is_ready())?;
    Some(format!("Metal3Cluster {}", snapshot.metal3_cluster.as_ref()?.metadata.name_str()))
}

fn bootstrap(snapshot: &MachineSnapshot<'_>) -> Option<String> {
    let own = &snapshot.metal3_machine;
    let machine = snapshot.machine.as_ref().filter(|machine| has_user_data(own, machine))?;
    let secret = user_data_secret(own, machine);
    Some(secret.map(|secret| format!("Secret {}", secret.name_str())).unwrap_or_default())
}

fn host(snapshot: &MachineSnapshot<'_>) -> Option<String> {
    let host = snapshot.host.as_ref()?;
    let is_ours = snapshot.ownership(host) == Ownership::Ours;
    let domain = host.metadata.label(label::FAILURE_DOMAIN);
    let domain = domain.map(|domain| format!(" in {domain}")).unwrap_or_default();
    is_ours.then(|| format!("{}{domain}", host.metadata.name_str()))
}

fn data(snapshot: &MachineSnapshot<'_>, pools: &[PoolLine]) -> Option<String> {
    let machine = &snapshot.metal3_machine;
    if machine.spec.data_template.is_none() && machine.status.rendered_data.is_none() {
        let is_asked_for = snapshot.host.is_some() && snapshot.missing_secrets.is_empty();
        return is_asked_for.then(|| "no data template".to_owned());
    }
    let data = snapshot.data.as_ref().filter(|data| data.status.ready == Some(true))?;
    let index = data.spec.index.map(|index| format!(", index {index}")).unwrap_or_default();
    let addresses = pools.iter().filter_map(|p| Some(format!(", {} of {}", p.address.as_ref()?, p.name)));
    Some(format!("Metal3Data {}{index}{}", data.metadata.name_str(), addresses.collect::<String>()))
}

fn image(snapshot: &MachineSnapshot<'_>) -> Option<String> {
    let host = snapshot.host.as_ref().filter(|host| host.state() == host_state::PROVISIONED)?;
    Some(format!("on the disk of {}", host.metadata.name_str()))
}

fn node(snapshot: &MachineSnapshot<'_>) -> Option<String> {
    let id = snapshot.metal3_machine.spec.provider_id.as_deref()?;
    let node = snapshot.machine.as_ref().and_then(|machine| machine.node_name());
    Some(node.map_or(id.to_owned(), |node| format!("{node}, {id}")))
}

/// The steps of a machine that goes.
fn leaving(snapshot: &MachineSnapshot<'_>, stage: Stage) -> Vec<StepLine> {
    let machine = &snapshot.metal3_machine;
    let is_held = machine.metadata.has_finalizer(finalizer::MACHINE);
    let claim =
        snapshot.claim.as_ref().filter(|claim| claim.metadata.is_owned_by_uid(machine.metadata.uid_str()));
    let others = others(snapshot);
    let has_host =
        machine.metadata.annotation(annotation::HOST).is_some() || machine.spec.provider_id.is_some();
    let has_data = machine.spec.data_template.is_some() || machine.status.rendered_data.is_some();
    let left = [
        ("not paused", stage == Stage::Pause, None),
        ("host given back", is_held && host(snapshot).is_some(), host(snapshot).or_else(|| none(has_host))),
        (
            "data given back",
            is_held && claim.is_some(),
            claim.map(|c| format!("Metal3DataClaim {}", c.metadata.name_str())).or_else(|| none(has_data)),
        ),
        ("finalizers gone", is_held || !others.is_empty(), (!others.is_empty()).then(|| others.join(", "))),
    ];
    let here = left.iter().position(|(_, is_left, _)| *is_left);
    let line = |(position, (name, is_left, fact)): (usize, (&'static str, bool, Option<String>))| StepLine {
        name,
        state: match is_left {
            _ if here == Some(position) => StepState::Here,
            true => StepState::Later,
            false => StepState::Done,
        },
        fact,
    };
    left.into_iter().enumerate().map(line).collect()
}

/// That there was nothing to give back, unless the machine had it.
fn none(had: bool) -> Option<String> {
    (!had).then(|| "none".to_owned())
}

/// Finalizers of others on the machine.
pub(super) fn others(snapshot: &MachineSnapshot<'_>) -> Vec<String> {
    let finalizers = snapshot.metal3_machine.metadata.finalizers.iter().flatten();
    finalizers.filter(|name| *name != finalizer::MACHINE).cloned().collect()
}

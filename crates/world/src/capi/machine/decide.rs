//! The management side of a Machine that is wanted.

use capm3_api::{
    conditions::find,
    metadata::MetadataExt,
    neighbours::NodeRef,
    v1beta2::{Initialization, Metal3Machine},
    vocabulary::{condition, label},
};
use capm3_engine::Plan;
use k8s_openapi::api::core::v1::Node;
use kube::core::ObjectMeta;

use super::{FINALIZER, Snapshot, deletion};
use crate::{
    capi::is_paused,
    kinds::{KubeadmConfig, Machine, MachineStatus},
    metadata::{
        Saying, add_finalizer, add_label, add_owner, controller_of, owner_reference, say, say_legacy,
    },
};

pub(crate) fn decide(s: &Snapshot) -> Plan {
    let old = &s.machine;
    if is_paused(&old.metadata, s.cluster.as_deref()) {
        return Plan::wait_for("the pause to end");
    }
    if old.metadata.is_deleting() {
        return deletion::decide(s);
    }
    let Some(cluster) = &s.cluster else {
        return Plan::wait_for("its Cluster");
    };
    let mut plan = Plan::done();
    let mut new = Machine::clone(old);
    add_finalizer(&mut new.metadata, FINALIZER);
    add_label(&mut new.metadata, label::CLUSTER_NAME, &old.spec.cluster_name);
    if controller_of(&old.metadata).is_none() {
        add_owner(&mut new.metadata, owner_reference(&**cluster, false));
    }
    let mut status = old.status.clone().unwrap_or_default();
    let bootstrapped = take_bootstrap(s, &mut new, &mut status);
    let provisioned = take_infrastructure(s, &mut new, &mut status);
    let node_is_ready = take_node(s, &mut status);
    status.phase = Some(phase(&new, &status).to_owned());
    status.observed_generation = old.metadata.generation;
    report(s, &mut status, bootstrapped, provisioned, node_is_ready);
    new.status = Some(status);
    plan.update(&**old, &new);
    adopt(&mut plan, s);
    plan
}

/// The Machine becomes the controller of its parts; whoever made them is no longer.
fn adopt(plan: &mut Plan, s: &Snapshot) {
    let change = |meta: &mut ObjectMeta| {
        if let Some(owners) = &mut meta.owner_references {
            owners.retain(|owner| !matches!(owner.kind.as_str(), "MachineSet" | "KubeadmControlPlane"));
        }
        add_owner(meta, owner_reference(&*s.machine, true));
        add_label(meta, label::CLUSTER_NAME, &s.machine.spec.cluster_name);
    };
    if let Some(old) = s.infrastructure.as_deref().filter(|i| !i.metadata.is_deleting()) {
        let mut new = Metal3Machine::clone(old);
        change(&mut new.metadata);
        plan.update(old, &new);
    }
    if let Some(old) = s.config.as_deref().filter(|c| !c.metadata.is_deleting()) {
        let mut new = KubeadmConfig::clone(old);
        change(&mut new.metadata);
        plan.update(old, &new);
    }
}

fn take_bootstrap(s: &Snapshot, new: &mut Machine, status: &mut MachineStatus) -> bool {
    if let Some(name) = s.config.as_ref().and_then(|config| config.secret_name()) {
        new.spec.bootstrap.data_secret_name = Some(name.to_owned());
    }
    let ready = new.spec.bootstrap.data_secret_name.is_some();
    if ready {
        status.initialization.bootstrap_data_secret_created = Some(true);
    }
    ready
}

/// Only an infrastructure that is provisioned and says under which ID counts.
fn take_infrastructure(s: &Snapshot, new: &mut Machine, status: &mut MachineStatus) -> bool {
    let done = status.initialization.infrastructure_provisioned == Some(true);
    let Some(infrastructure) = &s.infrastructure else {
        return done;
    };
    let id = infrastructure.spec.provider_id.as_ref().filter(|id| !id.is_empty());
    let provisioned = Initialization::is_provisioned(&infrastructure.status.initialization);
    let (true, Some(id)) = (provisioned, id) else {
        return done;
    };
    new.spec.provider_id = Some(id.clone());
    if infrastructure.spec.failure_domain.is_some() {
        new.spec.failure_domain.clone_from(&infrastructure.spec.failure_domain);
    }
    status.addresses.clone_from(&infrastructure.status.addresses);
    let placed = infrastructure.status.failure_domain.clone();
    status.failure_domain = placed.or_else(|| infrastructure.spec.failure_domain.clone());
    status.initialization.infrastructure_provisioned = Some(true);
    true
}

fn take_node(s: &Snapshot, status: &mut MachineStatus) -> bool {
    if status.initialization.infrastructure_provisioned != Some(true) {
        return false;
    }
    let Some(node) = &s.node else { return false };
    status.node_ref = Some(NodeRef { name: node.metadata.name.clone() });
    let info = node.status.as_ref().and_then(|s| s.node_info.as_ref());
    status.node_info = info.and_then(|info| serde_json::to_value(info).ok());
    is_ready(node)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|s| s.conditions.iter().flatten());
    conditions.into_iter().any(|c| c.type_ == "Ready" && c.status == "True")
}

fn phase(machine: &Machine, status: &MachineStatus) -> &'static str {
    let provisioned = status.initialization.infrastructure_provisioned == Some(true);
    if status.node_ref.is_some() && provisioned {
        "Running"
    } else if machine.spec.provider_id.is_some() {
        "Provisioned"
    } else if machine.spec.bootstrap.data_secret_name.is_some() {
        "Provisioning"
    } else {
        "Pending"
    }
}

fn report(
    s: &Snapshot,
    status: &mut MachineStatus,
    bootstrapped: bool,
    provisioned: bool,
    node_is_ready: bool,
) {
    let generation = s.machine.metadata.generation;
    let ready = provisioned && node_is_ready;
    // What the infrastructure says of itself is repeated here, as Cluster API does.
    let not_ready = s.infrastructure.as_ref().and_then(|i| find(&i.status.conditions, condition::READY));
    let not_ready = not_ready
        .filter(|not_ready| not_ready.status != "True" && !provisioned)
        .map(|not_ready| not_ready.message.as_str());
    let message = not_ready.unwrap_or_default();
    let summary =
        if message.is_empty() { String::new() } else { format!("* InfrastructureReady: {message}") };
    let infrastructure = Saying {
        message,
        ..Saying::of("InfrastructureReady", provisioned, "Ready", "WaitingForInfrastructure")
    };
    let up_to_date = s.freshness.as_ref().map(|freshness| Saying {
        message: &freshness.message,
        ..Saying::of("UpToDate", freshness.is_current, "UpToDate", "NotUpToDate")
    });
    let first = [
        Saying::of("Available", ready, "Available", "NotAvailable"),
        Saying { message: &summary, ..Saying::of("Ready", ready, "Ready", "NotReady") },
    ];
    let then = [
        Saying::of("BootstrapConfigReady", bootstrapped, "Ready", "NotReady"),
        infrastructure,
        Saying::of("NodeReady", node_is_ready, "NodeReady", "NodeNotReady"),
        Saying::of("Deleting", false, "Deleting", "NotDeleting"),
        Saying::of("Paused", false, "Paused", "NotPaused"),
    ];
    for saying in first.into_iter().chain(up_to_date).chain(then) {
        say(&mut status.conditions, saying, &s.now, generation);
    }
    let bootstrap = Saying::of("BootstrapReady", bootstrapped, "", "WaitingForDataSecret");
    let node = Saying::of("NodeHealthy", node_is_ready, "", "WaitingForNodeRef");
    for saying in [bootstrap, infrastructure, node, Saying::of("Ready", ready, "", "NotReady")] {
        say_legacy(&mut status.deprecated, saying, &s.now);
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;

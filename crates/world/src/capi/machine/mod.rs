//! Machine: takes its bootstrap and infrastructure objects over, mirrors what they report, finds its Node, and takes
//! everything down in order.
//!
//! `decide` is the management side, `deletion` the way out, `node` what is written to the workload cluster. Woken by
//! itself, its two parts, its Cluster's flags, Nodes with its provider ID, and a new template or version of its owner.

mod decide;
mod deletion;
mod node;

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::Metal3Machine,
    vocabulary::{annotation, label},
};
use capm3_engine::{Controller, Object, ObjectKey, Outcome, Plan, Reader, Store, drive};
use k8s_openapi::api::core::v1::Node;

pub(crate) use self::{decide::decide, node::decide as decide_node};
use super::freshness::{self, Freshness};
use crate::{
    context::{self, Context},
    indexes::LEADERS_BY_CLUSTER,
    kinds::{Cluster, KubeadmConfig, KubeadmControlPlane, Machine, MachineSet},
    metadata::{beside, controller_of, path},
    workloads::NODES_BY_PROVIDER_ID,
};

const FINALIZER: &str = "machine.cluster.x-k8s.io";

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("machines", &context.queues.machines, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    let Some(machine) = context.caches.get::<Machine>(&key) else {
        return Outcome::Settled;
    };
    let workload = context.workloads.get(&beside(&*machine, &machine.spec.cluster_name));
    if let Some(workload) = &workload {
        workload.caches.synced().await;
    }
    let now = context.clock.now_text();
    let nodes = workload.as_ref().map(|workload| &*workload.nodes);
    let observed = || observe(&*context.caches, nodes, &key, &now);
    let outcome = context.drive(|| observed().map_or_else(Plan::done, |s| decide(&s))).await;
    match (&workload, outcome) {
        (Some(workload), Outcome::Settled) => {
            drive(&workload.executor, || observed().map_or_else(Plan::done, |s| decide_node(&s))).await
        }
        (_, outcome) => outcome,
    }
}

/// A Machine and what belongs to it.
pub(crate) struct Snapshot {
    machine: Arc<Machine>,
    cluster: Option<Arc<Cluster>>,
    infrastructure: Option<Arc<Metal3Machine>>,
    config: Option<Arc<KubeadmConfig>>,
    node: Option<Arc<Node>>,
    /// What its owner says of it; a Machine of its own, or of a MachineSet of its own, has nobody to say it.
    freshness: Option<Freshness>,
    /// Whether the control plane is going, or has no other machine than this one.
    is_last_of_control_plane: bool,
    now: String,
}

pub(crate) fn observe(
    reader: &impl Reader,
    nodes: Option<&Store<Node>>,
    key: &ObjectKey,
    now: &str,
) -> Option<Snapshot> {
    let machine = reader.get::<Machine>(key)?;
    let infrastructure: Option<Arc<Metal3Machine>> =
        machine.infrastructure_name().and_then(|name| reader.get(&beside(&*machine, name)));
    let provider_id = infrastructure.as_ref().and_then(|i| i.spec.provider_id.clone());
    let provider_id = provider_id.or_else(|| machine.spec.provider_id.clone());
    let node = nodes.and_then(|nodes| {
        let named = machine.node_name().and_then(|name| nodes.get(&ObjectKey::new("", name)));
        let found = || {
            let id = provider_id.as_deref().filter(|id| !id.is_empty())?;
            nodes.by_index(&NODES_BY_PROVIDER_ID, id).into_iter().next()
        };
        named.or_else(found)
    });
    Some(Snapshot {
        cluster: reader.get(&beside(&*machine, &machine.spec.cluster_name)),
        config: machine.config_name().and_then(|name| reader.get(&beside(&*machine, name))),
        freshness: freshness(reader, &machine, infrastructure.as_deref()),
        is_last_of_control_plane: is_last_of_control_plane(reader, &machine),
        now: now.to_owned(),
        machine,
        infrastructure,
        node,
    })
}

fn freshness(
    reader: &impl Reader,
    machine: &Machine,
    infrastructure: Option<&Metal3Machine>,
) -> Option<Freshness> {
    let owner = controller_of(&machine.metadata)?;
    if owner.kind == "MachineSet" {
        let set = reader.get::<MachineSet>(&beside(machine, &owner.name))?;
        let deployment = reader.get(&beside(&*set, &controller_of(&set.metadata)?.name))?;
        return Some(freshness::of_set(&deployment, &set));
    }
    let control_plane = reader.get(&beside(machine, &owner.name))?;
    let source = infrastructure.and_then(|i| i.metadata.annotation(annotation::CLONED_FROM_NAME));
    Some(freshness::of_control_plane(&control_plane, machine, source))
}

fn is_last_of_control_plane(reader: &impl Reader, machine: &Machine) -> bool {
    if machine.metadata.label(label::CONTROL_PLANE).is_none() {
        return false;
    }
    let owner = controller_of(&machine.metadata).map(|owner| beside(machine, &owner.name));
    let going = owner
        .and_then(|key| reader.get::<KubeadmControlPlane>(&key))
        .is_none_or(|c| c.metadata.is_deleting());
    let value = path(&machine.key().namespace, &machine.spec.cluster_name);
    going || reader.by_index(&LEADERS_BY_CLUSTER, &value).len() <= 1
}

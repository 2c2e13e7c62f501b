//! Which machines are asked for, and how many of them are ready. Takes objects, of which only [`KINDS`] matter, and is
//! pure; it must not look at what controllers say of themselves, only at the machines.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_engine::ObjectKey;
use serde_json::Value;

/// Kinds from which machines are counted.
pub const KINDS: [&str; 6] =
    ["Cluster", "KubeadmControlPlane", "MachineDeployment", "MachineSet", "Machine", "Metal3Machine"];

/// Everything that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// Whoever asks for machines: control planes, MachineDeployments, and MachineSets and Machines of their own.
    pub owners: Vec<Owner>,
    /// Every Cluster.
    pub clusters: Vec<ObjectKey>,
    /// Clusters whose `spec.topology` asks for machines that nobody makes here.
    pub uncounted: Vec<ObjectKey>,
}

/// An object that asks for machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Machines that it asks for.
    pub wanted: usize,
    /// Machines of it that are ready.
    pub ready: usize,
}

impl Expected {
    /// Machines that are asked for.
    pub fn wanted(&self) -> usize {
        self.owners.iter().map(|owner| owner.wanted).sum()
    }

    /// Machines that are asked for and ready; one that is ready beyond what is asked for stands for no other one.
    pub fn ready(&self) -> usize {
        self.owners.iter().map(|owner| owner.ready.min(owner.wanted)).sum()
    }
}

/// Counts what is asked for.
pub fn expected(objects: &[Arc<Value>]) -> Expected {
    let machines = Machines::of(objects);
    let mut owners = Vec::new();
    for kind in ["KubeadmControlPlane", "MachineDeployment", "MachineSet"] {
        for object in of_kind(objects, kind) {
            let uid = text(object, "/metadata/uid");
            if kind == "MachineSet" && machines.root(uid) != Some(uid) {
                continue;
            }
            let replicas = object.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
            let wanted = usize::try_from(replicas).unwrap_or(usize::MAX);
            owners.push(Owner { kind, key: key(object), wanted, ready: machines.ready_of(uid) });
        }
    }
    for object in of_kind(objects, "Machine").filter(|object| machines.root(controller(object)).is_none()) {
        let ready = usize::from(machines.is_ready(object));
        owners.push(Owner { kind: "Machine", key: key(object), wanted: 1, ready });
    }
    // One that somebody else made waits for its Machine, which is counted then.
    let is_alone = |object: &&Arc<Value>| {
        !machines.named.contains(&key(object)) && object.pointer("/metadata/ownerReferences").is_none()
    };
    for object in of_kind(objects, "Metal3Machine").filter(is_alone) {
        owners.push(Owner { kind: "Metal3Machine", key: key(object), wanted: 1, ready: 0 });
    }
    let clusters: Vec<&Arc<Value>> = of_kind(objects, "Cluster").collect();
    let uncounted =
        clusters.iter().filter(|cluster| is_uncounted(cluster, objects)).map(|o| key(o)).collect();
    Expected { owners, clusters: clusters.iter().map(|o| key(o)).collect(), uncounted }
}

/// Machines, to whom they belong and which of them are ready.
struct Machines {
    /// Who makes the machines of an owner in the end, by uid: a MachineDeployment those of its MachineSets.
    roots: BTreeMap<String, String>,
    /// How many machines of a root are ready.
    ready: BTreeMap<String, usize>,
    /// Metal3Machines that are ready.
    infrastructure: BTreeSet<ObjectKey>,
    /// Metal3Machines that Machines name.
    named: BTreeSet<ObjectKey>,
}

impl Machines {
    fn of(objects: &[Arc<Value>]) -> Self {
        let uids = |kind| of_kind(objects, kind).map(|object| text(object, "/metadata/uid").to_owned());
        let tops = uids("KubeadmControlPlane").chain(uids("MachineDeployment"));
        let mut roots: BTreeMap<String, String> = tops.map(|uid| (uid.clone(), uid)).collect();
        for set in of_kind(objects, "MachineSet") {
            let uid = text(set, "/metadata/uid").to_owned();
            let root = roots.get(controller(set)).unwrap_or(&uid).clone();
            roots.insert(uid, root);
        }
        let is_provisioned = |object: &&Arc<Value>| {
            reports_ready(object) && object.pointer("/spec/providerID").is_some_and(|id| !id.is_null())
        };
        let infrastructure =
            of_kind(objects, "Metal3Machine").filter(is_provisioned).map(|o| key(o)).collect();
        let named = of_kind(objects, "Machine").map(|machine| infrastructure_of(machine)).collect();
        let machines = Self { roots, ready: BTreeMap::new(), infrastructure, named };
        let mut ready = BTreeMap::new();
        for machine in of_kind(objects, "Machine").filter(|machine| machines.is_ready(machine)) {
            if let Some(root) = machines.root(controller(machine)) {
                *ready.entry(root.to_owned()).or_default() += 1;
            }
        }
        Self { ready, ..machines }
    }

    fn root(&self, uid: &str) -> Option<&str> {
        self.roots.get(uid).map(String::as_str).filter(|root| !root.is_empty())
    }

    fn ready_of(&self, root: &str) -> usize {
        self.ready.get(root).copied().unwrap_or_default()
    }

    /// Both must say so: the Machine, and the Metal3Machine that it names.
    fn is_ready(&self, machine: &Value) -> bool {
        reports_ready(machine) && self.infrastructure.contains(&infrastructure_of(machine))
    }
}

/// Whether a topology asks for machines that no object of its Cluster asks for.
fn is_uncounted(cluster: &Value, objects: &[Arc<Value>]) -> bool {
    let Some(topology) = cluster.pointer("/spec/topology").filter(|topology| topology.is_object()) else {
        return false;
    };
    let key = key(cluster);
    let asks_for = |list: &str| {
        topology
            .pointer(&format!("/workers/{list}"))
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
    };
    let is_of_cluster = |object: &Arc<Value>| {
        text(object, "/spec/clusterName") == key.name && text(object, "/metadata/namespace") == key.namespace
    };
    let has_deployments = of_kind(objects, "MachineDeployment").any(is_of_cluster);
    cluster.pointer("/spec/controlPlaneRef/name").is_none()
        || asks_for("machinePools")
        || asks_for("machineDeployments") && !has_deployments
}

/// Objects of a kind that are not being deleted.
fn of_kind<'a>(objects: &'a [Arc<Value>], kind: &'static str) -> impl Iterator<Item = &'a Arc<Value>> {
    let stays = |object: &&Arc<Value>| object.pointer("/metadata/deletionTimestamp").is_none();
    objects.iter().filter(move |object| text(object, "/kind") == kind).filter(stays)
}

fn key(object: &Value) -> ObjectKey {
    ObjectKey::new(text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn infrastructure_of(machine: &Value) -> ObjectKey {
    ObjectKey::new(text(machine, "/metadata/namespace"), text(machine, "/spec/infrastructureRef/name"))
}

/// Uid of the controller among the owners; empty if there is none.
fn controller(object: &Value) -> &str {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let mut controllers =
        owners.filter(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true));
    controllers.next().map_or("", |owner| text(owner, "/uid"))
}

fn reports_ready(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.into_iter().any(|c| text(c, "/type") == "Ready" && text(c, "/status") == "True")
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
#[path = "expected_tests.rs"]
mod tests;

//! What a control plane does next: one operation at a time, and none while a machine is on its way in or out.

use std::sync::Arc;

use capm3_api::{conditions::find, metadata::MetadataExt, vocabulary::label};
use capm3_engine::{End, Plan, rng::Rng};
use serde_json::{Map, Value, json};

use super::{
    FINALIZER,
    domains::{self, Placed},
    remediation, status,
};
use crate::{
    capi::{
        CONTROL_PLANE_NAME, DELETE_FIRST, PRE_TERMINATE_CONTROL_PLANE, WAITING_FOR_PRE_TERMINATE, freshness,
        is_paused, kubeconfig,
        make::{self, Begun, Config, Order},
    },
    kinds::{Cluster, KubeadmControlPlane, Machine, MachineSpec, Metal3MachineTemplate},
    metadata::{add_finalizer, add_owner, owner_reference, remove_finalizer},
};

/// A control plane and what belongs to it.
pub(crate) struct Snapshot {
    pub(super) control_plane: Arc<KubeadmControlPlane>,
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) machines: Vec<Arc<Machine>>,
    /// From which template each machine was made, in the order of `machines`.
    pub(super) sources: Vec<Option<String>>,
    pub(super) template: Option<Arc<Metal3MachineTemplate>>,
    pub(super) begun: Vec<Begun>,
    pub(super) has_kubeconfig: bool,
    pub(crate) kubeconfig: String,
    pub(super) now: String,
}

impl Snapshot {
    /// Which machines are made from the present version and template, in the order of `machines`.
    pub(super) fn up_to_date(&self) -> Vec<bool> {
        let current = |(machine, source): (&Arc<Machine>, &Option<String>)| {
            freshness::of_control_plane(&self.control_plane, machine, source.as_deref()).is_current
        };
        self.machines.iter().zip(&self.sources).map(current).collect()
    }
}

pub(crate) fn decide(s: &Snapshot, rng: &Rng) -> Plan {
    let old = &s.control_plane;
    let Some(cluster) = &s.cluster else {
        return match old.metadata.is_deleting() {
            true => delete(s),
            false => Plan::wait_for("its Cluster"),
        };
    };
    if is_paused(&old.metadata, Some(cluster)) {
        return Plan::wait_for("the pause to end");
    }
    if old.metadata.is_deleting() {
        return delete(s);
    }
    let mut plan = Plan::done();
    let mut new = KubeadmControlPlane::clone(old);
    add_finalizer(&mut new.metadata, FINALIZER);
    new.status = Some(status::of(s));
    plan.update(&**old, &new);
    release_one(&mut plan, s);
    if !cluster.infrastructure_is_provisioned() || !cluster.has_endpoint() {
        return plan.ending(End::WaitFor("the Cluster's infrastructure and endpoint".into()));
    }
    if !s.has_kubeconfig {
        kubeconfig::create(&mut plan, old, cluster.metadata.name_str(), &s.kubeconfig);
    }
    let Some(template) = &s.template else {
        return plan.ending(End::WaitFor("its Metal3MachineTemplate".into()));
    };
    adopt(&mut plan, template, cluster);
    operate(plan, s, cluster, template, rng)
}

/// Templates belong to the Cluster, so that they are moved and deleted with it.
pub(super) fn adopt(plan: &mut Plan, template: &Metal3MachineTemplate, cluster: &Cluster) {
    let mut new = template.clone();
    add_owner(&mut new.metadata, owner_reference(cluster, false));
    plan.update(template, &new);
}

fn operate(
    mut plan: Plan,
    s: &Snapshot,
    cluster: &Cluster,
    template: &Metal3MachineTemplate,
    rng: &Rng,
) -> Plan {
    let wanted = usize::try_from(s.control_plane.wanted()).unwrap_or(0);
    let up_to_date = s.up_to_date();
    let outdated = up_to_date.iter().any(|current| !current);
    let room = if outdated { wanted + max_surge(&s.control_plane) } else { wanted };
    let machines = s.machines.len();
    if s.machines.iter().any(|m| m.metadata.is_deleting()) {
        return plan.ending(End::WaitFor("a machine to go".into()));
    }
    if let Some(machine) = remediation::next(s) {
        plan.delete(machine);
    } else if let Some(begun) = s.begun.first() {
        make_one(&mut plan, s, cluster, template, begun.clone());
    } else if machines < room {
        if s.machines.iter().any(|m| m.node_name().is_none()) {
            return plan.ending(End::WaitFor("the last machine's node".into()));
        }
        let name = make::name(s.control_plane.metadata.name_str(), rng);
        make_one(&mut plan, s, cluster, template, Begun { name, ..Begun::default() });
    } else if outdated || machines > wanted {
        return shrink(plan, s, cluster, &up_to_date);
    }
    plan
}

fn shrink(mut plan: Plan, s: &Snapshot, cluster: &Cluster, up_to_date: &[bool]) -> Plan {
    let Some(name) = surplus(s, &cluster.control_plane_domains(), up_to_date) else {
        return plan;
    };
    let others = |m: &&Arc<Machine>| m.metadata.name_str() != name;
    if s.machines.iter().filter(others).any(|m| m.node_name().is_none()) {
        return plan.ending(End::WaitFor("the other machines' nodes".into()));
    }
    if let Some(machine) = s.machines.iter().find(|m| m.metadata.name_str() == name) {
        plan.delete(&**machine);
    }
    plan
}

/// Which machine goes: outdated and marked, else marked, else outdated without node, else outdated, else any.
fn surplus(s: &Snapshot, domains: &[String], up_to_date: &[bool]) -> Option<String> {
    let placed = placed(s, up_to_date);
    let rank = |machine: &Machine, outdated: bool| {
        let marked = machine.metadata.annotation(DELETE_FIRST).is_some();
        match (outdated, marked, machine.node_name().is_none()) {
            (true, true, _) => 0,
            (false, true, _) => 1,
            (true, false, true) => 2,
            (true, false, false) => 3,
            (false, false, _) => 4,
        }
    };
    let ranked = || s.machines.iter().zip(&placed).map(|(m, p)| (rank(m, !p.up_to_date), p));
    let first = ranked().map(|(rank, _)| rank).min()?;
    let candidates: Vec<Placed> =
        ranked().filter(|(rank, _)| *rank == first).map(|(_, p)| p.clone()).collect();
    domains::to_delete(domains, &candidates, &placed)
}

fn placed(s: &Snapshot, up_to_date: &[bool]) -> Vec<Placed> {
    let one = |(machine, current): (&Arc<Machine>, &bool)| Placed {
        name: machine.metadata.name_str().to_owned(),
        domain: machine.spec.failure_domain.clone(),
        created: machine.metadata.creation_timestamp.as_ref().map(|t| t.0.to_string()).unwrap_or_default(),
        up_to_date: *current,
        deleting: machine.metadata.is_deleting(),
    };
    s.machines.iter().zip(up_to_date).map(one).collect()
}

fn make_one(
    plan: &mut Plan,
    s: &Snapshot,
    cluster: &Cluster,
    template: &Metal3MachineTemplate,
    begun: Begun,
) {
    let control_plane = &s.control_plane;
    let passed = &control_plane.spec.machine_template;
    let mut metadata = passed.metadata.clone();
    for (key, value) in [
        (label::CLUSTER_NAME, cluster.metadata.name_str()),
        (label::CONTROL_PLANE, ""),
        (CONTROL_PLANE_NAME, control_plane.metadata.name_str()),
    ] {
        metadata.labels.insert(key.to_owned(), value.to_owned());
    }
    metadata.annotations.insert(PRE_TERMINATE_CONTROL_PLANE.to_owned(), String::new());
    let spec = MachineSpec {
        cluster_name: cluster.metadata.name_str().to_owned(),
        version: control_plane.spec.version.clone(),
        failure_domain: domains::for_new(&cluster.control_plane_domains(), &placed(s, &s.up_to_date())),
        rest: passed.spec.as_ref().map(|spec| spec.rest.clone()).unwrap_or_default(),
        ..MachineSpec::default()
    };
    let first = s.machines.is_empty() && !control_plane.is_initialized();
    let config = Config {
        spec: config_spec(control_plane.spec.kubeadm_config_spec.clone().unwrap_or_default(), first),
        metadata: Default::default(),
        cloned_from: None,
    };
    let order = Order {
        namespace: control_plane.metadata.namespace_str(),
        owner: owner_reference(&**control_plane, true),
        metadata,
        spec,
        config: Some(config),
        template,
    };
    make::add(plan, order, &begun);
}

/// The first machine initialises the cluster, all others join it.
fn config_spec(mut spec: Map<String, Value>, first: bool) -> Map<String, Value> {
    if first {
        spec.remove("joinConfiguration");
        return spec;
    }
    spec.remove("initConfiguration");
    spec.remove("clusterConfiguration");
    let join = spec.entry("joinConfiguration").or_insert_with(|| json!({}));
    if let Some(join) = join.as_object_mut() {
        join.entry("controlPlane").or_insert_with(|| json!({}));
    }
    spec
}

fn max_surge(control_plane: &KubeadmControlPlane) -> usize {
    let strategy = control_plane.spec.rollout.as_ref().and_then(|r| r.strategy.as_ref());
    let surge = strategy.and_then(|s| s.rolling_update.as_ref()).and_then(|u| u.max_surge.as_ref());
    let text = surge.map(|value| value.to_string().trim_matches('"').to_owned());
    if text.as_deref() == Some("0") { 0 } else { 1 }
}

/// Takes the control plane's own hook off one machine that waits for it.
fn release_one(plan: &mut Plan, s: &Snapshot) {
    let waits = |m: &&Arc<Machine>| {
        let conditions = m.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let reason = find(conditions, "Deleting").map(|c| c.reason.as_str());
        m.metadata.is_deleting() && hook(m) && reason == Some(WAITING_FOR_PRE_TERMINATE)
    };
    if let Some(machine) = s.machines.iter().find(waits) {
        release(plan, machine);
    }
}

fn hook(machine: &Machine) -> bool {
    machine.metadata.annotation(PRE_TERMINATE_CONTROL_PLANE).is_some()
}

fn release(plan: &mut Plan, machine: &Machine) {
    let mut new = machine.clone();
    if let Some(annotations) = &mut new.metadata.annotations {
        annotations.remove(PRE_TERMINATE_CONTROL_PLANE);
    }
    plan.update(machine, &new);
}

/// All machines at once: there is no cluster left to keep alive.
fn delete(s: &Snapshot) -> Plan {
    let mut plan = Plan::done();
    if s.machines.is_empty() {
        let mut new = KubeadmControlPlane::clone(&s.control_plane);
        remove_finalizer(&mut new.metadata, FINALIZER);
        plan.update(&*s.control_plane, &new);
        return plan;
    }
    for machine in &s.machines {
        if hook(machine) {
            release(&mut plan, machine);
        }
        if !machine.metadata.is_deleting() {
            plan.delete(&**machine);
        }
    }
    let mut new = KubeadmControlPlane::clone(&s.control_plane);
    new.status = Some(status::of(s));
    plan.update(&*s.control_plane, &new);
    plan.ending(End::WaitFor("the machines to go".into()))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;

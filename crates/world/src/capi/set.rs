//! MachineSet: as many Machines as wanted, all missing ones at once, the least useful ones gone first.

#[path = "set_status.rs"]
mod status;

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, vocabulary::label};
use capm3_engine::{Controller, End, ObjectKey, Outcome, Plan, Reader, rng::Rng};

use super::{
    DELETE_FIRST, SET_NAME, count, delete_children, freshness, is_paused,
    make::{self, Begun, Config, Order},
};
use crate::{
    context::{self, Context},
    indexes::{AVAILABLE_BY_OWNER, GIVEN_UP_BY_OWNER, MACHINES_BY_OWNER, READY_BY_OWNER},
    kinds::{Cluster, KubeadmConfigTemplate, Machine, MachineSet, Metal3MachineTemplate},
    metadata::{add_finalizer, add_label, add_owner, beside, controller_of, owner_reference},
};

const FINALIZER: &str = "cluster.x-k8s.io/machineset";

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("machine sets", &context.queues.sets, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    context.reconcile(|caches, now| observe(caches, &key, now), decide).await
}

pub(crate) struct Snapshot {
    set: Arc<MachineSet>,
    cluster: Option<Arc<Cluster>>,
    counts: Counts,
    /// Looked at when the set goes or some of them must, and only then: a set may be large, and every change of one
    /// of its machines wakes it.
    machines: Vec<Arc<Machine>>,
    /// Whether it is the set of the template that its deployment has now; a set of its own has none.
    is_current: bool,
    template: Option<Arc<Metal3MachineTemplate>>,
    config_template: Option<Arc<KubeadmConfigTemplate>>,
    /// Looked at when machines are missing.
    begun: Vec<Begun>,
    now: String,
}

/// How many machines of a set are how far.
#[derive(Clone, Copy)]
struct Counts {
    there: usize,
    ready: usize,
    available: usize,
}

pub(crate) fn observe(reader: &impl Reader, key: &ObjectKey, now: &str) -> Option<Snapshot> {
    let set = reader.get::<MachineSet>(key)?;
    let spec = &set.spec.template.spec;
    let named = |reference: Option<&capm3_api::neighbours::ContractRef>| {
        reference.and_then(|r| r.name.as_deref()).map(|name| beside(&*set, name))
    };
    let uid = set.metadata.uid_str();
    let counts = Counts {
        there: reader.count(&MACHINES_BY_OWNER, uid),
        ready: reader.count(&READY_BY_OWNER, uid),
        available: reader.count(&AVAILABLE_BY_OWNER, uid),
    };
    let deployment = controller_of(&set.metadata).and_then(|owner| reader.get(&beside(&*set, &owner.name)));
    let some_must_go = set.metadata.is_deleting()
        || counts.there > wanted(&set)
        || reader.count(&GIVEN_UP_BY_OWNER, uid) > 0;
    Some(Snapshot {
        counts,
        cluster: reader.get(&beside(&*set, &set.spec.cluster_name)),
        machines: if some_must_go { reader.by_index(&MACHINES_BY_OWNER, uid) } else { Vec::new() },
        is_current: deployment.is_some_and(|deployment| freshness::of_set(&deployment, &set).is_current),
        template: named(spec.infrastructure_ref.as_ref()).and_then(|key| reader.get(&key)),
        config_template: named(spec.bootstrap.config_ref.as_ref()).and_then(|key| reader.get(&key)),
        begun: if counts.there < wanted(&set) { make::begun(reader, uid) } else { Vec::new() },
        now: now.to_owned(),
        set,
    })
}

fn wanted(set: &MachineSet) -> usize {
    usize::try_from(set.wanted()).unwrap_or(0)
}

pub(crate) fn decide(s: &Snapshot, rng: &Rng) -> Plan {
    let old = &s.set;
    if is_paused(&old.metadata, s.cluster.as_deref()) {
        return Plan::wait_for("the pause to end");
    }
    if old.metadata.is_deleting() {
        return delete_children(&**old, FINALIZER, &s.machines, "the Machines to go");
    }
    let Some(cluster) = &s.cluster else {
        return Plan::wait_for("its Cluster");
    };
    let mut plan = Plan::done();
    let mut new = MachineSet::clone(old);
    add_finalizer(&mut new.metadata, FINALIZER);
    add_label(&mut new.metadata, label::CLUSTER_NAME, &old.spec.cluster_name);
    if controller_of(&old.metadata).is_none() {
        add_owner(&mut new.metadata, owner_reference(&**cluster, false));
    }
    new.status = Some(status::of(s));
    plan.update(&**old, &new);
    adopt_templates(&mut plan, s, cluster);
    let given_up = |m: &&Arc<Machine>| m.is_given_up() && !m.metadata.is_deleting();
    if s.machines.iter().any(|m| given_up(&m)) {
        s.machines.iter().filter(given_up).for_each(|machine| plan.delete(&**machine));
        return plan;
    }
    let (there, wanted) = (s.counts.there, wanted(old));
    if there < wanted {
        return grow(plan, s, wanted - there, rng);
    }
    let mut surplus: Vec<&Arc<Machine>> = s.machines.iter().collect();
    surplus.sort_by_key(|machine| worth(machine, old));
    for machine in surplus.into_iter().take(there - wanted).filter(|m| !m.metadata.is_deleting()) {
        plan.delete(&**machine);
    }
    plan
}

fn adopt_templates(plan: &mut Plan, s: &Snapshot, cluster: &Cluster) {
    if let Some(old) = &s.template {
        let mut new = Metal3MachineTemplate::clone(old);
        add_owner(&mut new.metadata, owner_reference(cluster, false));
        plan.update(&**old, &new);
    }
    if let Some(old) = &s.config_template {
        let mut new = KubeadmConfigTemplate::clone(old);
        add_owner(&mut new.metadata, owner_reference(cluster, false));
        plan.update(&**old, &new);
    }
}

fn grow(mut plan: Plan, s: &Snapshot, missing: usize, rng: &Rng) -> Plan {
    let Some(template) = &s.template else {
        return plan.ending(End::WaitFor("its Metal3MachineTemplate".into()));
    };
    let wants_config = s.set.spec.template.spec.bootstrap.config_ref.is_some();
    if wants_config && s.config_template.is_none() {
        return plan.ending(End::WaitFor("its KubeadmConfigTemplate".into()));
    }
    for at in 0..missing {
        let fresh = || Begun { name: make::name(s.set.metadata.name_str(), rng), ..Begun::default() };
        let begun = s.begun.get(at).cloned().unwrap_or_else(fresh);
        let order = Order {
            namespace: s.set.metadata.namespace_str(),
            owner: owner_reference(&*s.set, true),
            metadata: passed_on(&s.set),
            spec: s.set.spec.template.spec.clone(),
            config: s.config_template.as_ref().map(|template| Config {
                spec: template.spec.template.spec.clone(),
                metadata: template.spec.template.metadata.clone(),
                cloned_from: template.metadata.name.clone(),
            }),
            template,
        };
        make::add(&mut plan, order, &begun);
    }
    plan
}

fn passed_on(set: &MachineSet) -> crate::kinds::PassedOn {
    let mut metadata = set.spec.template.metadata.clone();
    for (key, value) in
        [(label::CLUSTER_NAME, set.spec.cluster_name.as_str()), (SET_NAME, set.metadata.name_str())]
    {
        metadata.labels.insert(key.to_owned(), value.to_owned());
    }
    metadata
}

/// Machines with the least worth go first: already going, marked, without a healthy node, then by the set's order.
fn worth(machine: &Machine, set: &MachineSet) -> (u8, i64, String) {
    let healthy = machine.node_name().is_some() && machine.says("Ready");
    let rank = match machine {
        m if m.metadata.is_deleting() => 0,
        m if m.metadata.annotation(DELETE_FIRST).is_some() => 1,
        _ if !healthy => 2,
        _ => 3,
    };
    let born = machine.metadata.creation_timestamp.as_ref().map_or(0, |t| t.0.as_second());
    let age = match set.spec.deletion.as_ref().and_then(|d| d.order.as_deref()) {
        Some("Oldest") => born,
        Some("Newest") => -born,
        _ => 0,
    };
    (rank, age, machine.metadata.name_str().to_owned())
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;

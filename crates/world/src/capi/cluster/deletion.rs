//! The way out of a Cluster.

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, vocabulary::label};
use capm3_engine::{End, Object, Plan};
use kube::core::ObjectMeta;

use super::{FINALIZER, Snapshot};
use crate::{
    kinds::{Cluster, Machine},
    metadata::{Saying, controller_of, remove_finalizer, say},
};

/// Workers, then the control plane, then the infrastructure, then the Cluster itself.
pub(super) fn decide(s: &Snapshot) -> Plan {
    let mut plan = Plan::done();
    let mut new = Cluster::clone(&s.cluster);
    let status = new.status.get_or_insert_default();
    status.phase = Some("Deleting".to_owned());
    let saying = Saying::of("Deleting", true, "Deleting", "NotDeleting");
    say(&mut status.conditions, saying, &s.now, s.cluster.metadata.generation);
    let alone = |meta: &ObjectMeta| controller_of(meta).is_none();
    let leads = |m: &Arc<Machine>| m.metadata.label(label::CONTROL_PLANE).is_some();
    let (leaders, workers): (Vec<_>, Vec<_>) = s.machines.iter().cloned().partition(leads);
    let waiting = if !s.deployments.is_empty() || !s.sets.is_empty() || !workers.is_empty() {
        s.deployments.iter().for_each(|object| remove(&mut plan, &**object));
        s.sets.iter().filter(|o| alone(&o.metadata)).for_each(|object| remove(&mut plan, &**object));
        workers.iter().filter(|o| alone(&o.metadata)).for_each(|object| remove(&mut plan, &**object));
        Some("the workers to go")
    } else if s.control_plane.is_some() || !leaders.is_empty() {
        s.control_plane.iter().for_each(|object| remove(&mut plan, &**object));
        leaders.iter().filter(|o| alone(&o.metadata)).for_each(|object| remove(&mut plan, &**object));
        Some("the control plane to go")
    } else if let Some(infrastructure) = &s.infrastructure {
        remove(&mut plan, &**infrastructure);
        Some("the infrastructure to go")
    } else {
        None
    };
    let Some(waiting) = waiting else {
        remove_finalizer(&mut new.metadata, FINALIZER);
        new.status.clone_from(&s.cluster.status);
        plan.update(&*s.cluster, &new);
        return plan;
    };
    plan.update(&*s.cluster, &new);
    plan.ending(End::WaitFor(waiting.to_owned().into()))
}

/// Deletes an object that is not going already.
pub(super) fn remove<K: Object>(plan: &mut Plan, object: &K) {
    if object.meta().deletion_timestamp.is_none() {
        plan.delete(object);
    }
}

//! The way out of a Machine: hooks, infrastructure, bootstrap object, Node, itself.

use capm3_api::metadata::MetadataExt;
use capm3_engine::{End, Plan};

use super::{FINALIZER, Snapshot};
use crate::{
    capi::{PRE_DRAIN, PRE_TERMINATE, WAITING_FOR_PRE_TERMINATE},
    kinds::Machine,
    metadata::{Saying, remove_finalizer, say},
};

/// What still stands in the way: the reason of the condition `Deleting`.
fn obstacle(s: &Snapshot) -> Option<&'static str> {
    let hooked = |prefix: &str| {
        s.machine.metadata.annotations.iter().flatten().any(|(key, _)| key.starts_with(prefix))
    };
    if deletes_node(s) && hooked(PRE_DRAIN) {
        Some("WaitingForPreDrainHook")
    } else if hooked(PRE_TERMINATE) {
        Some(WAITING_FOR_PRE_TERMINATE)
    } else if s.infrastructure.is_some() {
        Some("WaitingForInfrastructureDeletion")
    } else if s.config.is_some() {
        Some("WaitingForBootstrapDeletion")
    } else if s.node.is_some() && deletes_node(s) {
        Some("DeletingNode")
    } else {
        None
    }
}

/// The Node of a cluster that goes as a whole, or that has no other control plane, is left alone.
pub(super) fn deletes_node(s: &Snapshot) -> bool {
    let cluster_stays = s.cluster.as_ref().is_some_and(|c| !c.metadata.is_deleting());
    cluster_stays && !s.is_last_of_control_plane && s.machine.node_name().is_some()
}

/// Whether only the Node is left to be deleted.
pub(super) fn node_is_next(s: &Snapshot) -> bool {
    s.machine.metadata.is_deleting() && obstacle(s) == Some("DeletingNode")
}

pub(super) fn decide(s: &Snapshot) -> Plan {
    let mut plan = Plan::done();
    let mut new = Machine::clone(&s.machine);
    let Some(reason) = obstacle(s) else {
        remove_finalizer(&mut new.metadata, FINALIZER);
        plan.update(&*s.machine, &new);
        return plan;
    };
    let status = new.status.get_or_insert_default();
    status.phase = Some("Deleting".to_owned());
    let saying = Saying { type_: "Deleting", status: "True", reason, message: "" };
    say(&mut status.conditions, saying, &s.now, s.machine.metadata.generation);
    plan.update(&*s.machine, &new);
    match reason {
        "WaitingForInfrastructureDeletion" => {
            let there = s.infrastructure.iter().filter(|i| !i.metadata.is_deleting());
            there.for_each(|infrastructure| plan.delete(&**infrastructure));
        }
        "WaitingForBootstrapDeletion" => {
            let there = s.config.iter().filter(|c| !c.metadata.is_deleting());
            there.for_each(|config| plan.delete(&**config));
        }
        _ => {}
    }
    plan.ending(End::WaitFor(reason.to_owned().into()))
}

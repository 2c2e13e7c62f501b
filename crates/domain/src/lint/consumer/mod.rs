//! Rules about what one consumer makes of a document, by the models of [`crate::cloud_init`], [`crate::consumers`] and
//! [`crate::nova`]. Messages do not name the consumer: findings of several that say the same become one.

pub(super) mod cloud_init_drops;
pub(super) mod cloud_init_refuses;
pub(super) mod glean_drops;
pub(super) mod glean_fails;
pub(super) mod network_manager_refuses;
pub(super) mod nova_schema;
mod place;
pub(super) mod talos_drops;
pub(super) mod talos_fails;

use super::{Draft, NetworkData, Target};
use crate::{
    cloud_init::{Outcome, configure},
    consumers::Fault,
};

/// What cloud-init makes of the document; none for another target.
fn outcome(data: &NetworkData<'_>, target: Target) -> Option<Outcome> {
    match target {
        Target::CloudInit(target) => Some(configure(data.document, data.nics, target)),
        _ => None,
    }
}

/// The faults that cost the node its whole network.
fn fatal(faults: Vec<Fault>) -> Vec<Draft> {
    drafts(faults.into_iter().filter(|fault| fault.is_fatal))
}

/// The others.
fn others(faults: Vec<Fault>) -> Vec<Draft> {
    drafts(faults.into_iter().filter(|fault| !fault.is_fatal))
}

fn drafts(faults: impl Iterator<Item = Fault>) -> Vec<Draft> {
    faults.map(|fault| Draft::new(fault.place, fault.message)).collect()
}

//! Reconciles one BareMetalHost: reports an orphan, ends a reservation whose owner is gone, lets a free host be moved, and lets
//! one have power that is kept off for a remediation that is gone.

use std::{collections::BTreeMap, time::Duration};

use capm3_api::neighbours::{Cluster, KubeadmControlPlane, MachineDeployment};
use capm3_engine::{ActError, ApiError, ObjectKey, Outcome, absence::Doubt, drive};
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::info;

use super::{
    Absent, decide,
    left_off::{self, LeftOff},
    observe,
    observe::cluster_that_paused,
    orphan_release,
    owner::{self, Owner},
};
use crate::{context::Context, plan::Plan};

/// How long a reservation keeps an owner that is not there and was not seen to go: after a restore or a move it may come yet.
const GRACE: Duration = Duration::from_secs(600);

/// Since when hosts are reserved for an owner that is not there.
pub(super) type Missing = Mutex<BTreeMap<ObjectKey, (Absent, Instant)>>;

/// What the controller keeps beside objects.
#[derive(Default)]
pub(super) struct State {
    missing: Missing,
    left_off: LeftOff,
}

pub(super) async fn reconcile(context: &Context, state: &State, key: &ObjectKey) -> Outcome {
    let State { missing, left_off } = state;
    let Some(snapshot) = observe(&*context.caches, key) else {
        context.orphans.forget(key);
        left_off.lock().remove(key);
        missing.lock().remove(key);
        return Outcome::Settled;
    };
    if let Some(orphan) = &snapshot.orphan {
        return orphan_release::reconcile(context, &snapshot, orphan).await;
    }
    context.orphans.forget(key);
    let powered = left_off::reconcile(context, left_off, &snapshot).await;
    let reserved = match &snapshot.absent {
        Some(absent) => end_reservation(context, missing, key, absent).await,
        None => {
            missing.lock().remove(key);
            act(context, key, false).await
        }
    };
    match (powered, reserved) {
        (Outcome::After(one), Outcome::After(other)) => Outcome::After(one.min(other)),
        (Outcome::Settled, other) | (other, Outcome::Settled) => other,
        (_, other) => other,
    }
}

/// Ends a reservation whose owner is not there, with proof.
async fn end_reservation(context: &Context, missing: &Missing, key: &ObjectKey, absent: &Absent) -> Outcome {
    let is_watched = !matches!(absent, Absent::ControlPlane(owner) if !owner.is_watched());
    let left = if is_watched { grace_left(context, missing, key, absent) } else { Duration::ZERO };
    if !left.is_zero() {
        return Outcome::After(left);
    }
    match owner::find(context, absent).await {
        Ok(Owner::Gone) => match grace_left(context, missing, key, absent) {
            Duration::ZERO => match confirm_end_of_pause(context, key).await {
                Ok(()) => act(context, key, true).await,
                Err(source) => {
                    Outcome::Failed(ActError::reading(format!("read the Cluster of {key}"), source))
                }
            },
            left => Outcome::After(left),
        },
        Ok(Owner::Deleting) => act(context, key, true).await,
        Ok(Owner::Unknown(doubt)) => {
            info!(host = %key, "keeping the reservation: cannot confirm that {absent} is gone: {doubt}");
            match doubt {
                Doubt::NotSynced(_) => Outcome::After(doubt.retry_after()),
                _ if is_watched => Outcome::After(GRACE),
                // A kind that is not installed may never come; the next change of the host asks again.
                _ => Outcome::Settled,
            }
        }
        Ok(Owner::Present) => {
            missing.lock().remove(key);
            // No watch reports the end of what is not watched.
            if is_watched { Outcome::Settled } else { Outcome::After(GRACE) }
        }
        Err(source) => Outcome::Failed(ActError::reading(format!("read {absent}"), source)),
    }
}

/// How long to wait still before an owner that is not there counts as gone.
fn grace_left(context: &Context, missing: &Missing, key: &ObjectKey, absent: &Absent) -> Duration {
    let seen = match absent {
        Absent::Cluster(cluster) => context.deletions.has_seen::<Cluster>(cluster),
        Absent::ControlPlane(owner) => {
            owner.is_watched() && context.deletions.has_seen::<KubeadmControlPlane>(&owner.key)
        }
        Absent::Deployment(reservation) => context.deletions.has_seen::<MachineDeployment>(reservation),
    };
    if seen {
        return Duration::ZERO;
    }
    let mut missing = missing.lock();
    let entry = missing.entry(key.clone()).or_insert_with(|| (absent.clone(), Instant::now()));
    if entry.0 != *absent {
        *entry = (absent.clone(), Instant::now());
    }
    GRACE.saturating_sub(entry.1.elapsed())
}

/// Only the server itself can say that the Cluster which paused a host is not paused any more.
pub(super) async fn confirm_end_of_pause(context: &Context, key: &ObjectKey) -> Result<(), ApiError> {
    let snapshot = observe(&*context.caches, key).filter(|snapshot| !snapshot.rests);
    if let Some(cluster) = snapshot.and_then(|snapshot| cluster_that_paused(&snapshot.host)) {
        context.read_live::<Cluster>(&cluster).await?;
    }
    Ok(())
}

async fn act(context: &Context, key: &ObjectKey, owner_is_gone: bool) -> Outcome {
    drive(&context.executor, || match observe(&*context.caches, key) {
        Some(snapshot) => decide(&snapshot, owner_is_gone),
        None => Plan::done(),
    })
    .await
}

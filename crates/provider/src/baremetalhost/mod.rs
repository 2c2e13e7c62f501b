//! BareMetalHost: hosts that nobody looks after.
//!
//! A host whose Metal3Machine cannot be found is left as it is and reported; it is released only on request and with proof
//! that the machine is gone. A booking whose owner is gone ends; a free host does not hold up a move. Everything else about
//! hosts is the business of their machines. Woken by hosts, and by machines, Clusters, MachineDeployments and
//! KubeadmControlPlanes that go. Control planes of other kinds are not watched: the server is asked for them whenever a host
//! that is booked for one is looked at.

mod decide;
mod observe;
mod orphans;
mod owner;
mod release;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::plan::Plan;
use capm3_api::{
    neighbours::{BareMetalHost, Cluster, KubeadmControlPlane, MachineDeployment},
    v1beta2::Metal3Machine,
};
use capm3_domain::host::{control_plane_label, deployment_label};
use capm3_engine::{
    ActError, ApiError, Controller, Object, ObjectKey, Outcome, Queue, absence::Doubt, drive,
};

pub use decide::{Request, decide, judge_release};
use observe::cluster_that_paused;
pub use observe::{Absent, ControlPlane, Orphan, Snapshot, consumer_machine, known_to_another, observe};
pub(crate) use orphans::Orphans;
use owner::Owner;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::info;

use crate::{
    belonging::hosts_left,
    context::{Context, boxed},
    indexes::{BOOKED_HOSTS_BY_CLUSTER, BOOKED_HOSTS_BY_LABEL, HOSTS_BY_CONSUMER, PAUSED_HOSTS_BY_CLUSTER},
    watching::{Waker, came_or_went},
};

/// How long a booking keeps an owner that is not there and was not seen to go: after a restore or a move it may come yet.
const GRACE: Duration = Duration::from_secs(600);

/// Since when hosts are booked for an owner that is not there.
type Missing = Mutex<BTreeMap<ObjectKey, (Absent, Instant)>>;

/// The controller, and the task that brings orphaned hosts back to it.
pub(crate) fn controller(context: &Context) -> (Controller, impl Future<Output = ()> + use<>) {
    let queue = Arc::new(Queue::default());
    watch(context, &queue);
    let orphans = orphans::watch(context.clone(), Arc::clone(&queue));
    let context = context.clone();
    let missing = Arc::new(Missing::default());
    let reconcile = move |key: ObjectKey| {
        let (context, missing) = (context.clone(), Arc::clone(&missing));
        boxed(async move { reconcile(&context, &missing, &key).await })
    };
    (Controller::new("baremetalhost", queue, Arc::new(reconcile)), orphans)
}

async fn reconcile(context: &Context, missing: &Missing, key: &ObjectKey) -> Outcome {
    let Some(snapshot) = observe(&*context.caches, key) else {
        context.orphans.forget(key);
        missing.lock().remove(key);
        return Outcome::Settled;
    };
    if let Some(orphan) = &snapshot.orphan {
        return release::reconcile(context, &snapshot, orphan).await;
    }
    context.orphans.forget(key);
    match &snapshot.absent {
        Some(absent) => end_booking(context, missing, key, absent).await,
        None => {
            missing.lock().remove(key);
            act(context, key, false).await
        }
    }
}

/// Ends a booking whose owner is not there, with proof.
async fn end_booking(context: &Context, missing: &Missing, key: &ObjectKey, absent: &Absent) -> Outcome {
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
            info!(host = %key, "the booking stands: it is not proven that {absent} is gone: {doubt}");
            match doubt {
                Doubt::NotSynced(_) => Outcome::After(doubt.retry_after()),
                _ if is_watched => Outcome::After(GRACE),
                // A kind that is not installed may never come; the next change of the host asks again.
                _ => Outcome::Settled,
            }
        }
        Ok(Owner::Present) => {
            missing.lock().remove(key);
            // Nobody tells of the end of what is not watched.
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
        Absent::Deployment(booking) => context.deletions.has_seen::<MachineDeployment>(booking),
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
async fn confirm_end_of_pause(context: &Context, key: &ObjectKey) -> Result<(), ApiError> {
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

fn watch(context: &Context, queue: &Arc<Queue<ObjectKey>>) {
    let waker = Waker::new(context, queue);
    if let Some(store) = context.caches.store::<BareMetalHost>() {
        let w = waker.clone();
        store.subscribe(move |change| {
            if let Some(host) = &change.new {
                w.queue.add(host.key());
            }
        });
    }
    if let Some(store) = context.caches.store::<Metal3Machine>() {
        let w = waker.clone();
        store.subscribe(move |change| {
            let left = w.caches.upgrade().map(|caches| hosts_left(&*caches, change));
            left.into_iter().flatten().for_each(|host| w.queue.add(host));
            if let Some(machine) = came_or_went(change) {
                w.by_index(&HOSTS_BY_CONSUMER, &machine.key().to_string());
            }
        });
    }
    if let Some(store) = context.caches.store::<Cluster>() {
        let w = waker.clone();
        store.subscribe(move |change| {
            let rests =
                |cluster: &Option<Arc<Cluster>>| cluster.as_ref().map(|c| (c.is_paused(), c.spec.clone()));
            if came_or_went(change).is_none() && rests(&change.old) == rests(&change.new) {
                return;
            }
            for cluster in [&change.old, &change.new].into_iter().flatten() {
                let key = cluster.key().to_string();
                w.by_index(&BOOKED_HOSTS_BY_CLUSTER, &key);
                w.by_index(&PAUSED_HOSTS_BY_CLUSTER, &key);
            }
        });
    }
    wake_for_owner::<MachineDeployment>(context, &waker, deployment_label);
    wake_for_owner::<KubeadmControlPlane>(context, &waker, control_plane_label);
}

/// An owner of machines that comes or goes wakes the hosts that are booked for it.
fn wake_for_owner<K: Object>(context: &Context, waker: &Waker, label: fn(&str) -> String) {
    let Some(store) = context.caches.store::<K>() else { return };
    let waker = waker.clone();
    store.subscribe(move |change| {
        if let Some(owner) = came_or_went(change) {
            let key = owner.key();
            waker.by_index(&BOOKED_HOSTS_BY_LABEL, &format!("{}/{}", key.namespace, label(&key.name)));
        }
    });
}

//! BareMetalHost: hosts that nobody looks after any more.
//!
//! A host whose Metal3Machine is gone is wiped and given back; a booking whose owner is gone ends; a free host does not
//! hold up a move. Everything else about hosts is the business of their machines. Woken by hosts, and by machines,
//! Clusters, MachineDeployments and KubeadmControlPlanes that go. Control planes of other kinds are not watched: the
//! server is asked for them whenever a host that is booked for one is looked at.

mod decide;
mod observe;
mod standing;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use capm3_api::{
    neighbours::{BareMetalHost, Cluster, KubeadmControlPlane, MachineDeployment},
    v1beta2::Metal3Machine,
};
use capm3_domain::host::{control_plane_label, deployment_label};
use capm3_engine::{ActError, ApiError, Controller, Object, ObjectKey, Outcome, Plan, Queue, drive};
pub use decide::decide;
use observe::cluster_that_paused;
pub use observe::{Absent, ControlPlane, Snapshot, observe};
use parking_lot::Mutex;
use standing::{Standing, standing};
use tokio::time::Instant;

use crate::{
    belonging::hosts_left,
    context::{Context, boxed},
    indexes::{BOOKED_HOSTS_BY_CLUSTER, BOOKED_HOSTS_BY_LABEL, HOSTS_BY_CONSUMER, PAUSED_HOSTS_BY_CLUSTER},
    watching::{Waker, came_or_went},
};

/// How long a host keeps an owner that is not there and was not seen to go: after a restore or a move it may come yet.
const GRACE: Duration = Duration::from_secs(600);

/// Since when hosts name an owner that is not there.
type Missing = Mutex<BTreeMap<ObjectKey, (Absent, Instant)>>;

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watch(context, &queue);
    let context = context.clone();
    let missing = Arc::new(Missing::default());
    Controller::new(
        "baremetalhost",
        queue,
        Arc::new(move |key: ObjectKey| {
            let (context, missing) = (context.clone(), Arc::clone(&missing));
            boxed(async move { reconcile(&context, &missing, &key).await })
        }),
    )
}

async fn reconcile(context: &Context, missing: &Missing, key: &ObjectKey) -> Outcome {
    let absent = observe(&*context.caches, key).and_then(|snapshot| snapshot.absent);
    let Some(absent) = absent else {
        missing.lock().remove(key);
        return act(context, key, false).await;
    };
    let is_watched = !matches!(&absent, Absent::ControlPlane(owner) if !owner.is_watched());
    let left = if is_watched { patience(context, missing, key, &absent) } else { Duration::ZERO };
    if !left.is_zero() {
        return Outcome::After(left);
    }
    // Only the server itself can say that the owner is gone.
    match standing(context, &absent).await {
        Ok(Standing::Gone) => match patience(context, missing, key, &absent) {
            Duration::ZERO => match confirm_end_of_pause(context, key).await {
                Ok(()) => act(context, key, true).await,
                Err(source) => {
                    Outcome::Failed(ActError { what: format!("read the Cluster of {key}"), source })
                }
            },
            left => Outcome::After(left),
        },
        Ok(Standing::Goes) => act(context, key, true).await,
        Ok(stays) => {
            missing.lock().remove(key);
            // Nobody tells of the end of what is not watched.
            if stays == Standing::Stays && !is_watched { Outcome::After(GRACE) } else { Outcome::Settled }
        }
        Err(source) => Outcome::Failed(ActError { what: format!("read {absent}"), source }),
    }
}

/// How long to wait still before an owner that is not there counts as gone.
fn patience(context: &Context, missing: &Missing, key: &ObjectKey, absent: &Absent) -> Duration {
    let seen = match absent {
        Absent::Machine(machine) => context.departures.has_seen::<Metal3Machine>(machine),
        Absent::Cluster(cluster) => context.departures.has_seen::<Cluster>(cluster),
        Absent::ControlPlane(owner) => {
            owner.is_watched() && context.departures.has_seen::<KubeadmControlPlane>(&owner.key)
        }
        Absent::Deployment(booking) => context.departures.has_seen::<MachineDeployment>(booking),
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
        Some(snapshot) => decide(&snapshot, owner_is_gone, context.fast_track),
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

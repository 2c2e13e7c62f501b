//! The connection to one workload cluster: from its kubeconfig to the copy of its Nodes, again and again.
//!
//! Takes the cluster and what announces a new kubeconfig; sets what is known of it in [`Workloads`]. It ends with them.

use std::{
    sync::{Arc, Weak, atomic::AtomicBool},
    time::Duration,
};

use capm3_api::neighbours::Node;
use capm3_engine::{ApiClient, ApiError, Detail, Informer, ObjectKey, Store, informer::backoff};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tracing::{debug, info};

use super::{
    ConnectError, NODES_BY_HOST, NODES_BY_HOSTNAME, NODES_BY_UUID, NoKubeconfig, RETRY, SAFETY_NET, Workload,
    Workloads, kubeconfig_secret, weight,
};

/// Connects, then keeps the Nodes; while that fails, says why and tries again when the Secret changes or after a while.
pub(super) async fn run(
    workloads: Weak<Workloads>,
    cluster: ObjectKey,
    secret_changed: Arc<Notify>,
    followed: Arc<AtomicBool>,
) {
    let mut offences = 0;
    loop {
        let Some(this) = workloads.upgrade() else { return };
        let (kubeconfig, wait) = match this.kubeconfig(&cluster).await {
            Ok(kubeconfig) => (Ok(kubeconfig), SAFETY_NET),
            Err(NoKubeconfig::Missing(error)) => {
                debug!(%cluster, %error, "the workload cluster has no kubeconfig");
                this.give_up(&cluster, error.to_string(), false);
                drop(this);
                changed_or_after(&secret_changed, SAFETY_NET).await;
                continue;
            }
            Err(NoKubeconfig::Unusable(error)) => (Err(error), SAFETY_NET),
            Err(NoKubeconfig::NotRead(error)) => (Err(error), RETRY),
        };
        let client =
            match &kubeconfig {
                Ok(kubeconfig) => this.connect.connect(kubeconfig).await.map_err(|error| {
                    ConnectError(format!("Secret {}: {error}", kubeconfig_secret(&cluster)))
                }),
                Err(error) => Err(ConnectError(error.0.clone())),
            };
        match (client, kubeconfig) {
            (Ok(client), Ok(kubeconfig)) => {
                let client = client.within(&this.budget);
                drop(this);
                let began = Instant::now();
                let follow = follow(workloads.clone(), cluster.clone(), client, Arc::clone(&followed));
                let replaced = until_replaced(&workloads, &cluster, &secret_changed, &kubeconfig);
                let offence = tokio::select! {
                    biased;
                    offence = follow => offence,
                    () = replaced => continue,
                };
                // One that kept within its limits for long begins again.
                offences = if began.elapsed() > SAFETY_NET { 1 } else { offences + 1 };
                let Some(this) = workloads.upgrade() else { return };
                this.unreachable(&cluster, &offence);
                drop(this);
                changed_or_after(&secret_changed, backoff(RETRY, SAFETY_NET, offences)).await;
            }
            (Err(error), _) | (_, Err(error)) => {
                this.unreachable(&cluster, &error.to_string());
                drop(this);
                changed_or_after(&secret_changed, wait).await;
            }
        }
    }
}

async fn changed_or_after(changed: &Notify, pause: Duration) {
    tokio::select! {
        biased;
        () = changed.notified() => {}
        () = tokio::time::sleep(pause) => {}
    }
}

/// Returns when the kubeconfig is another one than that in use.
async fn until_replaced(workloads: &Weak<Workloads>, cluster: &ObjectKey, changed: &Notify, used: &[u8]) {
    loop {
        changed.notified().await;
        let Some(this) = workloads.upgrade() else { return };
        match this.kubeconfig(cluster).await {
            Ok(kubeconfig) if kubeconfig == used => {}
            Ok(_) | Err(NoKubeconfig::Missing(_) | NoKubeconfig::Unusable(_)) => return,
            // What is in use works until the new one can be read.
            Err(NoKubeconfig::NotRead(_)) => {
                drop(this);
                tokio::time::sleep(RETRY).await;
                changed.notify_one();
            }
        }
    }
}

/// Keeps the Nodes until the server exceeds a limit, which is returned. Connection and Nodes are given up then.
async fn follow(
    workloads: Weak<Workloads>,
    cluster: ObjectKey,
    client: ApiClient,
    followed: Arc<AtomicBool>,
) -> String {
    let store = Arc::new(Store::<Node>::new(&[NODES_BY_HOST, NODES_BY_HOSTNAME, NODES_BY_UUID]));
    let (weak, key) = (workloads.clone(), cluster.clone());
    store.subscribe(move |change| {
        if let Some(this) = weak.upgrade() {
            this.tell_of_node(&key, change);
        }
    });
    let (nodes, reached) = (Arc::clone(&store), client.clone());
    let (offence, mut offences) = watch::channel(None);
    let informer = Informer::new(client, store, Detail::Whole).weighing(weight::weigh);
    let informer = informer.reporting(move |listed| {
        let Some(this) = workloads.upgrade() else { return };
        match listed {
            Ok(()) => {
                if !matches!(this.get(&cluster), Workload::Synced(..)) {
                    info!(%cluster, "connected to the workload cluster");
                }
                this.set(&cluster, Workload::Synced(Arc::clone(&nodes), reached.clone()));
            }
            Err(error @ ApiError::LimitExceeded(_)) => {
                offence.send_replace(Some(format!("its Nodes cannot be read: {error}")));
            }
            Err(error) => {
                let is_forbidden = matches!(error, ApiError::Refused { code: 403, .. });
                let cause = format!("its Nodes cannot be listed: {error}");
                this.not_readable(&cluster, &cause, is_forbidden);
            }
        }
    });
    tokio::select! {
        biased;
        offence = offences.wait_for(Option::is_some) => {
            offence.ok().and_then(|offence| offence.clone()).unwrap_or_default()
        }
        () = informer.telling(followed).run() => String::new(),
    }
}

//! IPPool: the built-in address manager. Gives each claim an address, as an IPAddress, and takes it back when the
//! claim goes. Claims of Cluster API (IPAddressClaim) that name a pool are served from the same books.
//!
//! One pass serves the whole pool: releases first, then claims by age. Woken by the pool, by its claims and
//! addresses, by its Cluster, and by the end of any address whose name was in the way. Only IPAddress objects say
//! which address is in use; the status is their mirror.

mod allocate;
mod claim;
mod decide;
mod kinds;
mod observe;
mod orphaned_dependents;
mod watches;

use std::sync::Arc;

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    neighbours::{CapiIpAddress, IpAddressClaim},
};
use capm3_domain::address::ClaimKind;
use capm3_engine::{ActError, Controller, ObjectKey, Outcome, Queue, Reader};
pub use claim::addresses_in_status;
pub(crate) use decide::is_at_work;
pub use decide::{allocated, decide, decide_in_parts};
pub use kinds::{Claim, Given};
use observe::Unproven;
pub use observe::{PoolSnapshot, observe};

use crate::{
    batch::serve,
    context::{Context, boxed},
    indexes::{CAPI_IP_ADDRESSES_BY_POOL, IP_ADDRESSES_BY_POOL},
};

/// Name in logs and counts.
const CONTROLLER: &str = "ippool";

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    watches::watch(&context.caches, &queue);
    let context = context.clone();
    Controller::new(
        CONTROLLER,
        queue,
        Arc::new(move |key: ObjectKey| {
            let context = context.clone();
            boxed(async move { reconcile(&context, &key).await })
        }),
    )
}

async fn reconcile(context: &Context, key: &ObjectKey) -> Outcome {
    if context.caches.get::<IpPool>(key).is_none() {
        context.waits.forget(CONTROLLER, key);
        return orphaned_dependents::clean_up(context, key).await;
    }
    let mut unproven = Unproven::default();
    let outcome = serve(context, (CONTROLLER, key), || {
        let snapshot = observe(&*context.caches, key)?;
        unproven = snapshot.unproven();
        // Until then nobody is served: another claim could get the address that is missing.
        unproven.without_address.is_empty().then_some(snapshot)
    })
    .await;
    let is_empty = unproven.is_empty;
    match (prove(context, key, unproven).await, outcome) {
        (Ok(true), Outcome::Settled) => {
            let proven =
                || Some(PoolSnapshot { is_proven_empty: is_empty, ..observe(&*context.caches, key)? });
            serve(context, (CONTROLLER, key), proven).await
        }
        (Err(unproven), Outcome::Settled) => unproven,
        (_, outcome) => outcome,
    }
}

/// Proves what the pool cannot go on without; gives whether anything was proven.
async fn prove(context: &Context, pool: &ObjectKey, unproven: Unproven) -> Result<bool, Outcome> {
    let is_any = !unproven.claims.is_empty()
        || !unproven.addresses.is_empty()
        || !unproven.without_address.is_empty()
        || unproven.is_empty;
    for claim in unproven.without_address {
        let key = ObjectKey::new(&pool.namespace, &claim.name);
        let read = match claim.kind {
            ClaimKind::IpClaim => context.read_live::<IpClaim>(&key).await,
            ClaimKind::IpAddressClaim => context.read_live::<IpAddressClaim>(&key).await,
        };
        let what = || format!("read the claim {key}, whose address is missing");
        read.map_err(|source| Outcome::Failed(ActError::reading(what(), source)))?;
    }
    for claim in unproven.claims {
        let key = ObjectKey::new(&pool.namespace, &claim.name);
        match claim.kind {
            ClaimKind::IpClaim => context.prove_gone::<IpClaim>(&key).await?,
            ClaimKind::IpAddressClaim => context.prove_gone::<IpAddressClaim>(&key).await?,
        }
    }
    for (kind, name) in unproven.addresses {
        let key = ObjectKey::new(&pool.namespace, name);
        match kind {
            ClaimKind::IpClaim => context.prove_gone::<IpAddress>(&key).await?,
            ClaimKind::IpAddressClaim => context.prove_gone::<CapiIpAddress>(&key).await?,
        }
    }
    if unproven.is_empty {
        let value = pool.to_string();
        context.prove_none_left(&pool.namespace, &IP_ADDRESSES_BY_POOL, &value).await?;
        context.prove_none_left(&pool.namespace, &CAPI_IP_ADDRESSES_BY_POOL, &value).await?;
    }
    Ok(is_any)
}

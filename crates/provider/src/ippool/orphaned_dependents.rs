//! What an IPPool leaves behind when its finalizer was taken off by hand: claims and addresses being deleted, which
//! nobody else would release.

use std::sync::Arc;

use crate::plan::Plan;
use capm3_api::ipam::IpPool;
use capm3_engine::{ObjectKey, Outcome, Reader};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::ObjectMeta;

use super::{
    allocate::allocate,
    claim,
    decide::let_orphans_go,
    observe::{PoolSnapshot, Unproven, surroundings},
};
use crate::context::Context;

/// Releases what is deleted of a pool that is gone.
pub(super) async fn clean_up(context: &Context, pool: &ObjectKey) -> Outcome {
    let now = context.clock.now_text();
    let seen = surroundings(&*context.caches, pool, Arc::new(ghost(pool)));
    let unproven = Unproven { is_empty: false, ..seen.unproven() };
    if let Err(unproven) = super::prove(context, pool, unproven).await {
        return unproven;
    }
    context.clean_up_after::<IpPool>(pool, || plan(&*context.caches, pool, &now)).await
}

fn plan(reader: &impl Reader, key: &ObjectKey, now: &str) -> Plan {
    if reader.get::<IpPool>(key).is_some() {
        return Plan::done();
    }
    let snapshot = surroundings(reader, key, Arc::new(ghost(key)));
    let claims = snapshot.claims.iter().filter(|claim| claim.is_deleting()).cloned().collect();
    let snapshot = PoolSnapshot { claims, claims_without_address: Vec::new(), ..snapshot };
    let mut plan = Plan::done();
    for (claim, step) in allocate(&snapshot).steps {
        plan.append(claim::plan(&snapshot.pool, claim, &step, now));
    }
    plan.append(let_orphans_go(&snapshot));
    plan
}

/// The pool as it was last: being deleted.
fn ghost(key: &ObjectKey) -> IpPool {
    let metadata = ObjectMeta {
        namespace: Some(key.namespace.clone()),
        name: Some(key.name.clone()),
        deletion_timestamp: Some(Time(jiff::Timestamp::UNIX_EPOCH)),
        ..ObjectMeta::default()
    };
    IpPool { metadata, ..IpPool::default() }
}

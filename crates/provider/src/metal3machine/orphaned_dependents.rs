//! What a machine leaves behind when its finalizer was taken off by hand: the claim on its data.
//!
//! Its hosts are looked after by the controller of hosts; the claim, which keeps index and addresses, goes after them.

use crate::plan::Plan;
use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3DataClaim, Metal3Machine},
    vocabulary::finalizer,
};
use capm3_engine::{ObjectKey, Outcome, Reader};

use super::claim_release;
use crate::{context::Context, indexes::HOSTS_BY_CONSUMER, rightful_owner::of_another_than};

/// Releases the claim of a machine that is gone, once no host names the machine any more. Both are proven: a host that
/// still runs uses the addresses of the claim.
pub(super) async fn clean_up(context: &Context, key: &ObjectKey) -> Outcome {
    if abandoned_claim(context, key).is_none() {
        return Outcome::Settled;
    }
    // A host that names the machine may belong to another one; the plan decides.
    let hosts = context.prove_none_left(&key.namespace, &HOSTS_BY_CONSUMER, &key.to_string()).await;
    if let Err(unproven) = hosts {
        return unproven;
    }
    let plan = || {
        let mut plan = Plan::done();
        if let Some(claim) = abandoned_claim(context, key) {
            claim_release::release(&mut plan, &claim);
        }
        plan
    };
    context.clean_up_after::<Metal3Machine>(key, plan).await
}

fn abandoned_claim(context: &Context, key: &ObjectKey) -> Option<Metal3DataClaim> {
    let reader = &*context.caches;
    let is_gone = reader.get::<Metal3Machine>(key).is_none();
    let hosts = reader.by_index(&HOSTS_BY_CONSUMER, &key.to_string());
    let hosts_are_free = hosts.iter().all(|host| of_another_than(reader, key, host).is_some());
    let claim = reader.get::<Metal3DataClaim>(key).filter(|_| is_gone && hosts_are_free)?;
    claim.metadata.has_finalizer(finalizer::MACHINE).then(|| claim.as_ref().clone())
}

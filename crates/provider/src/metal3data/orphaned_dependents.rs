//! What a Metal3Data leaves behind when its finalizer was taken off by hand: its address claims, which are deleted with
//! their owner and would wait for it for ever.

use crate::plan::Plan;
use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3Data, Metal3DataClaim},
    vocabulary::finalizer,
};
use capm3_engine::{ObjectKey, Outcome, Reader};

use kube::core::ObjectMeta;

use super::claims::AddressClaim;
use crate::{
    context::Context,
    indexes::{CAPI_CLAIMS_BY_DATA, CLAIMS_BY_RENDERED_DATA, IP_CLAIMS_BY_DATA},
};

/// Releases the address claims of data that is gone, once no machine runs on it.
pub(super) async fn clean_up(context: &Context, key: &ObjectKey) -> Outcome {
    let plan = || {
        let mut plan = Plan::done();
        for claim in abandoned(&*context.caches, key) {
            claim.remove_finalizer(&mut plan);
        }
        plan
    };
    context.clean_up_after::<Metal3Data>(key, plan).await
}

/// Address claims being deleted that only wait for data which is not there.
fn abandoned(reader: &impl Reader, key: &ObjectKey) -> Vec<AddressClaim> {
    let value = key.to_string();
    let runs = |claim: &Metal3DataClaim| {
        !claim.metadata.is_deleting() || claim.metadata.has_finalizer(finalizer::MACHINE)
    };
    let in_use = reader.by_index(&CLAIMS_BY_RENDERED_DATA, &value).iter().any(|claim| runs(claim));
    if in_use || reader.get::<Metal3Data>(key).is_some() {
        return Vec::new();
    }
    let metal3 = reader.by_index(&IP_CLAIMS_BY_DATA, &value).into_iter().map(AddressClaim::Metal3);
    let capi = reader.by_index(&CAPI_CLAIMS_BY_DATA, &value).into_iter().map(AddressClaim::Capi);
    let waits = |claim: &ObjectMeta| claim.is_deleting() && claim.has_finalizer(finalizer::DATA);
    metal3.chain(capi).filter(|claim| waits(claim.metadata())).collect()
}

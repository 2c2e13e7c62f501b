//! What a Metal3DataTemplate leaves behind when its finalizer was taken off by hand: claims being deleted, which need
//! nothing of it.

use std::sync::Arc;

use crate::plan::Plan;
use capm3_api::{
    metadata::MetadataExt,
    neighbours::Cluster,
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate},
    vocabulary::finalizer,
};
use capm3_engine::{ObjectKey, Outcome, Reader};

use super::{
    claim,
    observe::{is_of, unseen_datas},
};
use crate::{
    context::Context,
    indexes::{DATA_BY_TEMPLATE, OPEN_CLAIMS_BY_TEMPLATE},
};

/// Takes back the data of claims that are deleted and whose template is gone.
pub(super) async fn clean_up(context: &Context, template: &ObjectKey) -> Outcome {
    let claims = context.caches.by_index(&OPEN_CLAIMS_BY_TEMPLATE, &template.to_string());
    if context.caches.get::<Metal3DataTemplate>(template).is_none() {
        for data in unseen_datas(&*context.caches, &claims).values() {
            if let Err(unproven) = context.prove_gone::<Metal3Data>(data).await {
                return unproven;
            }
        }
    }
    context.clean_up_after::<Metal3DataTemplate>(template, || plan(&*context.caches, template)).await
}

fn plan(reader: &impl Reader, template: &ObjectKey) -> Plan {
    let mut plan = Plan::done();
    if reader.get::<Metal3DataTemplate>(template).is_some() {
        return plan;
    }
    let claims = reader.by_index(&OPEN_CLAIMS_BY_TEMPLATE, &template.to_string());
    let unseen = unseen_datas(reader, &claims);
    let going: Vec<Arc<Metal3DataClaim>> = claims
        .into_iter()
        .filter(|claim| claim.metadata.is_deleting() && !is_paused(reader, claim))
        .filter(|claim| !unseen.contains_key(claim.metadata.name_str()))
        .collect();
    if going.is_empty() {
        return plan;
    }
    let datas = reader.by_index(&DATA_BY_TEMPLATE, &template.to_string());
    for going in going {
        let own: Vec<_> = datas.iter().filter(|data| is_of(data, &going)).map(AsRef::as_ref).collect();
        if own.is_empty() || !going.metadata.has_finalizer(finalizer::MACHINE) {
            plan.append(claim::release(&going, own.into_iter()));
        }
    }
    plan
}

fn is_paused(reader: &impl Reader, claim: &Metal3DataClaim) -> bool {
    claim::is_paused(claim, |cluster| {
        let key = ObjectKey::new(claim.metadata.namespace_str(), cluster);
        reader.get::<Cluster>(&key).is_some_and(|cluster| cluster.is_paused())
    })
}

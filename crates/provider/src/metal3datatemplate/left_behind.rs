//! What a Metal3DataTemplate leaves behind when its finalizer was taken off by hand: claims on their way out, which need
//! nothing of it.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Cluster,
    v1beta2::{Metal3DataClaim, Metal3DataTemplate},
    vocabulary::{annotation, finalizer, label},
};
use capm3_engine::{ActError, ObjectKey, Outcome, Plan, Reader, drive};

use super::{claim, observe::is_of};
use crate::{
    context::Context,
    indexes::{DATA_BY_TEMPLATE, OPEN_CLAIMS_BY_TEMPLATE},
};

/// Takes back the data of claims that are deleted and whose template is gone.
pub(super) async fn clean_up(context: &Context, template: &ObjectKey) -> Outcome {
    if plan(&*context.caches, template).is_quiet() {
        return Outcome::Settled;
    }
    // Only the server itself can say that the template is gone.
    match context.read_live::<Metal3DataTemplate>(template).await {
        Ok(None) => drive(&context.executor, || plan(&*context.caches, template)).await,
        Ok(Some(_)) => Outcome::Settled,
        Err(source) => {
            Outcome::Failed(ActError { what: format!("read Metal3DataTemplate {template}"), source })
        }
    }
}

fn plan(reader: &impl Reader, template: &ObjectKey) -> Plan {
    let mut plan = Plan::done();
    if reader.get::<Metal3DataTemplate>(template).is_some() {
        return plan;
    }
    let claims = reader.by_index(&OPEN_CLAIMS_BY_TEMPLATE, &template.to_string());
    let going: Vec<Arc<Metal3DataClaim>> = claims
        .into_iter()
        .filter(|claim| claim.metadata.is_deleting() && !is_paused(reader, claim))
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
    let cluster = claim.metadata.label(label::CLUSTER_NAME);
    let key = cluster.map(|name| ObjectKey::new(claim.metadata.namespace_str(), name));
    claim.metadata.annotation(annotation::PAUSED).is_some()
        || key.and_then(|key| reader.get::<Cluster>(&key)).is_some_and(|cluster| cluster.is_paused())
}

//! The end of the claim on data, once the host is given back.
//!
//! Where everything that the claim holds is known, its data is deleted with it and all of our finalizers go off the claim in one
//! write: the controller of the data gives the addresses back once it sees that the claim is gone. Otherwise only the finalizer
//! of the machine goes, and the controller of the template does the rest. Must not leave data behind that nobody deletes.

use std::sync::Arc;

use crate::plan::Plan;
use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate},
    vocabulary::{annotation, finalizer},
};
use capm3_engine::{ObjectKey, Reader};

use crate::{finalizers::remove_finalizer, indexes::DATA_BY_CLAIM, metal3datatemplate::sees_the_end_of};

/// The data that goes with its claim: the only one of the claim, of a template that is there and at work.
pub(super) fn data_to_delete(reader: &impl Reader, claim: &Metal3DataClaim) -> Option<Arc<Metal3Data>> {
    let here = |name: &str| ObjectKey::new(claim.metadata.namespace_str(), name);
    let is_paused = |metadata: &kube::core::ObjectMeta| metadata.annotation(annotation::PAUSED).is_some();
    let template = claim.spec.template.as_ref().map(|template| template.name_str())?;
    let template = reader.get::<Metal3DataTemplate>(&here(template))?;
    if is_paused(&template.metadata) || is_paused(&claim.metadata) {
        return None;
    }
    let named = claim.status.rendered_data.as_ref()?.name_str();
    let datas = reader.by_index(&DATA_BY_CLAIM, &here(claim.metadata.name_str()).to_string());
    let [only] = datas.as_slice() else { return None };
    (only.metadata.name_str() == named && sees_the_end_of(claim, only)).then(|| Arc::clone(only))
}

/// Deletes the data, takes our finalizers off the claim and deletes it, in this order: data that is being deleted waits for
/// the end of its claim, so a crash in between leaves nothing that is not found again.
pub(super) fn release_with_data(plan: &mut Plan, claim: &Metal3DataClaim, data: &Metal3Data) {
    if !data.metadata.is_deleting() {
        plan.delete(data);
    }
    release_of(plan, claim, &[finalizer::MACHINE, finalizer::DATA_CLAIM]);
}

/// Takes the finalizer of the machine off a claim and deletes it.
pub(super) fn release(plan: &mut Plan, claim: &Metal3DataClaim) {
    release_of(plan, claim, &[finalizer::MACHINE]);
}

fn release_of(plan: &mut Plan, claim: &Metal3DataClaim, finalizers: &[&str]) {
    let mut released = claim.clone();
    finalizers.iter().for_each(|finalizer| remove_finalizer(&mut released.metadata, finalizer));
    plan.update_object(claim, &released);
    if !claim.metadata.is_deleting() {
        plan.delete(claim);
    }
}

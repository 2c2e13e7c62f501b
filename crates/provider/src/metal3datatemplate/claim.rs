//! One claim: give it data, or take its data back.

use crate::plan::Plan;
use capm3_api::{
    metadata::MetadataExt,
    reference::ObjectRef,
    v1beta2::{self, Metal3Data, Metal3DataClaim, Metal3DataSpec, Metal3DataTemplate, Metal3Machine},
    vocabulary::{annotation, condition, event, finalizer, label, reason},
};
use capm3_domain::index::Index;
use capm3_engine::{EventNote, Object};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;

use crate::{
    conditions::{Stamp, set},
    finalizers::{add_finalizer, remove_finalizer},
    metal3data::{asks_for, hold, wanted_spec},
    owners::controlled_by,
};

/// Longest text that `status.errorMessage` may have.
const MESSAGE_LIMIT: usize = 512;

/// Whether a claim is paused, or its Cluster is.
pub(super) fn is_paused(claim: &Metal3DataClaim, cluster_is_paused: impl FnOnce(&str) -> bool) -> bool {
    let cluster = claim.metadata.label(label::CLUSTER_NAME);
    claim.metadata.annotation(annotation::PAUSED).is_some() || cluster.is_some_and(cluster_is_paused)
}

/// The claim as it is once nothing can be lost any more: with our finalizer on it.
pub(super) fn held(claim: &Metal3DataClaim) -> Metal3DataClaim {
    let mut held = claim.clone();
    add_finalizer(&mut held.metadata, finalizer::DATA_CLAIM);
    held
}

/// Points the claim at data that is there already.
pub(super) fn link(claim: &Metal3DataClaim, data: &Metal3Data) -> Plan {
    let mut plan = Plan::done();
    plan.update(claim, &served(held(claim), data));
    plan
}

/// Says on the claim why it gets no data.
pub(super) fn report(claim: &Metal3DataClaim, message: &str, now: &str) -> Plan {
    let mut new = held(claim);
    new.status.error_message = Some(message.chars().take(MESSAGE_LIMIT).collect());
    let stamp = Stamp { now, generation: claim.metadata.generation };
    set(&mut new.status.conditions, stamp, condition::READY, false, reason::DATA_NOT_CREATED, message);
    let mut plan = Plan::done();
    plan.update_object(claim, &new);
    if plan.update_status(claim, &new) {
        plan.event(EventNote::warning(claim, reason::DATA_NOT_CREATED, message));
    }
    plan
}

/// Gives the claim `data` in place of one that could never be rendered, which is taken back.
pub(super) fn replace(claim: &Metal3DataClaim, unfit: &Metal3Data, data: &Metal3Data, is_new: bool) -> Plan {
    let mut plan = if is_new { create(claim, data) } else { link(claim, data) };
    take_back(&mut plan, unfit);
    let words = format!(
        "{} replaces {}, for which the template has no address",
        data.metadata.name_str(),
        unfit.metadata.name_str()
    );
    plan.event(EventNote::normal(claim, event::INDEX_REPLACED, words));
    plan
}

/// Gives the claim an index: finalizer first, so that the claim cannot vanish and leave its data behind.
pub(super) fn create(claim: &Metal3DataClaim, data: &Metal3Data) -> Plan {
    let held = held(claim);
    let mut plan = Plan::done();
    plan.update_object(claim, &held);
    plan.create(data);
    plan.update_status(&held, &served(held.clone(), data));
    plan
}

fn served(mut claim: Metal3DataClaim, data: &Metal3Data) -> Metal3DataClaim {
    let key = data.key();
    claim.status.rendered_data = Some(ObjectRef::new(key.namespace, key.name));
    claim.status.error_message = None;
    claim
}

/// The data for an index. `machine` is the claim's reference to its Metal3Machine, `seen` that machine, if it is there: then
/// the data is made with all that its own controller would write to it first thing.
pub(super) fn data(
    template: &Metal3DataTemplate,
    claim: &Metal3DataClaim,
    machine: &OwnerReference,
    seen: Option<&Metal3Machine>,
    index: Index,
    name: String,
) -> Metal3Data {
    let (template_name, namespace) = (template.metadata.name_str(), template.metadata.namespace_str());
    let machine = OwnerReference {
        api_version: v1beta2::API_VERSION.to_owned(),
        controller: None,
        block_owner_deletion: None,
        ..machine.clone()
    };
    let key = template.spec.template_reference.clone();
    let key = key.or_else(|| template.metadata.annotation(annotation::TEMPLATE_REFERENCE).map(str::to_owned));
    let mirrored = |key: &String| [(annotation::TEMPLATE_REFERENCE.to_owned(), key.clone())].into();
    let mut data = Metal3Data {
        metadata: ObjectMeta {
            annotations: key.as_ref().map(mirrored),
            name: Some(name),
            namespace: Some(namespace.to_owned()),
            labels: claim.metadata.labels.clone(),
            finalizers: Some(vec![finalizer::DATA_CLAIM.to_owned()]),
            owner_references: Some(vec![controlled_by(claim), machine]),
            ..ObjectMeta::default()
        },
        spec: Metal3DataSpec {
            index: Some(index.get()),
            template: Some(ObjectRef::new(namespace, template_name)),
            claim: Some(ObjectRef::new(namespace, claim.metadata.name_str())),
            template_reference: key,
            ..Metal3DataSpec::default()
        },
        ..Metal3Data::default()
    };
    if let Some(seen) = seen.filter(|seen| asks_for(seen, template_name)) {
        hold(&mut data, &wanted_spec(template, Some(seen)), seen);
    }
    data
}

/// Takes back the data of a claim that is being deleted, then releases the claim.
pub(super) fn release<'a>(claim: &Metal3DataClaim, datas: impl Iterator<Item = &'a Metal3Data>) -> Plan {
    let mut plan = Plan::done();
    for data in datas {
        if !sees_the_end_of(claim, data) {
            take_back(&mut plan, data);
        } else if !data.metadata.is_deleting() {
            plan.delete(data);
        }
    }
    let mut new = claim.clone();
    remove_finalizer(&mut new.metadata, finalizer::DATA_CLAIM);
    plan.update(claim, &new);
    plan
}

/// Whether the data's own controller, which gives its addresses back, can tell by the owner that this claim is gone. It then
/// takes off the claim's finalizer together with its own, in one write.
pub(crate) fn sees_the_end_of(claim: &Metal3DataClaim, data: &Metal3Data) -> bool {
    data.metadata.has_finalizer(finalizer::DATA) && data.metadata.is_owned_by_uid(claim.metadata.uid_str())
}

fn take_back(plan: &mut Plan, data: &Metal3Data) {
    let mut new = data.clone();
    remove_finalizer(&mut new.metadata, finalizer::DATA_CLAIM);
    plan.update_object(data, &new);
    if !data.metadata.is_deleting() {
        plan.delete(data);
    }
}

//! One claim: give it data, or take its data back.

use capm3_api::{
    metadata::MetadataExt,
    reference::ObjectRef,
    v1beta2::{self, Metal3Data, Metal3DataClaim, Metal3DataSpec, Metal3DataTemplate},
    vocabulary::finalizer,
};
use capm3_domain::index::{Index, data_name};
use capm3_engine::{Object, Plan};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;

use crate::finalizers::{add_finalizer, remove_finalizer};
use crate::owners::controlled_by;

/// Longest text that `status.errorMessage` may have.
const MESSAGE_LIMIT: usize = 512;

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
pub(super) fn report(claim: &Metal3DataClaim, message: &str) -> Plan {
    let mut new = held(claim);
    new.status.error_message = Some(message.chars().take(MESSAGE_LIMIT).collect());
    let mut plan = Plan::done();
    plan.update(claim, &new);
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

/// The data for an index. `machine` is the claim's reference to its Metal3Machine.
pub(super) fn data(
    template: &Metal3DataTemplate,
    claim: &Metal3DataClaim,
    machine: &OwnerReference,
    index: Index,
) -> Metal3Data {
    let (name, namespace) = (template.metadata.name_str(), template.metadata.namespace_str());
    let machine = OwnerReference {
        api_version: v1beta2::API_VERSION.to_owned(),
        controller: None,
        block_owner_deletion: None,
        ..machine.clone()
    };
    Metal3Data {
        metadata: ObjectMeta {
            name: Some(data_name(name, index)),
            namespace: Some(namespace.to_owned()),
            labels: claim.metadata.labels.clone(),
            finalizers: Some(vec![finalizer::DATA_CLAIM.to_owned()]),
            owner_references: Some(vec![controlled_by(claim), machine]),
            ..ObjectMeta::default()
        },
        spec: Metal3DataSpec {
            index: Some(index.get()),
            template: Some(ObjectRef::new(namespace, name)),
            claim: Some(ObjectRef::new(namespace, claim.metadata.name_str())),
            ..Metal3DataSpec::default()
        },
        ..Metal3Data::default()
    }
}

/// Takes back the data of a claim that is being deleted, then lets the claim go.
pub(super) fn release<'a>(claim: &Metal3DataClaim, datas: impl Iterator<Item = &'a Metal3Data>) -> Plan {
    let mut plan = Plan::done();
    for data in datas {
        let mut new = data.clone();
        remove_finalizer(&mut new.metadata, finalizer::DATA_CLAIM);
        plan.update_object(data, &new);
        if !data.metadata.is_deleting() {
            plan.delete(data);
        }
    }
    let mut new = claim.clone();
    remove_finalizer(&mut new.metadata, finalizer::DATA_CLAIM);
    plan.update(claim, &new);
    plan
}

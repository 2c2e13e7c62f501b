//! Owner references that the provider writes.

use capm3_api::metadata::MetadataExt;
use capm3_engine::{Object, ResourceKind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

/// A reference that makes `owner` the controlling owner.
pub(crate) fn controlled_by<K: Object>(owner: &K) -> OwnerReference {
    OwnerReference { controller: Some(true), ..owned_by(owner) }
}

/// A reference to an owner among others.
pub(crate) fn owned_by<K: Object>(owner: &K) -> OwnerReference {
    let kind = ResourceKind::of::<K>();
    OwnerReference {
        api_version: kind.api_version(),
        kind: kind.kind,
        name: owner.meta().name_str().to_owned(),
        uid: owner.meta().uid_str().to_owned(),
        controller: None,
        block_owner_deletion: None,
    }
}

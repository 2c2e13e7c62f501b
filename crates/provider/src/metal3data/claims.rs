//! Address claims of a Metal3Data, of both kinds as one: IPClaims on IPPools, and IPAddressClaims of Cluster API on
//! pools of any other address manager.

use std::{collections::BTreeSet, sync::Arc};

use crate::plan::Plan;
use capm3_api::{
    conditions::find,
    ipam::{IpAddress, IpClaim, IpClaimSpec},
    metadata::MetadataExt,
    neighbours::{CapiIpAddress, IpAddressClaim, IpAddressClaimSpec, TypedPoolRef},
    reference::WideRef,
    v1beta2::{self, Metal3Data},
    vocabulary::{condition, finalizer, label},
};
use capm3_domain::{
    address::ClaimKind,
    render::{Address, PoolRef},
};
use capm3_engine::Object;

use kube::core::ObjectMeta;

use super::DataSnapshot;
use crate::{finalizers::remove_finalizer, owners::controlled_by};

/// A claim on an address.
#[derive(Debug, Clone)]
pub enum AddressClaim {
    /// On an IPPool.
    Metal3(Arc<IpClaim>),
    /// On a pool of another kind.
    Capi(Arc<IpAddressClaim>),
}

/// An address claim and what it was given.
#[derive(Debug, Clone)]
pub struct PoolClaim {
    /// The claim.
    pub claim: AddressClaim,
    /// The address, once given.
    pub address: Option<Address>,
}

/// The kind by which a pool is asked for addresses.
pub fn claim_kind(pool: &PoolRef) -> ClaimKind {
    if pool.is_metal3() { ClaimKind::IpClaim } else { ClaimKind::IpAddressClaim }
}

/// Name of the claim on a pool, unless it is named after its host.
pub fn claim_name(data: &Metal3Data, pool: &str) -> String {
    format!("{}-{pool}", data.metadata.name_str())
}

impl AddressClaim {
    pub(super) fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Metal3(claim) => &claim.metadata,
            Self::Capi(claim) => &claim.metadata,
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Metal3(_) => IpClaim::API.kind,
            Self::Capi(_) => IpAddressClaim::API.kind,
        }
    }

    /// Whether the claim is on that pool.
    pub fn is_on(&self, pool: &PoolRef) -> bool {
        match self {
            Self::Metal3(claim) => pool.is_metal3() && claim.spec.pool.name_str() == pool.name,
            Self::Capi(claim) => claim.spec.pool_ref == typed(pool),
        }
    }

    /// The IPPool that it is on, if it is on one.
    pub(super) fn ip_pool(&self) -> Option<&str> {
        match self {
            Self::Metal3(claim) => Some(claim.spec.pool.name_str()),
            Self::Capi(_) => None,
        }
    }

    /// Whether the claim was made for an earlier data object of this name, which is gone by now.
    pub(super) fn is_of_predecessor(&self, data: &Metal3Data) -> bool {
        let owner = self.metadata().owner(v1beta2::GROUP, "Metal3Data");
        owner.is_some_and(|owner| owner.name == data.metadata.name_str())
    }

    /// Why the claim cannot be served, as its address manager says.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Metal3(claim) => claim.status.error_message.clone().filter(|m| !m.is_empty()),
            Self::Capi(claim) if claim.status.address_ref.is_some() => None,
            Self::Capi(claim) => {
                let ready = find(&claim.status.conditions, condition::READY)?;
                let words = [ready.reason.as_str(), ready.message.as_str()];
                let words: Vec<&str> = words.into_iter().filter(|w| !w.is_empty()).collect();
                (ready.status == "False").then(|| words.join(": "))
            }
        }
    }

    /// Takes our finalizer off.
    pub(super) fn remove_finalizer(&self, plan: &mut Plan) {
        match self {
            Self::Metal3(claim) => without_finalizer(plan, claim.as_ref()),
            Self::Capi(claim) => without_finalizer(plan, claim.as_ref()),
        }
    }

    /// Gives the address back. Without its pool nobody else would take the address manager's finalizer off.
    pub(super) fn release(&self, plan: &mut Plan, gone_pools: &BTreeSet<String>) {
        match self {
            Self::Metal3(claim) if gone_pools.contains(claim.spec.pool.name_str()) => {
                let mut released = IpClaim::clone(claim);
                remove_finalizer(&mut released.metadata, finalizer::DATA);
                remove_finalizer(&mut released.metadata, finalizer::IP_CLAIM);
                plan.update_object(claim.as_ref(), &released);
            }
            _ => self.remove_finalizer(plan),
        }
        self.delete(plan);
    }

    /// Deletes it, unless that has begun.
    pub(super) fn delete(&self, plan: &mut Plan) {
        match self {
            _ if self.metadata().is_deleting() => {}
            Self::Metal3(claim) => plan.delete(claim.as_ref()),
            Self::Capi(claim) => plan.delete(claim.as_ref()),
        }
    }
}

fn without_finalizer<K: Object>(plan: &mut Plan, claim: &K) {
    let mut released = claim.clone();
    remove_finalizer(released.meta_mut(), finalizer::DATA);
    plan.update_object(claim, &released);
}

/// Adds the creation of the claim on a pool, under a name that may be that of its host. If an address manager holds the pool, its finalizer is there from the
/// start: it would put it there first thing, so this saves a write.
pub(super) fn ask(plan: &mut Plan, snapshot: &DataSnapshot, pool: &PoolRef) {
    let held = snapshot.pools.get(&pool.name).filter(|_| pool.is_metal3());
    let held = held.filter(|p| p.metadata.has_finalizer(finalizer::IP_POOL) && !p.metadata.is_deleting());
    let mut metadata = claim_metadata(&snapshot.data, snapshot.claim_name(pool), &pool.name);
    if held.is_some() {
        metadata.finalizers.get_or_insert_default().push(finalizer::IP_CLAIM.to_owned());
    }
    if pool.is_metal3() {
        plan.create(&ip_claim(metadata, &pool.name));
    } else {
        let spec = IpAddressClaimSpec { pool_ref: typed(pool), ..IpAddressClaimSpec::default() };
        plan.create(&IpAddressClaim { metadata, spec, ..IpAddressClaim::default() });
    }
}

/// The claim of a data object on an IPPool that no address manager holds yet.
pub fn new_ip_claim(data: &Metal3Data, pool: &str) -> IpClaim {
    ip_claim(claim_metadata(data, claim_name(data, pool), pool), pool)
}

fn ip_claim(metadata: ObjectMeta, pool: &str) -> IpClaim {
    let pool = WideRef::new(metadata.namespace_str(), pool);
    IpClaim { metadata, spec: IpClaimSpec { pool }, ..IpClaim::default() }
}

fn claim_metadata(data: &Metal3Data, name: String, pool: &str) -> ObjectMeta {
    let mut labels = data.metadata.labels.clone();
    if name != claim_name(data, pool) {
        // The name no longer shows them.
        labels.get_or_insert_default().extend([
            (label::DATA_NAME.to_owned(), data.metadata.name_str().to_owned()),
            (label::POOL_NAME.to_owned(), pool.to_owned()),
        ]);
    }
    ObjectMeta {
        name: Some(name),
        namespace: Some(data.metadata.namespace_str().to_owned()),
        labels,
        finalizers: Some(vec![finalizer::DATA.to_owned()]),
        owner_references: Some(vec![controlled_by(data)]),
        ..ObjectMeta::default()
    }
}

fn typed(pool: &PoolRef) -> TypedPoolRef {
    TypedPoolRef { name: pool.name.clone(), kind: pool.kind.clone(), api_group: pool.api_group.clone() }
}

/// What an IPAddress gives to the renderer.
pub fn of_metal3(address: &IpAddress) -> Address {
    Address {
        address: address.spec.address.clone(),
        prefix: address.spec.prefix,
        gateway: address.spec.gateway.clone().unwrap_or_default(),
        dns_servers: address.spec.dns_servers.clone(),
    }
}

/// The same for an address of Cluster API, which carries no DNS servers.
pub fn of_capi(address: &CapiIpAddress) -> Address {
    Address {
        address: address.spec.address.clone(),
        prefix: address.spec.prefix,
        gateway: address.spec.gateway.clone().unwrap_or_default(),
        dns_servers: Vec::new(),
    }
}

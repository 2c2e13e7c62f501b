//! The two kinds of claims that a pool serves, and the two kinds of addresses that it gives, each pair as one.

use std::{collections::BTreeSet, sync::Arc};

use capm3_api::{
    ipam::{self, IpAddress, IpClaim},
    metadata::MetadataExt,
    neighbours::{CAPI_IPAM_GROUP, CapiIpAddress, IpAddressClaim},
    vocabulary::finalizer,
};
use capm3_domain::address::{AddressRequest, ClaimKey, ClaimKind};
use kube::core::ObjectMeta;

use crate::indexes::serves;

/// A claim on an address.
#[derive(Debug, Clone)]
pub enum Claim {
    /// Of `ipam.metal3.io`.
    Metal3(Arc<IpClaim>),
    /// Of Cluster API.
    Capi(Arc<IpAddressClaim>),
}

impl Claim {
    /// Its metadata.
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Metal3(claim) => &claim.metadata,
            Self::Capi(claim) => &claim.metadata,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> ClaimKind {
        match self {
            Self::Metal3(_) => ClaimKind::IpClaim,
            Self::Capi(_) => ClaimKind::IpAddressClaim,
        }
    }

    pub(super) fn key(&self) -> ClaimKey {
        ClaimKey::new(self.kind(), self.metadata().name_str())
    }

    pub(super) fn request(&self) -> AddressRequest {
        AddressRequest::of(self.kind(), self.metadata())
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.metadata().is_deleting()
    }

    /// Whether it names that pool and was given an address.
    pub(super) fn is_served_by(&self, pool: &str) -> bool {
        match self {
            Self::Metal3(claim) => claim.spec.pool.name_str() == pool && claim.status.address.is_some(),
            Self::Capi(claim) => {
                serves(&claim.spec.pool_ref)
                    && claim.spec.pool_ref.name == pool
                    && claim.status.address_ref.is_some()
            }
        }
    }

    /// Name of the address that it was given.
    pub(super) fn address_name(&self) -> Option<&str> {
        let name = match self {
            Self::Metal3(claim) => claim.status.address.as_ref().map(|address| address.name_str()),
            Self::Capi(claim) => claim.status.address_ref.as_ref().map(|address| address.name.as_str()),
        };
        name.filter(|name| !name.is_empty())
    }

    /// The finalizer by which we hold claims of this kind.
    pub(super) fn finalizer(&self) -> &'static str {
        match self {
            Self::Metal3(_) => finalizer::IP_CLAIM,
            Self::Capi(_) => finalizer::CAPI_IP_ADDRESS_CLAIM,
        }
    }

    /// Whether somebody else holds the claim too. The Metal3Data of a claim that is `given_up` does no longer.
    pub(super) fn is_held_by_others(&self, given_up: &BTreeSet<String>) -> bool {
        let data = given_up.contains(self.metadata().name_str()).then_some(finalizer::DATA);
        let is_ours = |f: &str| f == self.finalizer() || Some(f) == data;
        self.metadata().finalizers.iter().flatten().any(|f| !is_ours(f))
    }
}

/// An address object.
#[derive(Debug, Clone)]
pub enum Given {
    /// Of `ipam.metal3.io`.
    Metal3(Arc<IpAddress>),
    /// Of Cluster API.
    Capi(Arc<CapiIpAddress>),
    /// Of `ipam.metal3.io`, for a claim of Cluster API. Two providers at work could give one address to claims of the two
    /// kinds, whose addresses have names of their own; so whoever gives it takes the name in `ipam.metal3.io` first.
    Lock(Arc<IpAddress>),
}

impl Given {
    /// An address of `ipam.metal3.io`.
    pub fn of_metal3(address: Arc<IpAddress>) -> Self {
        let is_lock = address.metadata.owner(CAPI_IPAM_GROUP, "IPAddressClaim").is_some();
        if is_lock { Self::Lock(address) } else { Self::Metal3(address) }
    }

    /// Its metadata.
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Metal3(address) | Self::Lock(address) => &address.metadata,
            Self::Capi(address) => &address.metadata,
        }
    }

    /// Kind of the claims that get such addresses.
    pub fn kind(&self) -> ClaimKind {
        match self {
            Self::Metal3(_) => ClaimKind::IpClaim,
            Self::Capi(_) | Self::Lock(_) => ClaimKind::IpAddressClaim,
        }
    }

    /// The address as written.
    pub fn address(&self) -> &str {
        match self {
            Self::Metal3(address) | Self::Lock(address) => &address.spec.address,
            Self::Capi(address) => &address.spec.address,
        }
    }

    pub(super) fn claim_name(&self) -> &str {
        match self {
            Self::Metal3(address) | Self::Lock(address) => address.spec.claim.name_str(),
            Self::Capi(address) => &address.spec.claim_ref.name,
        }
    }

    pub(super) fn claim(&self) -> ClaimKey {
        ClaimKey::new(self.kind(), self.claim_name())
    }

    pub(super) fn pool_name(&self) -> &str {
        match self {
            Self::Metal3(address) | Self::Lock(address) => address.spec.pool.name_str(),
            Self::Capi(address) => &address.spec.pool_ref.name,
        }
    }

    /// Whether it is from that pool of the built-in address manager.
    pub(super) fn is_from(&self, pool: &str) -> bool {
        match self {
            Self::Metal3(_) | Self::Lock(_) => self.pool_name() == pool,
            Self::Capi(address) => serves(&address.spec.pool_ref) && self.pool_name() == pool,
        }
    }

    /// Where the object stands: names of the two kinds are separate.
    pub(super) fn place(&self) -> Place {
        let kind = match self {
            Self::Metal3(_) | Self::Lock(_) => ClaimKind::IpClaim,
            Self::Capi(_) => ClaimKind::IpAddressClaim,
        };
        (kind, self.metadata().name_str().to_owned())
    }

    fn finalizer(&self) -> &'static str {
        match self {
            Self::Metal3(_) | Self::Lock(_) => finalizer::IP_ADDRESS,
            Self::Capi(_) => finalizer::CAPI_IP_ADDRESS,
        }
    }

    /// Whether nobody but us holds the object.
    pub(super) fn is_only_ours(&self) -> bool {
        self.metadata().finalizers.iter().flatten().all(|f| f == self.finalizer())
    }

    /// Uid of the claim that the address was made for, if its owner reference names it.
    pub(super) fn claim_uid(&self) -> Option<&str> {
        let owner = match self {
            Self::Metal3(address) => address.metadata.owner(ipam::GROUP, "IPClaim"),
            Self::Capi(address) => address.metadata.owner(CAPI_IPAM_GROUP, "IPAddressClaim"),
            Self::Lock(address) => address.metadata.owner(CAPI_IPAM_GROUP, "IPAddressClaim"),
        };
        owner.map(|owner| owner.uid.as_str())
    }

    /// Whether this is the address of a claim with that uid, and not of a predecessor of the same name, which may
    /// still be going.
    pub(super) fn is_of(&self, claim_uid: &str) -> bool {
        self.claim_uid().is_none_or(|uid| uid == claim_uid)
    }
}

/// Where an address object stands: the kind of claims whose addresses are kept there, and the name.
pub type Place = (ClaimKind, String);

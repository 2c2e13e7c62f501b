//! Who asks for an address, and which one.

use std::fmt;

use capm3_api::{
    ipam::IpClaim,
    metadata::MetadataExt,
    vocabulary::{annotation::REQUESTED_ADDRESS, reason},
};
use kube::core::ObjectMeta;

/// The two kinds of claims that one pool serves. Their names are separate: one name may stand for two claims. Each belongs to an
/// address manager that need not be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimKind {
    /// `IPClaim` of `ipam.metal3.io`.
    IpClaim,
    /// `IPAddressClaim` of Cluster API.
    IpAddressClaim,
}

impl ClaimKind {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::IpClaim, Self::IpAddressClaim];

    /// The reason of a condition that says that the API server does not serve it.
    pub const fn reason_not_served(self) -> &'static str {
        match self {
            Self::IpClaim => reason::IP_CLAIM_NOT_SERVED,
            Self::IpAddressClaim => reason::IP_ADDRESS_CLAIM_NOT_SERVED,
        }
    }
}

impl fmt::Display for ClaimKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IpClaim => "IPClaim",
            Self::IpAddressClaim => "IPAddressClaim",
        })
    }
}

/// A claim among all claims of a pool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    /// Kind of the claim.
    pub kind: ClaimKind,
    /// Name of the claim.
    pub name: String,
}

impl ClaimKey {
    /// A claim by kind and name.
    pub fn new(kind: ClaimKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// A request for an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRequest {
    /// Who asks.
    pub claim: ClaimKey,
    /// The address asked for by annotation, as written; an empty text asks for nothing.
    pub requested: Option<String>,
}

impl AddressRequest {
    /// A request for any address.
    pub fn new(kind: ClaimKind, name: impl Into<String>) -> Self {
        Self { claim: ClaimKey::new(kind, name), requested: None }
    }

    /// The request of a claim of either kind, with the address that its annotation asks for.
    ///
    /// ```
    /// use capm3_domain::address::{AddressRequest, ClaimKind};
    ///
    /// let metadata = serde_json::from_str(r#"{"name": "a", "annotations": {"ipAddress": "10.0.0.7"}}"#).unwrap();
    /// let request = AddressRequest::of(ClaimKind::IpAddressClaim, &metadata);
    /// assert_eq!(request.requested.as_deref(), Some("10.0.0.7"));
    /// ```
    pub fn of(kind: ClaimKind, metadata: &ObjectMeta) -> Self {
        let requested = metadata.annotation(REQUESTED_ADDRESS).filter(|text| !text.is_empty());
        Self { requested: requested.map(str::to_owned), ..Self::new(kind, metadata.name_str()) }
    }
}

impl From<&IpClaim> for AddressRequest {
    fn from(claim: &IpClaim) -> Self {
        Self::of(ClaimKind::IpClaim, &claim.metadata)
    }
}

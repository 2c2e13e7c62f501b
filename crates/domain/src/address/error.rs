//! Why a claim got no address, in the words that users know, and what would change that.

use super::{Address, ClaimKey};

/// Why a claim got no address. The text is what stands on the claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The annotation is no address.
    #[error("Invalid ipAddress annotation \"{0}\": not a valid IP address")]
    BadAnnotation(String),
    /// The annotation asks for another address than the one reserved for the claim.
    #[error("PreAllocation and requested ip address are conflicting")]
    Conflicting,
    /// Somebody else has the address asked for, or it is reserved for somebody else.
    #[error("Requested IP not available")]
    RequestedTaken(Address),
    /// The address reserved for the claim lies in no range.
    #[error("Pre-allocated IP out of bounds")]
    PreAllocatedOutOfBounds,
    /// Somebody else got the address before it was reserved.
    #[error("Pre-allocated IP {address} is held by {holder}")]
    PreAllocatedTaken {
        /// The reserved address.
        address: Address,
        /// Who has it.
        holder: Holder,
    },
    /// No address is free, or the one asked for lies in no range.
    #[error("Exhausted IP Pools")]
    Exhausted {
        /// Whether a certain address was asked for.
        requested: bool,
    },
    /// The pool's prefix length cannot be written into a Cluster API address.
    #[error("Invalid prefix value, it must be between 0 and 128")]
    InvalidPrefix,
}

/// Who holds an address: a claim of this pool, or an address object that names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder(pub Option<ClaimKey>);

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(claim) => claim.fmt(f),
            None => f.write_str("another address object"),
        }
    }
}

/// Something that happened since a claim failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The claim itself was edited.
    Claim,
    /// The pool's spec was edited: ranges, reservations, prefix.
    Pool,
    /// This address became free.
    Freed(Address),
}

impl AddressError {
    /// Whether the claim should be tried again after this change. A claim that failed is otherwise left alone, so
    /// that it costs nothing while nothing can help it.
    ///
    /// ```
    /// use capm3_domain::address::{AddressError, Change};
    ///
    /// let error = AddressError::Exhausted { requested: false };
    /// assert!(error.may_be_cured_by(Change::Freed("10.0.0.1".parse().unwrap())));
    /// assert!(!AddressError::BadAnnotation("x".into()).may_be_cured_by(Change::Pool));
    /// ```
    pub fn may_be_cured_by(&self, change: Change) -> bool {
        match (self, change) {
            (Self::BadAnnotation(_), change) => change == Change::Claim,
            (Self::InvalidPrefix | Self::PreAllocatedOutOfBounds, change) => change == Change::Pool,
            (Self::Conflicting, change) => matches!(change, Change::Claim | Change::Pool),
            (Self::RequestedTaken(_), Change::Claim | Change::Pool) => true,
            (Self::RequestedTaken(address), Change::Freed(freed)) => *address == freed,
            (Self::PreAllocatedTaken { .. }, Change::Claim) => false,
            (Self::PreAllocatedTaken { .. }, Change::Pool) => true,
            (Self::PreAllocatedTaken { address, .. }, Change::Freed(freed)) => *address == freed,
            (Self::Exhausted { .. }, Change::Pool) => true,
            // An address that lies in no range is not helped by others becoming free.
            (Self::Exhausted { requested }, Change::Freed(_)) => !requested,
            // A claim that requests no address may be changed to request one, which then fails or succeeds on its own terms.
            (Self::Exhausted { .. }, Change::Claim) => true,
        }
    }

    /// The same with the holder of the address, where the error names one.
    #[must_use]
    pub fn with_holder(self, holder_of: impl FnOnce(Address) -> Option<Holder>) -> Self {
        match self {
            Self::PreAllocatedTaken { address, holder } => {
                Self::PreAllocatedTaken { address, holder: holder_of(address).unwrap_or(holder) }
            }
            error => error,
        }
    }

    /// What would help, in one sentence without its end; empty where the error says it all. `capacity` is the number of
    /// addresses of the pool.
    pub fn help(&self, capacity: u128, holder_of: impl FnOnce(Address) -> Option<Holder>) -> String {
        match self {
            Self::BadAnnotation(_) => "correct the annotation ipAddress of the claim".to_owned(),
            Self::Conflicting => {
                "drop the annotation ipAddress, or correct spec.preAllocations of the pool".to_owned()
            }
            Self::RequestedTaken(address) => match holder_of(*address) {
                Some(holder) => format!("{address} is held by {holder}"),
                None => format!("{address} is reserved by spec.preAllocations"),
            },
            Self::PreAllocatedOutOfBounds => {
                "no range of spec.pools holds the address that spec.preAllocations names".to_owned()
            }
            Self::PreAllocatedTaken { .. } => String::new(),
            Self::Exhausted { requested: true } => {
                "no range of spec.pools holds the address that the annotation ipAddress asks for".to_owned()
            }
            Self::Exhausted { requested: false } => format!(
                "all {capacity} addresses are allocated or reserved; add a range to spec.pools or delete a claim",
            ),
            Self::InvalidPrefix => "correct the prefix of the pool".to_owned(),
        }
    }

    /// The reason in the `Ready` condition of a Cluster API claim.
    pub fn condition_reason(&self) -> &'static str {
        match self {
            Self::Exhausted { .. } => "PoolExhausted",
            _ => "AllocationFailed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn webhook_messages_are_those_of_the_reference() {
        let table = [
            (
                AddressError::BadAnnotation("x".into()),
                "Invalid ipAddress annotation \"x\": not a valid IP address",
            ),
            (AddressError::Conflicting, "PreAllocation and requested ip address are conflicting"),
            (AddressError::RequestedTaken(address("10.0.0.1")), "Requested IP not available"),
            (AddressError::PreAllocatedOutOfBounds, "Pre-allocated IP out of bounds"),
            (AddressError::Exhausted { requested: false }, "Exhausted IP Pools"),
            (AddressError::InvalidPrefix, "Invalid prefix value, it must be between 0 and 128"),
            (
                AddressError::PreAllocatedTaken { address: address("2001:db8::1"), holder: Holder(None) },
                "Pre-allocated IP 2001:db8::1 is held by another address object",
            ),
        ];
        for (error, text) in table {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn a_failed_claim_is_tried_again_only_when_that_can_help() {
        let (mine, other) = (address("2001:db8::1"), address("10.0.0.9"));
        let held = AddressError::PreAllocatedTaken { address: mine, holder: Holder(None) };
        // claim edited, pool edited, own address freed, another address freed
        let table = [
            (AddressError::BadAnnotation("x".into()), [true, false, false, false]),
            (AddressError::Conflicting, [true, true, false, false]),
            (AddressError::RequestedTaken(mine), [true, true, true, false]),
            (AddressError::PreAllocatedOutOfBounds, [false, true, false, false]),
            (held, [false, true, true, false]),
            (AddressError::Exhausted { requested: false }, [true, true, true, true]),
            (AddressError::Exhausted { requested: true }, [true, true, false, false]),
            (AddressError::InvalidPrefix, [false, true, false, false]),
        ];
        for (error, cured) in table {
            let changes = [Change::Claim, Change::Pool, Change::Freed(mine), Change::Freed(other)];
            assert_eq!(changes.map(|c| error.may_be_cured_by(c)), cured, "{error:?}");
        }
    }

    #[test]
    fn only_an_exhausted_pool_is_called_exhausted() {
        assert_eq!(AddressError::Exhausted { requested: true }.condition_reason(), "PoolExhausted");
        assert_eq!(AddressError::Conflicting.condition_reason(), "AllocationFailed");
    }
}

//! Addresses of an IPPool: which one a claim gets, with prefix, gateway and DNS servers.
//!
//! Takes the pool's spec and what is given out already, gives an [`Allocation`] or an [`AddressError`] in the words
//! that users know. IPv4 and IPv6 live in one number space, so every rule holds for both. Nothing walks a range:
//! each answer is O(log N) for N addresses given out, in an IPv6 /64 as in a /30. Must not read objects, draw
//! random numbers (the caller passes the draw) or write anything.
//!
//! ```
//! use capm3_api::ipam::{IpPoolSpec, IpRange};
//! use capm3_domain::address::{AddressBook, AddressRequest, ClaimKind, object_name};
//!
//! let spec = IpPoolSpec {
//!     name_prefix: "rack1".into(),
//!     pools: vec![IpRange { subnet: Some("2001:db8::/64".into()), ..IpRange::default() }],
//!     prefix: Some(64),
//!     ..IpPoolSpec::default()
//! };
//! let mut book = AddressBook::new(&spec);
//! let given = book.allocate(&AddressRequest::new(ClaimKind::IpClaim, "node-0"), 0).unwrap();
//! assert_eq!(given.address.to_string(), "2001:db8::1");
//! assert_eq!(given.prefix, Some(64));
//! assert_eq!(object_name(&spec.name_prefix, given.address), "rack1-2001-db8--1");
//! ```

use capm3_api::ipam::IpPoolSpec;

use crate::{numbers::Runs, wait::FreeAddresses};

mod allocator;
mod book;
mod claim;
mod error;
mod layout;
mod range;
mod value;

pub use allocator::AddressAllocator;
pub use book::{AddressBook, Allocation};
pub use claim::{AddressRequest, ClaimKey, ClaimKind};
pub use error::{AddressError, Change, Holder};
pub use range::Range;
pub use value::{Address, object_name};

/// How many addresses a pool has, and how many could be given to a claim that asks for none if `used` are in use. Costs as
/// much as there are gaps in `used`.
pub fn count_addresses(spec: &IpPoolSpec, used: &Runs) -> FreeAddresses {
    let layout = layout::Layout::new(spec);
    FreeAddresses { free: layout.free(used), capacity: layout.capacity() }
}

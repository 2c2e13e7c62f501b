//! The books of one pool: which addresses are given out, to whom, and which one is next.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::ipam::IpPoolSpec;

use super::{Address, AddressAllocator, AddressError, AddressRequest, ClaimKey, Holder};

/// An address with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// The address.
    pub address: Address,
    /// Prefix length, of the range or else of the pool.
    pub prefix: Option<i32>,
    /// Gateway, of the range or else of the pool.
    pub gateway: Option<String>,
    /// DNS servers, of the range or else of the pool.
    pub dns_servers: Vec<String>,
}

/// The books of one pool. Reservations of the pool's spec are taken from the start; addresses that exist are
/// entered with [`record`](Self::record), new ones come from [`allocate`](Self::allocate). Every step is O(log N).
///
/// ```
/// use capm3_api::ipam::{IpPoolSpec, IpRange};
/// use capm3_domain::address::{AddressBook, AddressError, AddressRequest, ClaimKey, ClaimKind};
///
/// let range = IpRange { start: Some("10.0.0.10".into()), end: Some("10.0.0.11".into()), ..IpRange::default() };
/// let mut book = AddressBook::new(&IpPoolSpec { pools: vec![range], ..IpPoolSpec::default() });
/// book.record("10.0.0.10".parse().unwrap(), Some(ClaimKey::new(ClaimKind::IpClaim, "old")));
///
/// let a = book.allocate(&AddressRequest::new(ClaimKind::IpClaim, "a"), 0).unwrap();
/// assert_eq!(a.address.to_string(), "10.0.0.11");
/// let b = book.allocate(&AddressRequest::new(ClaimKind::IpClaim, "b"), 0);
/// assert_eq!(b, Err(AddressError::Exhausted { requested: false }));
///
/// let freed = book.release(&ClaimKey::new(ClaimKind::IpClaim, "old"));
/// assert_eq!(freed.len(), 1);
/// assert_eq!(book.address_of(&ClaimKey::new(ClaimKind::IpClaim, "a")), Some(a.address));
/// ```
#[derive(Debug, Clone)]
pub struct AddressBook {
    allocator: AddressAllocator,
    holders: BTreeMap<Address, BTreeSet<Option<ClaimKey>>>,
    by_claim: BTreeMap<ClaimKey, BTreeSet<Address>>,
}

impl AddressBook {
    /// The books of a pool from which nothing is given out yet.
    pub fn new(spec: &IpPoolSpec) -> Self {
        Self {
            allocator: AddressAllocator::new(spec, Vec::new()),
            holders: BTreeMap::new(),
            by_claim: BTreeMap::new(),
        }
    }

    /// Enters an address object that exists; one that names no claim blocks its address anyway.
    pub fn record(&mut self, address: Address, claim: Option<ClaimKey>) {
        let claim = claim.filter(|claim| !claim.name.is_empty());
        if let Some(claim) = &claim {
            self.by_claim.entry(claim.clone()).or_default().insert(address);
        }
        self.holders.entry(address).or_default().insert(claim);
        self.allocator.take(address);
    }

    /// Leaves an address out because its object's name belongs to an object of another pool. It is not given to
    /// anybody, and not counted.
    pub fn pass_over(&mut self, address: Address) {
        self.allocator.pass_over(address);
    }

    /// Gives a claim its address: the one that it has, else one by reservation, request or strategy. `draw` is the
    /// caller's random number, used by the strategy `random` only.
    pub fn allocate(&mut self, request: &AddressRequest, draw: u128) -> Result<Allocation, AddressError> {
        let allocation = self.choose(request, draw)?;
        self.record(allocation.address, Some(request.claim.clone()));
        Ok(allocation)
    }

    /// What [`allocate`](Self::allocate) would give, without entering it.
    pub fn choose(&self, request: &AddressRequest, draw: u128) -> Result<Allocation, AddressError> {
        if let Some(address) = self.address_of(&request.claim) {
            return Ok(self.allocator.allocation(address));
        }
        let chosen = self.allocator.choose(request, draw);
        chosen.map_err(|error| error.with_holder(|address| self.holder_of(address)))
    }

    /// Takes all addresses from a claim. Answers those that are free now; a reserved one stays reserved.
    pub fn release(&mut self, claim: &ClaimKey) -> Vec<Address> {
        let addresses = self.by_claim.remove(claim).unwrap_or_default();
        let holder = Some(claim.clone());
        addresses.into_iter().filter(|address| self.remove_holder(*address, &holder)).collect()
    }

    /// Strikes out an address object that is gone. Answers whether the address is free now.
    pub fn forget(&mut self, address: Address, claim: Option<&ClaimKey>) -> bool {
        let holder = claim.filter(|claim| !claim.name.is_empty()).cloned();
        if let Some(claim) = &holder
            && let Some(addresses) = self.by_claim.get_mut(claim)
        {
            addresses.remove(&address);
            if addresses.is_empty() {
                self.by_claim.remove(claim);
            }
        }
        self.remove_holder(address, &holder)
    }

    fn remove_holder(&mut self, address: Address, holder: &Option<ClaimKey>) -> bool {
        let Some(holders) = self.holders.get_mut(&address) else {
            return false;
        };
        holders.remove(holder);
        if !holders.is_empty() {
            return false;
        }
        self.holders.remove(&address);
        self.allocator.release(address);
        !self.allocator.is_taken(address)
    }

    /// The address that a claim has.
    pub fn address_of(&self, claim: &ClaimKey) -> Option<Address> {
        self.by_claim.get(claim)?.first().copied()
    }

    /// Whether the address is given out or reserved.
    pub fn is_taken(&self, address: Address) -> bool {
        self.allocator.is_taken(address)
    }

    /// Who has the address; none if nobody has, even if it is reserved.
    pub fn holder_of(&self, address: Address) -> Option<Holder> {
        let holder = self.holders.get(&address).and_then(|holders| holders.last());
        match holder {
            Some(claim) => Some(Holder(claim.clone())),
            None => self.allocator.is_passed_over(address).then_some(Holder(None)),
        }
    }

    /// How many addresses are given out or reserved. A pool that is being deleted may go when this is 0.
    pub fn count(&self) -> usize {
        let reserved = self.allocator.reservations().iter();
        self.holders.len() + reserved.filter(|address| !self.holders.contains_key(*address)).count()
    }

    /// How many addresses the ranges hold.
    pub fn capacity(&self) -> u128 {
        self.allocator.capacity()
    }

    /// What would help against an error, see [`AddressError::help`].
    pub fn help(&self, error: &AddressError) -> String {
        error.help(self.capacity(), |address| self.holder_of(address))
    }
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;

//! The books of one pool: which addresses are given out, to whom, and which one is next.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::ipam::IpPoolSpec;

use super::{Address, AddressError, AddressRequest, ClaimKey, Holder, layout::Layout};
use crate::index::Runs;

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
/// assert_eq!(book.indexes()["a"], "10.0.0.11");
/// ```
#[derive(Debug, Clone)]
pub struct AddressBook {
    layout: Layout,
    entries: BTreeMap<Address, Entry>,
    by_claim: BTreeMap<ClaimKey, BTreeSet<Address>>,
    passed_over: BTreeSet<Address>,
    /// Every address that is not to be chosen unasked: entries, gateways and those passed over.
    busy: Runs,
}

/// Why an address is taken.
#[derive(Debug, Clone, Default)]
struct Entry {
    reserved: bool,
    holders: BTreeSet<Option<ClaimKey>>,
}

impl Entry {
    fn is_taken(&self) -> bool {
        self.reserved || !self.holders.is_empty()
    }
}

impl AddressBook {
    /// The books of a pool from which nothing is given out yet.
    pub fn new(spec: &IpPoolSpec) -> Self {
        let mut book = Self::of_deleting_pool(spec);
        let reserved: Vec<Address> = book.layout.reservations().collect();
        for address in reserved {
            book.entries.entry(address).or_default().reserved = true;
            book.busy.insert(address.number());
        }
        book
    }

    /// The books of a pool that is being deleted: reservations no longer count.
    pub fn of_deleting_pool(spec: &IpPoolSpec) -> Self {
        let layout = Layout::new(spec);
        let busy = layout.gateways().map(Address::number).collect();
        Self {
            layout,
            entries: BTreeMap::new(),
            by_claim: BTreeMap::new(),
            passed_over: BTreeSet::new(),
            busy,
        }
    }

    /// Enters an address object that exists; one that names no claim blocks its address all the same.
    pub fn record(&mut self, address: Address, claim: Option<ClaimKey>) {
        let claim = claim.filter(|claim| !claim.name.is_empty());
        if let Some(claim) = &claim {
            self.by_claim.entry(claim.clone()).or_default().insert(address);
        }
        self.entries.entry(address).or_default().holders.insert(claim);
        self.busy.insert(address.number());
    }

    /// Leaves an address out because its object's name belongs to an object of another pool. It is not given to
    /// anybody, and not counted.
    pub fn pass_over(&mut self, address: Address) {
        self.passed_over.insert(address);
        self.busy.insert(address.number());
    }

    /// Gives a claim its address: the one that it has, else one by reservation, wish or strategy. `draw` is the
    /// caller's random number, used by the strategy `random` only.
    pub fn allocate(&mut self, request: &AddressRequest, draw: u128) -> Result<Allocation, AddressError> {
        let allocation = self.choose(request, draw)?;
        self.record(allocation.address, Some(request.claim.clone()));
        Ok(allocation)
    }

    /// What [`allocate`](Self::allocate) would give, without entering it.
    pub fn choose(&self, request: &AddressRequest, draw: u128) -> Result<Allocation, AddressError> {
        if let Some(address) = self.address_of(&request.claim) {
            return Ok(self.layout.allocation(address));
        }
        self.choose_anew(request, draw)
    }

    /// The same for a claim that has no address of its own, whatever stands under its name.
    pub fn choose_anew(&self, request: &AddressRequest, draw: u128) -> Result<Allocation, AddressError> {
        let address = self.choose_address(request, draw)?;
        let allocation = self.layout.allocation(address);
        self.layout.check(&allocation, request.claim.kind)?;
        Ok(allocation)
    }

    fn choose_address(&self, request: &AddressRequest, draw: u128) -> Result<Address, AddressError> {
        let requested = request.requested.as_deref().filter(|text| !text.is_empty());
        let wish = match requested {
            Some(text) => {
                Some(text.parse::<Address>().map_err(|_| AddressError::BadAnnotation(text.to_owned()))?)
            }
            None => None,
        };
        match (self.layout.reservation_of(&request.claim.name), wish) {
            (Some(reserved), Some(wish)) if reserved != Some(wish) => Err(AddressError::Conflicting),
            (Some(reserved), _) => self.reserved(reserved),
            (None, Some(wish)) => self.wished(wish),
            (None, None) => {
                self.layout.first_free(&self.busy, draw).ok_or(AddressError::Exhausted { requested: false })
            }
        }
    }

    fn reserved(&self, reserved: Option<Address>) -> Result<Address, AddressError> {
        let address = reserved
            .filter(|address| self.layout.contains(*address))
            .ok_or(AddressError::PreAllocatedOutOfBounds)?;
        match self.holder_of(address) {
            Some(holder) => Err(AddressError::PreAllocatedTaken { address, holder }),
            None => Ok(address),
        }
    }

    fn wished(&self, wish: Address) -> Result<Address, AddressError> {
        if !self.layout.contains(wish) {
            return Err(AddressError::Exhausted { requested: true });
        }
        // A gateway may be asked for by name: only the unasked choice leaves it out.
        if self.is_taken(wish) || self.passed_over.contains(&wish) {
            return Err(AddressError::RequestedTaken(wish));
        }
        Ok(wish)
    }

    /// Takes all addresses from a claim. Answers those that are free now; a reserved one stays reserved.
    pub fn release(&mut self, claim: &ClaimKey) -> Vec<Address> {
        let addresses = self.by_claim.remove(claim).unwrap_or_default();
        let holder = Some(claim.clone());
        addresses.into_iter().filter(|address| self.let_go(*address, &holder)).collect()
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
        self.let_go(address, &holder)
    }

    fn let_go(&mut self, address: Address, holder: &Option<ClaimKey>) -> bool {
        let Some(entry) = self.entries.get_mut(&address) else {
            return false;
        };
        entry.holders.remove(holder);
        if entry.is_taken() {
            return false;
        }
        self.entries.remove(&address);
        if !self.layout.is_gateway(address) && !self.passed_over.contains(&address) {
            self.busy.remove(address.number());
        }
        true
    }

    /// The address that a claim has.
    pub fn address_of(&self, claim: &ClaimKey) -> Option<Address> {
        self.by_claim.get(claim)?.first().copied()
    }

    /// Whether the address is given out or reserved.
    pub fn is_taken(&self, address: Address) -> bool {
        self.entries.contains_key(&address)
    }

    /// Who has the address; none if nobody has, even if it is reserved.
    pub fn holder_of(&self, address: Address) -> Option<Holder> {
        let holder = self.entries.get(&address).and_then(|entry| entry.holders.last());
        match holder {
            Some(claim) => Some(Holder(claim.clone())),
            None => self.passed_over.contains(&address).then_some(Holder(None)),
        }
    }

    /// How many addresses are given out or reserved. A pool that is being deleted may go when this is 0.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// How many addresses the ranges hold.
    pub fn capacity(&self) -> u128 {
        self.layout.capacity()
    }

    /// How many addresses of the ranges could still be given to a claim without wishes.
    pub fn free(&self) -> u128 {
        let taken: BTreeSet<Address> = self.entries.keys().copied().chain(self.layout.gateways()).collect();
        let taken = taken.into_iter().filter(|address| self.layout.contains(*address)).count();
        self.capacity().saturating_sub(u128::try_from(taken).unwrap_or(u128::MAX))
    }

    /// `status.indexes` of the pool: address by name of the claim, an address without a claim under the empty name.
    /// Where claims of both kinds share a name, the IPClaim's address is shown.
    pub fn indexes(&self) -> BTreeMap<String, String> {
        let claimless = self.entries.iter().filter(|(_, entry)| entry.holders.contains(&None));
        // IPAddressClaims come last in order, so walking backwards lets IPClaims have the last word.
        let claims = self.by_claim.iter().rev();
        claimless
            .map(|(address, _)| (String::new(), address.to_string()))
            .chain(
                claims.filter_map(|(claim, addresses)| {
                    Some((claim.name.clone(), addresses.first()?.to_string()))
                }),
            )
            .collect()
    }
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;

//! Which address a claim gets, by the pool's spec and the addresses in use. Knows no holders.

use std::{collections::BTreeSet, sync::Arc};

use capm3_api::ipam::IpPoolSpec;

use super::{Address, AddressError, AddressRequest, Allocation, Holder, layout::Layout};
use crate::numbers::{FreeNumbers, Runs, UsedNumbers};

/// Allocates addresses of one pool. Reservations of the pool's spec are taken from the start; the sets of addresses in use are
/// given, and stay as they are. Every step is O(log N).
///
/// ```
/// use std::sync::Arc;
/// use capm3_api::ipam::{IpPoolSpec, IpRange};
/// use capm3_domain::{
///     address::{Address, AddressAllocator, AddressRequest, ClaimKind},
///     numbers::UsedNumbers,
/// };
///
/// let range = IpRange { subnet: Some("10.0.0.0/24".into()), ..IpRange::default() };
/// let spec = IpPoolSpec { pools: vec![range], ..IpPoolSpec::default() };
/// let used: Address = "10.0.0.1".parse().unwrap();
/// let used: UsedNumbers = [used.number()].into_iter().collect();
///
/// let mut pool = AddressAllocator::new(&spec, vec![Arc::new(used)]);
/// let request = AddressRequest::new(ClaimKind::IpClaim, "node-0");
/// let given = pool.choose(&request, 0).unwrap();
/// assert_eq!(given.address.to_string(), "10.0.0.2");
/// pool.take(given.address);
/// assert_eq!(pool.choose(&request, 0).unwrap().address.to_string(), "10.0.0.3");
/// ```
#[derive(Debug, Clone)]
pub struct AddressAllocator {
    layout: Layout,
    reserved: BTreeSet<Address>,
    passed_over: BTreeSet<Address>,
    /// Gateways, reserved addresses and those passed over: none of them is chosen for a claim that asks for none.
    blocked: Runs,
    numbers: FreeNumbers,
}

impl AddressAllocator {
    /// The addresses of a pool beside those in use.
    pub fn new(spec: &IpPoolSpec, used: Vec<Arc<UsedNumbers>>) -> Self {
        let mut allocator = Self::of_deleting_pool(spec, used);
        allocator.reserved = allocator.layout.reservations().collect();
        allocator.blocked = allocator
            .layout
            .gateways()
            .chain(allocator.reserved.iter().copied())
            .map(Address::number)
            .collect();
        allocator
    }

    /// The same for a pool that is being deleted: reservations no longer count.
    pub fn of_deleting_pool(spec: &IpPoolSpec, used: Vec<Arc<UsedNumbers>>) -> Self {
        let layout = Layout::new(spec);
        let blocked = layout.gateways().map(Address::number).collect();
        Self {
            layout,
            reserved: BTreeSet::new(),
            passed_over: BTreeSet::new(),
            blocked,
            numbers: FreeNumbers::beside(used),
        }
    }

    /// The address for a claim that has none: by reservation, request or strategy. `draw` is the caller's random number, used
    /// by the strategy `random` only. An error about an address in use names no holder.
    pub fn choose(&self, request: &AddressRequest, draw: u128) -> Result<Allocation, AddressError> {
        let address = self.choose_address(request, draw)?;
        let allocation = self.allocation(address);
        self.layout.check(&allocation, request.claim.kind)?;
        Ok(allocation)
    }

    fn choose_address(&self, request: &AddressRequest, draw: u128) -> Result<Address, AddressError> {
        let requested = request.requested.as_deref().filter(|text| !text.is_empty());
        let requested = match requested {
            Some(text) => {
                Some(text.parse::<Address>().map_err(|_| AddressError::BadAnnotation(text.to_owned()))?)
            }
            None => None,
        };
        match (self.layout.reservation_of(&request.claim.name), requested) {
            (Some(reserved), Some(requested)) if reserved != Some(requested) => {
                Err(AddressError::Conflicting)
            }
            (Some(reserved), _) => self.reserved(reserved),
            (None, Some(requested)) => self.requested(requested),
            (None, None) => {
                let first_free_from = |number| self.first_free_from(number);
                let free = self.layout.first_free(&first_free_from, draw);
                free.ok_or(AddressError::Exhausted { requested: false })
            }
        }
    }

    fn reserved(&self, reserved: Option<Address>) -> Result<Address, AddressError> {
        let address = reserved
            .filter(|address| self.layout.contains(*address))
            .ok_or(AddressError::PreAllocatedOutOfBounds)?;
        if self.is_used(address) || self.passed_over.contains(&address) {
            return Err(AddressError::PreAllocatedTaken { address, holder: Holder(None) });
        }
        Ok(address)
    }

    fn requested(&self, address: Address) -> Result<Address, AddressError> {
        if !self.layout.contains(address) {
            return Err(AddressError::Exhausted { requested: true });
        }
        // A gateway may be asked for by name: only the choice without a request leaves it out.
        if self.is_taken(address) || self.passed_over.contains(&address) {
            return Err(AddressError::RequestedTaken(address));
        }
        Ok(address)
    }

    /// The first number from a number on that is neither used nor blocked.
    fn first_free_from(&self, from: u128) -> Option<u128> {
        let mut at = from;
        loop {
            let free = self.numbers.first_from(at)?;
            at = self.blocked.first_gap_from(free)?;
            if at == free {
                return Some(free);
            }
        }
    }

    /// An address with what belongs to it.
    pub fn allocation(&self, address: Address) -> Allocation {
        self.layout.allocation(address)
    }

    /// Marks an address as used; false if it was used.
    pub fn take(&mut self, address: Address) -> bool {
        self.numbers.take(address.number())
    }

    /// Releases one use of an address; true if it is not used any more and was before.
    pub fn release(&mut self, address: Address) -> bool {
        self.numbers.release(address.number())
    }

    /// Leaves an address out because its object's name belongs to an object of another pool. It is not given to anybody, and
    /// not counted.
    pub fn pass_over(&mut self, address: Address) {
        self.passed_over.insert(address);
        self.blocked.insert(address.number());
    }

    /// Whether the address is left out for its name.
    pub fn is_passed_over(&self, address: Address) -> bool {
        self.passed_over.contains(&address)
    }

    /// Whether an address object uses the address.
    pub fn is_used(&self, address: Address) -> bool {
        self.numbers.is_used(address.number())
    }

    /// Whether the address is used or reserved.
    pub fn is_taken(&self, address: Address) -> bool {
        self.reserved.contains(&address) || self.is_used(address)
    }

    /// Reserved addresses.
    pub(super) fn reservations(&self) -> &BTreeSet<Address> {
        &self.reserved
    }

    /// How many addresses the ranges hold.
    pub fn capacity(&self) -> u128 {
        self.layout.capacity()
    }
}

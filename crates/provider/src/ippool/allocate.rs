//! Who gets which address in one pass, before any object is written.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::metadata::MetadataExt;
use capm3_domain::address::{
    Address, AddressAllocator, AddressError, AddressRequest, Allocation, ClaimKey, ClaimKind, Holder,
    object_name,
};

use super::{
    PoolSnapshot,
    kinds::{Claim, Given, Place},
};

/// What happens to one claim.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// Nothing: somebody else still holds the claim.
    Hold,
    /// Its addresses are taken back and it may go.
    Release(Vec<&'a Given>),
    /// It is pointed at an address that is there already.
    Link(&'a Given),
    /// It gets a new address under this name.
    Create(Allocation, String),
    /// The same for a claim that has taken the name of the address already.
    Complete(Allocation, String),
    /// It gets none.
    Report(Refusal),
}

/// Why a claim gets no address.
#[derive(Debug)]
pub(super) struct Refusal {
    /// In the words that users know; they stand on the claim.
    pub(super) words: String,
    /// In one word, for conditions.
    pub(super) reason: &'static str,
    /// What would help.
    help: String,
}

impl Refusal {
    fn new(words: impl Into<String>, help: impl Into<String>) -> Self {
        Self { words: words.into(), reason: "AllocationFailed", help: help.into() }
    }

    /// What is wrong and what would help.
    pub(super) fn advice(&self) -> String {
        if self.help.is_empty() { self.words.clone() } else { format!("{}: {}", self.words, self.help) }
    }
}

/// What happens to each claim.
#[derive(Debug)]
pub(super) struct Allocations<'a> {
    pub(super) steps: Vec<(&'a Claim, Step<'a>)>,
    /// Addresses that this pass gives, with their claims.
    given: Vec<(Address, ClaimKey)>,
    /// Places whose objects this pass deletes.
    freed: BTreeSet<Place>,
}

/// Goes through the claims: releases first, so that what they free can be given out in the same pass.
pub(super) fn allocate<'a>(snapshot: &'a PoolSnapshot<'_>) -> Allocations<'a> {
    let mut pass = Pass::new(snapshot);
    let (going, staying): (Vec<&Claim>, Vec<&Claim>) =
        snapshot.claims.iter().partition(|claim| claim.is_deleting());
    let mut steps = Vec::with_capacity(snapshot.claims.len());
    for claim in going {
        steps.push((claim, pass.release(claim)));
    }
    for (claim, address) in &snapshot.claims_without_address {
        steps.push((claim, pass.restore(claim, address)));
    }
    for claim in staying {
        steps.push((claim, pass.serve(claim)));
    }
    Allocations { steps, given: pass.given, freed: pass.freed }
}

impl Allocations<'_> {
    /// Who has which address after this pass, if `all` are all addresses of the pool; none for an address whose claim is not
    /// known. Texts that are no addresses are left out.
    pub(super) fn holders<'b>(
        &'b self,
        snapshot: &'b PoolSnapshot<'_>,
        all: &'b [Given],
    ) -> impl Iterator<Item = (Address, Option<ClaimKey>)> + 'b {
        let kept = all.iter().filter(|object| !self.freed.contains(&object.place())).filter_map(|object| {
            let address = object.address().parse().ok()?;
            let is_held = !snapshot.claimless.contains(&object.place()) && !object.claim_name().is_empty();
            Some((address, is_held.then(|| object.claim())))
        });
        kept.chain(self.given.iter().map(|(address, claim)| (*address, Some(claim.clone()))))
    }
}

/// One pass over the claims.
struct Pass<'a> {
    snapshot: &'a PoolSnapshot<'a>,
    pool: AddressAllocator,
    by_claim: BTreeMap<ClaimKey, BTreeMap<Address, &'a Given>>,
    /// Names that claims of Cluster API have taken.
    locks: BTreeMap<ClaimKey, BTreeMap<Address, &'a Given>>,
    /// Addresses that this pass gives, with their claims.
    given: Vec<(Address, ClaimKey)>,
    /// Places whose objects this pass deletes.
    freed: BTreeSet<Place>,
    /// Places of the objects that this pass makes.
    made: BTreeSet<Place>,
    /// Addresses that cannot be given because of their names, with the reason.
    passed_over: BTreeMap<Address, String>,
}

impl<'a> Pass<'a> {
    fn new(snapshot: &'a PoolSnapshot<'_>) -> Self {
        let (spec, used) = (&snapshot.pool.spec, snapshot.used.clone());
        let pool = match snapshot.pool.metadata.is_deleting() {
            true => AddressAllocator::of_deleting_pool(spec, used),
            false => AddressAllocator::new(spec, used),
        };
        let mut by_claim: BTreeMap<ClaimKey, BTreeMap<Address, &Given>> = BTreeMap::new();
        let mut locks = by_claim.clone();
        for (place, object) in &snapshot.addresses {
            // An address that does not parse blocks its name, nothing else.
            let Ok(address) = object.address().parse::<Address>() else {
                continue;
            };
            if !snapshot.claimless.contains(place) {
                let is_lock = matches!(object, Given::Lock(_));
                let objects = if is_lock { &mut locks } else { &mut by_claim };
                objects.entry(object.claim()).or_default().insert(address, object);
            }
        }
        Self {
            snapshot,
            pool,
            by_claim,
            locks,
            given: Vec::new(),
            freed: BTreeSet::new(),
            made: BTreeSet::new(),
            passed_over: BTreeMap::new(),
        }
    }

    /// Takes back what the claim has, unless somebody else still holds the claim.
    fn release(&mut self, claim: &'a Claim) -> Step<'a> {
        let key = claim.key();
        if claim.is_held_by_others(&self.snapshot.given_up)
            || self.snapshot.unseen_addresses.contains_key(&key)
        {
            return Step::Hold;
        }
        // The name is given back last: until then nobody else gets the address.
        let addresses = self.by_claim.remove(&key).into_iter().flatten();
        let addresses: Vec<(Address, &Given)> =
            addresses.chain(self.locks.remove(&key).into_iter().flatten()).collect();
        for (address, object) in &addresses {
            // Held by somebody else the object stays for a while, and with it the address.
            if object.is_only_ours() {
                self.pool.release(*address);
                self.freed.insert(object.place());
            }
        }
        Step::Release(addresses.into_iter().map(|(_, object)| object).collect())
    }

    fn serve(&mut self, claim: &'a Claim) -> Step<'a> {
        let key = claim.key();
        let uid = claim.metadata().uid_str();
        let own = self.by_claim.get(&key).and_then(|addresses| addresses.values().find(|a| a.is_of(uid)));
        if let Some(object) = own {
            return Step::Link(object);
        }
        if let Some(step) = self.complete(claim) {
            return step;
        }
        let pool = &self.snapshot.pool.metadata;
        if pool.is_deleting() {
            let words = format!("IPPool {} is being deleted", pool.name_str());
            return Step::Report(Refusal::new(words, "name another pool"));
        }
        if let Some(words) = self.snapshot.refused.get(&key.to_string()) {
            let words = format!("Failed to create associated IPAddress object: {words}");
            return Step::Report(Refusal::new(words, ""));
        }
        self.choose(claim, claim.request())
    }

    /// The address whose name the claim has taken, unless an object of somebody else stands where it must be.
    fn complete(&mut self, claim: &'a Claim) -> Option<Step<'a>> {
        let (key, uid) = (claim.key(), claim.metadata().uid_str());
        let lock = self.locks.get(&key)?.values().find(|lock| lock.is_of(uid))?;
        let place = (claim.kind(), lock.metadata().name_str().to_owned());
        let addresses = [&self.by_claim, &self.locks].into_iter().filter_map(|objects| objects.get(&key));
        let first = addresses.flat_map(BTreeMap::keys).min().copied()?;
        let is_it = first.to_string() == lock.address();
        let allocation = self.pool.allocation(first);
        (is_it && self.owner_of_name(&place).is_none()).then_some(Step::Complete(allocation, place.1))
    }

    /// Recreates the address that a served claim has lost: whoever runs on it must not meet another one there.
    fn restore(&mut self, claim: &'a Claim, address: &str) -> Step<'a> {
        match self.choose(claim, AddressRequest { requested: Some(address.to_owned()), ..claim.request() }) {
            // It has its address anyway; what is not seen is no error of the claim.
            Step::Report(_) => Step::Hold,
            step => step,
        }
    }

    /// An address for a claim that has none of its own. Ends, because no address is looked at twice.
    fn choose(&mut self, claim: &'a Claim, request: AddressRequest) -> Step<'a> {
        let draw = draw(claim.metadata().uid_str());
        loop {
            let allocation = match self.pool.choose(&request, draw) {
                Ok(allocation) => allocation,
                Err(error) => return Step::Report(self.refuse(error)),
            };
            let name = object_name(&self.snapshot.pool.spec.name_prefix, allocation.address);
            // Claims of Cluster API need the name in both kinds of addresses.
            let places = [ClaimKind::IpClaim, claim.kind()].map(|kind| (kind, name.clone()));
            match places.iter().find_map(|place| self.owner_of_name(place)) {
                None => {
                    self.pool.take(allocation.address);
                    self.given.push((allocation.address, request.claim));
                    self.made.extend(places);
                    return Step::Create(allocation, name);
                }
                Some(owner) => {
                    self.pool.pass_over(allocation.address);
                    self.passed_over.insert(allocation.address, owner);
                }
            }
        }
    }

    /// Whose object stands under the name, in words.
    fn owner_of_name(&self, place: &Place) -> Option<String> {
        let name = &place.1;
        if self.made.contains(place) {
            return Some(format!("the name {name} is needed for another address of this pool"));
        }
        if self.freed.contains(place) {
            return None;
        }
        let other = self.snapshot.named.read(place.clone())?;
        Some(format!("the name {name} belongs to an address of IPPool {}", other.pool_name()))
    }

    /// Who has an address.
    fn holder_of(&self, address: Address) -> Option<Holder> {
        if let Some((_, claim)) = self.given.iter().find(|(given, _)| *given == address) {
            return Some(Holder(Some(claim.clone())));
        }
        if !self.pool.is_used(address) {
            return self.pool.is_passed_over(address).then_some(Holder(None));
        }
        let has_it = |object: &Given| {
            object.address().parse() == Ok(address)
                && object.is_from(self.snapshot.pool.metadata.name_str())
                && !self.freed.contains(&object.place())
        };
        let name = object_name(&self.snapshot.pool.spec.name_prefix, address);
        let named = self.snapshot.named.read((ClaimKind::IpClaim, name)).filter(has_it);
        // Somebody else may have given the object another name.
        let object = named.or_else(|| self.snapshot.all_addresses.read(()).into_iter().find(has_it));
        let claim = object.filter(|object| !self.snapshot.claimless.contains(&object.place()));
        Some(Holder(claim.map(|object| object.claim()).filter(|claim| !claim.name.is_empty())))
    }

    /// The error in the words that users know; where a name was in the way, whose it is.
    fn refuse(&self, error: AddressError) -> Refusal {
        let error = error.with_holder(|address| self.holder_of(address));
        let wanted = match &error {
            AddressError::RequestedTaken(address) | AddressError::PreAllocatedTaken { address, .. } => {
                Some(address)
            }
            _ => None,
        };
        let words = match wanted.and_then(|address| Some((address, self.passed_over.get(address)?))) {
            Some((address, owner)) => format!("{address} cannot be allocated: {owner}"),
            None => error.to_string(),
        };
        let mut help = error.help(self.pool.capacity(), |address| self.holder_of(address));
        if let (AddressError::Exhausted { requested: false }, Some((address, owner))) =
            (&error, self.passed_over.first_key_value())
        {
            help = format!("{help}; {address} cannot be allocated: {owner}");
        }
        Refusal { words, reason: error.condition_reason(), help }
    }
}

/// The random number of a claim: always the same, so that a second pass chooses alike. FNV-1a of the uid.
fn draw(uid: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    uid.bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

//! Who gets which address in one pass, before any object is written.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    ipam::{self, IpAddress, IpClaim},
    metadata::MetadataExt,
    vocabulary::finalizer,
};
use capm3_domain::address::{
    Address, AddressBook, AddressError, AddressRequest, Allocation, ClaimKey, ClaimKind, object_name,
};

use super::Snapshot;

/// What happens to one claim.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// Nothing: somebody else still holds the claim.
    Hold,
    /// Its addresses are taken back and it may go.
    Release(Vec<&'a IpAddress>),
    /// It is pointed at an address that is there already.
    Link(&'a IpAddress),
    /// It gets a new address under this name.
    Create(Allocation, String),
    /// It gets none; the text says why.
    Report(String),
}

/// What happens to each claim, and the books afterwards.
#[derive(Debug)]
pub(super) struct Allotment<'a> {
    pub(super) steps: Vec<(&'a IpClaim, Step<'a>)>,
    pub(super) book: AddressBook,
}

/// Goes through the claims: releases first, so that what they free can be given out in the same pass. `find` answers
/// which object stands under a name.
pub(super) fn allot(snapshot: &Snapshot, find: impl FnMut(&str) -> Option<Arc<IpAddress>>) -> Allotment<'_> {
    let mut desk = Desk::new(snapshot, find);
    let (going, staying): (Vec<_>, Vec<_>) =
        snapshot.claims.iter().map(AsRef::as_ref).partition(|claim: &&IpClaim| claim.metadata.is_deleting());
    let mut steps = Vec::with_capacity(snapshot.claims.len());
    for claim in going {
        steps.push((claim, desk.release(claim)));
    }
    for claim in staying {
        steps.push((claim, desk.serve(claim)));
    }
    Allotment { steps, book: desk.book }
}

struct Desk<'a, F> {
    snapshot: &'a Snapshot,
    find: F,
    book: AddressBook,
    by_claim: BTreeMap<&'a str, BTreeMap<Address, &'a IpAddress>>,
    /// Names whose objects this pass deletes.
    freed: BTreeSet<&'a str>,
    /// Names that this pass gives to new objects.
    made: BTreeSet<String>,
    /// Addresses that cannot be given because of their names, with the reason.
    passed_over: BTreeMap<Address, String>,
}

impl<'a, F: FnMut(&str) -> Option<Arc<IpAddress>>> Desk<'a, F> {
    fn new(snapshot: &'a Snapshot, find: F) -> Self {
        let spec = &snapshot.pool.spec;
        let deleting = snapshot.pool.metadata.is_deleting();
        let mut book = if deleting { AddressBook::of_deleting_pool(spec) } else { AddressBook::new(spec) };
        let mut by_claim: BTreeMap<&str, BTreeMap<Address, &IpAddress>> = BTreeMap::new();
        for object in &snapshot.addresses {
            // An address that does not parse blocks its name, nothing else.
            let Ok(address) = object.spec.address.parse::<Address>() else {
                continue;
            };
            let claim = object.spec.claim.name_str();
            if snapshot.claimless.contains(object.metadata.name_str()) {
                book.record(address, None);
            } else {
                book.record(address, Some(key(claim)));
                by_claim.entry(claim).or_default().insert(address, object);
            }
        }
        Self {
            snapshot,
            find,
            book,
            by_claim,
            freed: BTreeSet::new(),
            made: BTreeSet::new(),
            passed_over: BTreeMap::new(),
        }
    }

    /// Takes back what the claim has, unless somebody else still holds the claim.
    fn release(&mut self, claim: &'a IpClaim) -> Step<'a> {
        let others = claim.metadata.finalizers.iter().flatten().any(|f| f != finalizer::IP_CLAIM);
        if others {
            return Step::Hold;
        }
        let name = claim.metadata.name_str();
        let addresses = self.by_claim.remove(name).unwrap_or_default();
        for (address, object) in &addresses {
            // Held by somebody else the object stays for a while, and with it the address.
            if object.metadata.finalizers.iter().flatten().all(|f| f == finalizer::IP_ADDRESS) {
                self.book.forget(*address, Some(&key(name)));
                self.freed.insert(object.metadata.name_str());
            }
        }
        Step::Release(addresses.into_values().collect())
    }

    fn serve(&mut self, claim: &'a IpClaim) -> Step<'a> {
        let name = claim.metadata.name_str();
        let own = self.by_claim.get(name).and_then(|addresses| addresses.values().find(|a| is_of(a, claim)));
        if let Some(object) = own {
            return Step::Link(object);
        }
        if self.snapshot.pool.metadata.is_deleting() {
            return Step::Report(format!(
                "IPPool {} is being deleted",
                self.snapshot.pool.metadata.name_str()
            ));
        }
        if let Some(words) = self.snapshot.refused.get(name) {
            return Step::Report(format!("Failed to create associated IPAddress object: {words}"));
        }
        self.choose(claim)
    }

    fn choose(&mut self, claim: &'a IpClaim) -> Step<'a> {
        let request = AddressRequest::from(claim);
        let draw = draw(claim.metadata.uid_str());
        loop {
            let allocation = match self.book.choose(&request, draw) {
                Ok(allocation) => allocation,
                Err(error) => return Step::Report(words(&error, &self.passed_over)),
            };
            let name = object_name(&self.snapshot.pool.spec.name_prefix, allocation.address);
            match self.owner_of_name(&name) {
                None => {
                    self.book.record(allocation.address, Some(request.claim));
                    self.made.insert(name.clone());
                    return Step::Create(allocation, name);
                }
                Some(owner) => {
                    self.book.pass_over(allocation.address);
                    self.passed_over.insert(allocation.address, owner);
                }
            }
        }
    }

    /// Whose object stands under the name, in words.
    fn owner_of_name(&mut self, name: &str) -> Option<String> {
        if self.made.contains(name) {
            return Some(format!("the name {name} is needed for another address of this pool"));
        }
        if self.freed.contains(name) {
            return None;
        }
        let other = (self.find)(name)?;
        Some(format!("the name {name} belongs to an address of IPPool {}", other.spec.pool.name_str()))
    }
}

fn key(claim: &str) -> ClaimKey {
    ClaimKey::new(ClaimKind::IpClaim, claim)
}

/// The error in the words that users know; where a name was in the way, whose it is.
fn words(error: &AddressError, passed_over: &BTreeMap<Address, String>) -> String {
    let wanted = match error {
        AddressError::RequestedTaken(address) | AddressError::PreAllocatedTaken { address, .. } => {
            Some(address)
        }
        _ => None,
    };
    match wanted.and_then(|address| Some((address, passed_over.get(address)?))) {
        Some((address, owner)) => format!("{address} cannot be given: {owner}"),
        None => error.to_string(),
    }
}

/// The random number of a claim: always the same, so that a second look chooses alike. FNV-1a of the uid.
fn draw(uid: &str) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    uid.bytes().fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// Whether an address is this claim's and not that of a predecessor of the same name, which may still be going.
fn is_of(address: &IpAddress, claim: &IpClaim) -> bool {
    let owner = address.metadata.owner(ipam::GROUP, "IPClaim");
    owner.is_none_or(|owner| owner.uid == claim.metadata.uid_str())
}

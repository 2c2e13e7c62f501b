//! What each pool gives to each machine: the address that it has, else the one that the address manager would give.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{
    ipam::IpPool,
    metadata::MetadataExt,
    v1beta2::{GROUP, Metal3Data, Metal3DataTemplateSpec},
};
use capm3_domain::{
    address::{AddressBook, AddressRequest, ClaimKey, ClaimKind, object_name},
    render::{Address, PoolRef, place_of_pool, referenced_pools},
};
use capm3_engine::{ObjectKey, manifests::Problem};
use capm3_provider::{
    ippool::draw,
    metal3data::{claim_name, of_capi, of_metal3, wanted_spec},
};

use super::{case::Case, documents::render_problem, site::Site};

/// Gives each machine one address of each pool that its template needs. Those that have addresses lose none to others:
/// every address of the files is in the books from the start.
pub(super) fn give(site: &Site<'_>, cases: &mut [Case<'_>]) {
    let mut pools = Pools::of(site);
    for case in cases.iter_mut().filter(|case| case.problem.is_none()) {
        if let Err(problem) = pools.give(case) {
            case.problem = Some(problem);
        }
    }
}

struct Pools<'d> {
    site: &'d Site<'d>,
    books: BTreeMap<ObjectKey, AddressBook>,
    /// Addresses that claims have, by namespace and name of the claim.
    metal3: BTreeMap<ObjectKey, Address>,
    capi: BTreeMap<ObjectKey, Address>,
    /// IPClaims by the Metal3Data that owns them and by pool: they may be named after their hosts.
    claims: BTreeMap<(ObjectKey, String), ObjectKey>,
    /// Names of address objects, which no two pools may share.
    names: BTreeSet<ObjectKey>,
}

impl<'d> Pools<'d> {
    fn of(site: &'d Site<'d>) -> Self {
        let mut books: BTreeMap<ObjectKey, AddressBook> = BTreeMap::new();
        for (key, found) in &site.pools {
            books.insert(key.clone(), AddressBook::new(&found.object.spec));
        }
        let mut enter = |pool: ObjectKey, address: &str, kind: ClaimKind, claim: &str| {
            if let (Some(book), Ok(address)) = (books.get_mut(&pool), address.parse()) {
                book.record(address, Some(ClaimKey::new(kind, claim)));
            }
        };
        let mut metal3 = BTreeMap::new();
        for (key, found) in &site.ip_addresses {
            let spec = &found.object.spec;
            let here = |name: &str| ObjectKey::new(&key.namespace, name);
            enter(here(spec.pool.name_str()), &spec.address, ClaimKind::IpClaim, spec.claim.name_str());
            metal3.insert(here(spec.claim.name_str()), of_metal3(&found.object));
        }
        let mut capi = BTreeMap::new();
        for (key, found) in &site.capi_addresses {
            let spec = &found.object.spec;
            let here = |name: &str| ObjectKey::new(&key.namespace, name);
            enter(here(&spec.pool_ref.name), &spec.address, ClaimKind::IpAddressClaim, &spec.claim_ref.name);
            capi.insert(here(&spec.claim_ref.name), of_capi(&found.object));
        }
        // The mirror of the addresses that pools carry, where the addresses themselves are not in the files.
        for (key, found) in &site.pools {
            for (claim, address) in &found.object.status.indexes {
                enter(key.clone(), address, ClaimKind::IpClaim, claim);
            }
        }
        let claims = site.ip_claims.iter().filter_map(|(key, found)| {
            let owner = found.object.metadata.owner(GROUP, Metal3Data::API.kind)?;
            let pool = found.object.spec.pool.name_str().to_owned();
            Some(((ObjectKey::new(&key.namespace, &owner.name), pool), key.clone()))
        });
        Self {
            site,
            books,
            metal3,
            capi,
            claims: claims.collect(),
            names: site.ip_addresses.keys().cloned().collect(),
        }
    }

    fn give(&mut self, case: &mut Case<'_>) -> Result<(), Problem> {
        let (Some(template), Some(data)) = (case.template, case.data.clone()) else { return Ok(()) };
        let spec = wanted_spec(&template.object, Some(&case.machine));
        let wanted = referenced_pools(&spec, case.objects()).map_err(|error| render_problem(case, &error))?;
        for (name, pool) in wanted {
            let own = self.claims.get(&(case.here(data.metadata.name_str()), name.clone()));
            let own = own.filter(|_| pool.is_metal3()).cloned();
            let claim = own.unwrap_or_else(|| case.here(&claim_name(&data, &name)));
            let address = if pool.is_metal3() {
                self.metal3(&claim, &pool, data.status.ready == Some(true))
            } else {
                self.capi.get(&claim).cloned().ok_or_else(|| {
                    format!("{} {name} is served by another address manager; add the IPAddress of IPAddressClaim {claim}", pool.kind)
                })
            };
            match address {
                Ok(address) => case.addresses.insert(name, address),
                Err(message) => return Err(self.problem(case, &spec, &pool, &message)),
            };
        }
        Ok(())
    }

    /// `is_rendered` tells that the machine has its addresses already: a new one would be another one.
    fn metal3(&mut self, claim: &ObjectKey, pool: &PoolRef, is_rendered: bool) -> Result<Address, String> {
        if let Some(address) = self.metal3.get(claim) {
            return Ok(address.clone());
        }
        let key = ObjectKey::new(&claim.namespace, &pool.name);
        let (Some(book), Some(found)) = (self.books.get_mut(&key), self.site.pools.get(&key)) else {
            return Err(format!("IPPool {key} is not in the files; add it"));
        };
        let known = self.site.ip_claims.get(claim).map(|found| &found.object);
        let request =
            known.map_or_else(|| AddressRequest::new(ClaimKind::IpClaim, &claim.name), AddressRequest::from);
        let has = known.is_some_and(|known| known.status.address.is_some()) || is_rendered;
        if has && book.address_of(&request.claim).is_none() {
            return Err(format!("the IPAddress of IPClaim {claim} is not in the files; add it"));
        }
        // Without a claim there is no uid to draw with; its name stands for it.
        let uid = known.map(|known| known.metadata.uid_str()).filter(|uid| !uid.is_empty());
        give_from(book, &found.object, &request, draw(uid.unwrap_or(&claim.name)), &mut self.names)
    }

    /// At the pool where there is one, else where the template names it.
    fn problem(
        &self,
        case: &Case<'_>,
        spec: &Metal3DataTemplateSpec,
        pool: &PoolRef,
        message: &str,
    ) -> Problem {
        let found = self.site.pools.get(&case.here(&pool.name)).filter(|_| pool.is_metal3());
        let template = case.template.map_or(case.origin, |template| template.document);
        match found {
            Some(found) => {
                found.document.problem("spec.pools", format!("machine {}: {message}", case.name()))
            }
            None => {
                let place = place_of_pool(spec, case.objects(), &pool.name).unwrap_or_default();
                let item = if place.item.is_empty() { String::new() } else { format!(", {}", place.item) };
                template.problem(&place.path, format!("machine {}{item}: {message}", case.name()))
            }
        }
    }
}

fn give_from(
    book: &mut AddressBook,
    pool: &IpPool,
    request: &AddressRequest,
    draw: u128,
    names: &mut BTreeSet<ObjectKey>,
) -> Result<Address, String> {
    loop {
        let given = book.choose(request, draw).map_err(|error| {
            let help = book.help(&error);
            if help.is_empty() { error.to_string() } else { format!("{error}: {help}") }
        })?;
        let name = object_name(&pool.spec.name_prefix, given.address);
        // A name that an address of another pool has makes the controllers take the next one; an address that the claim
        // has already stays.
        let is_new = book.address_of(&request.claim).is_none();
        if is_new && !names.insert(ObjectKey::new(pool.metadata.namespace_str(), name)) {
            book.pass_over(given.address);
            continue;
        }
        book.record(given.address, Some(request.claim.clone()));
        return Ok(Address {
            address: given.address.to_string(),
            prefix: given.prefix,
            gateway: given.gateway.unwrap_or_default(),
            dns_servers: given.dns_servers,
        });
    }
}

//! What each pool gives to each machine, as the built-in address manager gives it.
//!
//! Takes the machines with their data and the memory; puts the claims that the data would make into it, lets each pool serve its
//! claims, and puts the addresses there. Addresses of other address managers must be in the files.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{
    ipam::{self, IpAddress, IpClaim, IpPool},
    metadata::MetadataExt,
    v1beta2::{GROUP, Metal3Data, Metal3DataTemplateSpec},
};
use capm3_domain::render::{Address, PoolRef, Pools, place_of_pool, referenced_pools};
use capm3_engine::{Memory, Object, ObjectKey, Reader, manifests::Problem};
use capm3_provider::{
    indexes::{CAPI_IP_ADDRESSES_BY_CLAIM, IP_ADDRESSES_BY_CLAIM},
    ippool::{addresses_in_status, allocated, observe},
    metal3data::{claim_name, new_ip_claim, of_capi, of_metal3, wanted_spec},
};

use super::{
    case::Case,
    documents::render_problem,
    made::{made_time, made_uid},
    site::{Located, Site},
};

/// The claims of a machine, by pool.
type Claims = BTreeMap<String, (PoolRef, ObjectKey)>;

/// Gives each machine one address of each pool that its template needs.
pub(super) fn allocate(site: &Site<'_>, memory: &mut Memory, cases: &mut [Case<'_>]) {
    put_addresses_in_status(memory);
    let owned = claims_by_data(site, memory);
    let mut claims: Vec<Claims> = Vec::with_capacity(cases.len());
    for case in cases.iter_mut() {
        claims.push(match claim(memory, case, &owned) {
            Ok(claims) => claims,
            Err(problem) => {
                case.problem = Some(problem);
                Claims::new()
            }
        });
    }
    let refusals = serve(memory, &claims);
    for (case, claims) in cases.iter_mut().zip(claims) {
        for (pool, claim) in claims.values() {
            match address(memory, pool, claim, &refusals) {
                Ok(address) => _ = case.addresses.insert(pool.name.clone(), address),
                Err(message) => {
                    case.problem =
                        case.problem.take().or_else(|| Some(problem(site, memory, case, pool, &message)))
                }
            }
        }
    }
}

/// Addresses that only the status of a pool shows are in use too.
fn put_addresses_in_status(memory: &mut Memory) {
    let pools = memory.caches().store::<IpPool>().map(|store| store.all()).unwrap_or_default();
    for mut address in pools.iter().flat_map(|pool| addresses_in_status(pool)) {
        let namespace = address.metadata.namespace_str();
        let claim = ObjectKey::new(namespace, address.spec.claim.name_str());
        if !memory.by_index(&IP_ADDRESSES_BY_CLAIM, &claim.to_string()).is_empty() {
            continue;
        }
        // The object of that name may be of another pool.
        if memory.get::<IpAddress>(&address.key()).is_some() {
            address.metadata.name =
                Some(format!("{}.{}", address.metadata.name_str(), address.spec.pool.name_str()));
        }
        memory.put(address);
    }
}

/// IPClaims by the Metal3Data that owns them and by pool: they may be named after their hosts.
fn claims_by_data(site: &Site<'_>, memory: &Memory) -> BTreeMap<(ObjectKey, String), ObjectKey> {
    let claims: Vec<Located<'_, IpClaim>> = site.all(memory);
    let owned = claims.iter().filter_map(|found| {
        let (key, claim) = (found.object.key(), &found.object);
        let owner = claim.metadata.owner(GROUP, Metal3Data::API.kind)?;
        Some(((ObjectKey::new(&key.namespace, &owner.name), claim.spec.pool.name_str().to_owned()), key))
    });
    owned.collect()
}

/// The claims of a machine on the pools that its template needs. Those that are not there are put into the memory.
fn claim(
    memory: &mut Memory,
    case: &Case<'_>,
    owned: &BTreeMap<(ObjectKey, String), ObjectKey>,
) -> Result<Claims, Problem> {
    let (None, Some(template), Some(data)) = (&case.problem, &case.template, &case.data) else {
        return Ok(Claims::new());
    };
    let spec = wanted_spec(&template.object, Some(&case.machine));
    let pools: Pools =
        referenced_pools(&spec, case.objects()).map_err(|error| render_problem(case, &error))?;
    let mut claims = Claims::new();
    for (name, pool) in pools {
        let own = owned.get(&(data.key(), name.clone())).filter(|_| pool.is_metal3());
        let key = own.cloned().unwrap_or_else(|| case.here(&claim_name(data, &name)));
        if pool.is_metal3() {
            put_claim(memory, case, data, &pool, &key);
        }
        claims.insert(name, (pool, key));
    }
    Ok(claims)
}

/// Puts a claim into the memory, unless it is there or was served: a machine that is rendered has its addresses, and a new one
/// would be another one.
fn put_claim(memory: &mut Memory, case: &Case<'_>, data: &Metal3Data, pool: &PoolRef, key: &ObjectKey) {
    if memory.get::<IpClaim>(key).is_some() {
        return;
    }
    let addresses = memory.by_index(&IP_ADDRESSES_BY_CLAIM, &key.to_string());
    if data.status.ready == Some(true) && addresses.is_empty() {
        return;
    }
    let mut claim = new_ip_claim(data, &pool.name);
    claim.metadata.creation_timestamp = made_time(case.number);
    let owner = addresses.iter().find_map(|address| address.metadata.owner(ipam::GROUP, IpClaim::API.kind));
    claim.metadata.uid = Some(owner.map_or_else(|| made_uid(key), |owner| owner.uid.clone()));
    memory.put(claim);
}

/// Lets each pool serve its claims, by name. Answers why claims get no address.
fn serve(memory: &mut Memory, claims: &[Claims]) -> BTreeMap<ObjectKey, String> {
    let pools = claims.iter().flat_map(BTreeMap::values).filter(|(pool, _)| pool.is_metal3());
    let pools: BTreeSet<ObjectKey> =
        pools.map(|(pool, claim)| ObjectKey::new(&claim.namespace, &pool.name)).collect();
    let mut refusals = BTreeMap::new();
    for pool in pools {
        let served = observe(memory, &pool).map(|snapshot| allocated(&snapshot));
        for (claim, outcome) in served.into_iter().flatten() {
            match outcome {
                Ok(Some(address)) => memory.put(address),
                Ok(None) => {}
                Err(refusal) => _ = refusals.insert(claim, refusal),
            }
        }
    }
    refusals
}

/// The address that a claim has, or why there is none.
fn address(
    memory: &Memory,
    pool: &PoolRef,
    claim: &ObjectKey,
    refusals: &BTreeMap<ObjectKey, String>,
) -> Result<Address, String> {
    if !pool.is_metal3() {
        let found = memory.by_index(&CAPI_IP_ADDRESSES_BY_CLAIM, &claim.to_string());
        return found.first().map(|address| of_capi(address)).ok_or_else(|| {
            format!(
                "{} {} is served by another address manager; add the IPAddress of IPAddressClaim {claim}",
                pool.kind, pool.name
            )
        });
    }
    let found = memory.by_index(&IP_ADDRESSES_BY_CLAIM, &claim.to_string());
    if let Some(address) = found.iter().find(|address| address.spec.pool.name_str() == pool.name) {
        return Ok(of_metal3(address));
    }
    let key = ObjectKey::new(&claim.namespace, &pool.name);
    if memory.get::<IpPool>(&key).is_none() {
        return Err(format!("IPPool {key} is not in the files; add it"));
    }
    let missing = || format!("the IPAddress of IPClaim {claim} is not in the files; add it");
    Err(refusals.get(claim).cloned().unwrap_or_else(missing))
}

/// At the pool where there is one, else where the template names it.
fn problem(site: &Site<'_>, memory: &Memory, case: &Case<'_>, pool: &PoolRef, message: &str) -> Problem {
    let found = site.get::<IpPool>(memory, &case.here(&pool.name)).filter(|_| pool.is_metal3());
    let document = case.template.as_ref().map_or(case.origin, |template| template.document);
    if let Some(found) = found {
        return found.document.problem("spec.pools", format!("machine {}: {message}", case.name()));
    }
    let spec = case.template.as_ref().map(|template| wanted_spec(&template.object, Some(&case.machine)));
    let spec: Metal3DataTemplateSpec = spec.unwrap_or_default();
    let place = place_of_pool(&spec, case.objects(), &pool.name).unwrap_or_default();
    let item = if place.item.is_empty() { String::new() } else { format!(", {}", place.item) };
    document.problem(&place.path, format!("machine {}{item}: {message}", case.name()))
}

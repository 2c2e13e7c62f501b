//! What a decision about a Metal3Data needs to know.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    conditions::find,
    ipam::{IpAddress, IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::{
        BareMetalHost, CAPI_GROUP, CapiIpAddress, Cluster, IpAddressClaim, Machine, SecretMetadata,
    },
    v1beta2::{self, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3DataTemplateSpec, Metal3Machine},
    vocabulary::{condition, label},
};
use capm3_domain::{
    address::ClaimKind,
    host::annotated_host,
    numbers::UsedNumbers,
    render::{Content, Objects, PoolRef, Pools, referenced_pools, secret_name},
};
use capm3_engine::{Object, ObjectKey, Reader};
use kube::core::ObjectMeta;

use super::{
    claims::{AddressClaim, PoolClaim, claim_name, of_capi, of_metal3},
    wanted_documents::wanted_spec,
};
use crate::{
    aggregates::{InStatus, Used},
    indexes::{CAPI_CLAIMS_BY_OWNER, IP_CLAIMS_BY_OWNER, MACHINES_IN_PROGRESS},
    ippool::is_at_work,
};

/// How the provider deals with addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Whether the built-in address manager serves IPPools.
    pub serves_addresses: bool,
    /// Whether IPClaims are named after the host, so that reservations of a pool outlive the machine.
    pub names_claims_by_host: bool,
}

/// A Metal3Data and what surrounds it.
#[derive(Debug, Clone)]
pub struct DataSnapshot {
    /// The object itself.
    pub data: Arc<Metal3Data>,
    /// How many machines of the namespace come up or go.
    pub machines_in_progress: usize,
    /// Its Cluster.
    pub cluster: Option<Arc<Cluster>>,
    /// The claim that it serves.
    pub claim: Option<Arc<Metal3DataClaim>>,
    /// Whether the claim that it was made for is known to be gone.
    pub claim_is_gone: bool,
    /// The template that it is rendered from.
    pub template: Option<Arc<Metal3DataTemplate>>,
    /// The machine that asked for it.
    pub metal3_machine: Option<Arc<Metal3Machine>>,
    /// The owner of that machine.
    pub machine: Option<Arc<Machine>>,
    /// The host of that machine.
    pub host: Option<Arc<BareMetalHost>>,
    /// Address claims that this data owns, by kind and name.
    pub ip_claims: Vec<PoolClaim>,
    /// Address claims of others that have a name which this data might give, by that name.
    pub namesakes: BTreeMap<String, AddressClaim>,
    /// The IPPools among the pools of the template and of the claims.
    pub pools: BTreeMap<String, Arc<IpPool>>,
    /// Addresses in use as the status of these pools shows them.
    pub used_addresses: BTreeMap<String, Arc<UsedNumbers>>,
    /// Names of IPPools of the claims that are known to be gone.
    pub gone_pools: BTreeSet<String>,
    /// Names of those whose claims are looked at by their address manager.
    pub working_pools: BTreeSet<String>,
    /// Kinds of address claims that the API server does not serve.
    pub kinds_not_served: BTreeSet<ClaimKind>,
    /// How the provider deals with addresses.
    pub settings: Settings,
    /// The Secrets of the names that this data uses.
    pub secrets: BTreeMap<&'static str, Arc<SecretMetadata>>,
}

impl DataSnapshot {
    /// Name of a new claim on a pool. Only IPPools know reservations, so only their claims are named after hosts.
    pub(super) fn claim_name(&self, pool: &PoolRef) -> String {
        let host = self.host.as_deref().filter(|_| self.settings.names_claims_by_host && pool.is_metal3());
        host.map_or_else(|| claim_name(&self.data, &pool.name), |host| host_claim_name(host, &pool.name))
    }
}

fn host_claim_name(host: &BareMetalHost, pool: &str) -> String {
    format!("{}-{pool}", host.metadata.name_str())
}

/// Reads the snapshot; `None` when the object is gone.
pub fn observe(reader: &impl Reader, key: &ObjectKey, settings: Settings) -> Option<DataSnapshot> {
    let data = reader.get::<Metal3Data>(key)?;
    let here = |name: &str| ObjectKey::new(&key.namespace, name);
    let cluster =
        data.metadata.label(label::CLUSTER_NAME).and_then(|name| reader.get::<Cluster>(&here(name)));
    let claim = data.spec.claim.as_ref().and_then(|c| reader.get::<Metal3DataClaim>(&here(c.name_str())));
    let template =
        data.spec.template.as_ref().and_then(|t| reader.get::<Metal3DataTemplate>(&here(t.name_str())));
    let metal3_machine = claim
        .as_ref()
        .and_then(|c| c.metadata.owner(v1beta2::GROUP, "Metal3Machine").map(|owner| owner.name.clone()))
        .and_then(|name| reader.get::<Metal3Machine>(&here(&name)));
    let machine = metal3_machine
        .as_ref()
        .and_then(|m| m.metadata.owner(CAPI_GROUP, "Machine"))
        .and_then(|owner| reader.get::<Machine>(&here(&owner.name)));
    let host = metal3_machine
        .as_ref()
        .and_then(|m| annotated_host(m).ok().flatten())
        .and_then(|name| reader.get::<BareMetalHost>(&here(name)));
    let secrets = observe_secrets(reader, &data, metal3_machine.as_deref());
    let objects = Objects {
        metal3_machine: metal3_machine.as_deref(),
        machine: machine.as_deref(),
        host: host.as_deref(),
    };
    let spec = template.as_deref().map(|template| wanted_spec(template, metal3_machine.as_deref()));
    // A template that cannot be read for pools is reported when it is rendered.
    let wanted = spec.and_then(|spec: Metal3DataTemplateSpec| referenced_pools(&spec, objects).ok());
    let wanted = wanted.unwrap_or_default();
    let mut ip_claims = observe_claims(reader, &data);
    let mut namesakes = observe_namesakes(reader, &data, host.as_deref(), &wanted);
    let inherited = namesakes.extract_if(.., |_, namesake| is_inherited(namesake, &data, claim.as_deref()));
    ip_claims.extend(inherited.map(|(_, namesake)| with_address(reader, namesake)));
    let pools = observe_pools(reader, &key.namespace, &wanted, &ip_claims);
    Some(DataSnapshot {
        machines_in_progress: reader.count(&MACHINES_IN_PROGRESS, &key.namespace),
        cluster,
        claim,
        claim_is_gone: claim_is_gone(reader, &data),
        gone_pools: gone_pools(reader, &key.namespace, &ip_claims),
        template,
        metal3_machine,
        machine,
        host,
        namesakes,
        working_pools: working(reader, &pools),
        used_addresses: pools
            .iter()
            .map(|(name, pool)| (name.clone(), used_addresses(reader, pool)))
            .collect(),
        pools,
        ip_claims,
        kinds_not_served: kinds_not_served(reader, &data),
        settings,
        secrets,
        data,
    })
}

/// Whether the claim that the data was made for is known to be gone: the one with the uid of its owner reference, or any of
/// the name where there is none.
pub(crate) fn claim_is_gone(reader: &impl Reader, data: &Metal3Data) -> bool {
    let Some(claim) = claim_key(data) else { return true };
    let owner = data.metadata.owner(v1beta2::GROUP, "Metal3DataClaim");
    reader.is_known_gone::<Metal3DataClaim>(&claim, owner.map(|owner| owner.uid.as_str()))
}

/// The claim that the data names.
pub(super) fn claim_key(data: &Metal3Data) -> Option<ObjectKey> {
    let name = data.spec.claim.as_ref().map(|claim| claim.name_str()).filter(|name| !name.is_empty())?;
    Some(ObjectKey::new(data.metadata.namespace_str(), name))
}

fn gone_pools(reader: &impl Reader, namespace: &str, claims: &[PoolClaim]) -> BTreeSet<String> {
    let pools = claims.iter().filter_map(|claim| claim.claim.ip_pool());
    let is_gone = |pool: &&str| reader.is_known_gone::<IpPool>(&ObjectKey::new(namespace, *pool), None);
    pools.filter(is_gone).map(str::to_owned).collect()
}

/// Claims are found by the uid of their owner, never by name: a namesake's claim is not ours.
fn observe_claims(reader: &impl Reader, data: &Metal3Data) -> Vec<PoolClaim> {
    let uid = data.metadata.uid_str();
    let metal3 = reader.by_index(&IP_CLAIMS_BY_OWNER, uid).into_iter().map(AddressClaim::Metal3);
    let capi = reader.by_index(&CAPI_CLAIMS_BY_OWNER, uid).into_iter().map(AddressClaim::Capi);
    metal3.chain(capi).map(|claim| with_address(reader, claim)).collect()
}

fn with_address(reader: &impl Reader, claim: AddressClaim) -> PoolClaim {
    let here = |name: &str| ObjectKey::new(claim.metadata().namespace_str(), name);
    let address = match &claim {
        AddressClaim::Metal3(claim) => {
            let name = claim.status.address.as_ref().and_then(|address| address.name.as_deref());
            name.and_then(|name| reader.get::<IpAddress>(&here(name))).map(|address| of_metal3(&address))
        }
        AddressClaim::Capi(claim) => {
            let name = claim.status.address_ref.as_ref().map(|address| address.name.as_str());
            name.and_then(|name| reader.get::<CapiIpAddress>(&here(name))).map(|address| of_capi(&address))
        }
    };
    PoolClaim { claim, address }
}

/// Whether an earlier data object of this name made the claim for the same machine. It was removed by hand and the machine
/// runs on the address, which so stays what it is.
fn is_inherited(namesake: &AddressClaim, data: &Metal3Data, claim: Option<&Metal3DataClaim>) -> bool {
    let created = |metadata: &ObjectMeta| metadata.creation_timestamp.as_ref().map(|time| time.0);
    let claimed = claim.and_then(|claim| created(&claim.metadata));
    namesake.is_of_predecessor(data) && claimed.is_some() && created(namesake.metadata()) >= claimed
}

fn used_addresses(reader: &impl Reader, pool: &IpPool) -> Arc<UsedNumbers> {
    reader.aggregate::<IpPool, Used<InStatus>>(&pool.key().to_string()).numbers()
}

/// The kinds of address claims that the server does not serve. Where the reader does not know, the last report counts.
fn kinds_not_served(reader: &impl Reader, data: &Metal3Data) -> BTreeSet<ClaimKind> {
    let ready = find(&data.status.conditions, condition::READY);
    let is_reported = |kind: ClaimKind| ready.is_some_and(|ready| ready.reason == kind.reason_not_served());
    let is_served = |kind: &ClaimKind| match kind {
        ClaimKind::IpClaim => reader.is_served::<IpClaim>(),
        ClaimKind::IpAddressClaim => reader.is_served::<IpAddressClaim>(),
    };
    ClaimKind::ALL.into_iter().filter(|kind| !is_served(kind).unwrap_or(!is_reported(*kind))).collect()
}

/// The pools that are not paused and whose Cluster, if they name one, is there and is not paused.
fn working(reader: &impl Reader, pools: &BTreeMap<String, Arc<IpPool>>) -> BTreeSet<String> {
    let works = |pool: &IpPool| {
        let cluster = pool.spec.cluster_name.as_ref();
        let cluster = cluster
            .and_then(|name| reader.get::<Cluster>(&ObjectKey::new(pool.metadata.namespace_str(), name)));
        is_at_work(pool, cluster.as_deref())
    };
    pools.iter().filter(|(_, pool)| works(pool)).map(|(name, _)| name.clone()).collect()
}

fn observe_namesakes(
    reader: &impl Reader,
    data: &Metal3Data,
    host: Option<&BareMetalHost>,
    pools: &Pools,
) -> BTreeMap<String, AddressClaim> {
    let here = |name: &str| ObjectKey::new(data.metadata.namespace_str(), name);
    let named = pools.values().flat_map(|pool| {
        let by_host = host.filter(|_| pool.is_metal3()).map(|host| host_claim_name(host, &pool.name));
        let names = [claim_name(data, &pool.name)].into_iter().chain(by_host);
        names.filter_map(|name| {
            let claim = if pool.is_metal3() {
                reader.get::<IpClaim>(&here(&name)).map(AddressClaim::Metal3)
            } else {
                reader.get::<IpAddressClaim>(&here(&name)).map(AddressClaim::Capi)
            };
            Some((name, claim?))
        })
    });
    named.filter(|(_, claim)| !claim.metadata().is_owned_by_uid(data.metadata.uid_str())).collect()
}

fn observe_pools(
    reader: &impl Reader,
    namespace: &str,
    pools: &Pools,
    claims: &[PoolClaim],
) -> BTreeMap<String, Arc<IpPool>> {
    let metal3 = pools.values().filter(|pool| pool.is_metal3()).map(|pool| pool.name.clone());
    let claimed = claims.iter().filter_map(|claim| claim.claim.ip_pool().map(str::to_owned));
    let found = |name: String| {
        let pool = reader.get(&ObjectKey::new(namespace, &name))?;
        Some((name, pool))
    };
    metal3.chain(claimed).filter_map(found).collect()
}

fn observe_secrets(
    reader: &impl Reader,
    data: &Metal3Data,
    machine: Option<&Metal3Machine>,
) -> BTreeMap<&'static str, Arc<SecretMetadata>> {
    let machine_name = machine.map(|m| m.metadata.name_str()).unwrap_or_default();
    [Content::MetaData, Content::NetworkData]
        .into_iter()
        .filter_map(|content| {
            let name = secret_name(content, data, machine_name);
            let secret = reader.get(&ObjectKey::new(data.metadata.namespace_str(), name))?;
            Some((content.key(), secret))
        })
        .collect()
}

//! What a machine and a host have at a moment, read off the memory. Nothing is decided here.

use std::collections::BTreeSet;

use capm3_api::{
    ipam::{IpAddress, IpClaim},
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CapiIpAddress, IpAddressClaim, Machine},
    v1beta2::{Initialization, Metal3Data, Metal3DataClaim, Metal3Machine},
    vocabulary::label,
};
use capm3_domain::host::domain_of;
use capm3_engine::{Memory, ObjectKey, Reader};
use capm3_provider::{
    indexes::{CAPI_CLAIMS_BY_DATA, CAPI_IP_ADDRESSES_BY_CLAIM, IP_ADDRESSES_BY_CLAIM, IP_CLAIMS_BY_DATA},
    metal3machine::find_hosts,
};

/// Labels that name who asks for a machine, with the kind.
const OWNERS: [(&str, &str); 3] = [
    ("cluster.x-k8s.io/deployment-name", "MachineDeployment"),
    ("cluster.x-k8s.io/control-plane-name", "KubeadmControlPlane"),
    ("cluster.x-k8s.io/set-name", "MachineSet"),
];

/// A machine at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MachineFact {
    pub(super) owner: Option<String>,
    pub(super) host: Option<String>,
    pub(super) rack: Option<String>,
    pub(super) template: Option<String>,
    pub(super) index: Option<i64>,
    /// Pool and address.
    pub(super) addresses: BTreeSet<(String, String)>,
    pub(super) is_ready: bool,
    pub(super) is_deleting: bool,
    pub(super) knows_uid: bool,
}

/// A host at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HostFact {
    pub(super) state: String,
    pub(super) rack: Option<String>,
    pub(super) consumer: Option<String>,
    pub(super) kept_for: Option<String>,
}

/// The machine, if it is there.
pub(super) fn machine(memory: &Memory, key: &ObjectKey) -> Option<MachineFact> {
    let machine = memory.get::<Metal3Machine>(key)?;
    let labelled = |(label, kind): &(&str, &str)| {
        let name = machine.metadata.label(label).filter(|name| !name.is_empty())?;
        Some(format!("{kind}/{name}"))
    };
    let host = find_hosts(memory, &machine, key).host;
    let capi = machine.metadata.owner(capm3_api::neighbours::CAPI_GROUP, "Machine");
    let capi = capi.and_then(|owner| memory.get::<Machine>(&ObjectKey::new(&key.namespace, &owner.name)));
    let is_provisioned = Initialization::is_provisioned(&machine.status.initialization);
    let data = data(memory, key);
    Some(MachineFact {
        owner: OWNERS.iter().find_map(labelled),
        rack: host.as_deref().and_then(|host| domain_of(host).map(str::to_owned)),
        host: host.map(|host| host.metadata.name_str().to_owned()),
        template: machine.spec.data_template.as_ref().map(|template| template.name_str().to_owned()),
        index: data.as_ref().and_then(|(_, data)| data.spec.index.map(i64::from)),
        addresses: data.map(|(key, _)| addresses(memory, &key)).unwrap_or_default(),
        is_ready: is_provisioned && capi.is_some_and(|machine| machine.node_name().is_some()),
        is_deleting: machine.metadata.is_deleting(),
        knows_uid: !machine.metadata.uid_str().is_empty(),
    })
}

fn data(memory: &Memory, machine: &ObjectKey) -> Option<(ObjectKey, std::sync::Arc<Metal3Data>)> {
    let claim = memory.get::<Metal3DataClaim>(machine)?;
    let name = claim.status.rendered_data.as_ref()?.name_str().to_owned();
    let key = ObjectKey::new(&machine.namespace, name);
    Some((key.clone(), memory.get::<Metal3Data>(&key)?))
}

fn addresses(memory: &Memory, data: &ObjectKey) -> BTreeSet<(String, String)> {
    let here = |claim: &str| format!("{}/{claim}", data.namespace);
    let mut found = BTreeSet::new();
    for claim in memory.by_index(&IP_CLAIMS_BY_DATA, &data.to_string()) {
        let claim: &IpClaim = &claim;
        for address in memory.by_index(&IP_ADDRESSES_BY_CLAIM, &here(claim.metadata.name_str())) {
            let IpAddress { spec, .. } = address.as_ref();
            found.insert((spec.pool.name.clone().unwrap_or_default().to_string(), spec.address.clone()));
        }
    }
    for claim in memory.by_index(&CAPI_CLAIMS_BY_DATA, &data.to_string()) {
        let claim: &IpAddressClaim = &claim;
        for address in memory.by_index(&CAPI_IP_ADDRESSES_BY_CLAIM, &here(claim.metadata.name_str())) {
            let CapiIpAddress { spec, .. } = address.as_ref();
            found.insert((spec.pool_ref.name.clone(), spec.address.clone()));
        }
    }
    found
}

/// The host, if it is there.
pub(super) fn host(memory: &Memory, key: &ObjectKey) -> Option<HostFact> {
    let host = memory.get::<BareMetalHost>(key)?;
    let consumer = host.spec.consumer_ref.as_ref();
    let consumer = consumer.filter(|consumer| consumer.kind.as_deref() == Some("Metal3Machine"));
    Some(HostFact {
        state: host.state().to_owned(),
        rack: domain_of(&host).map(str::to_owned),
        consumer: consumer.and_then(|consumer| consumer.name.clone()),
        kept_for: host.metadata.label(label::NODE_REUSE).map(str::to_owned),
    })
}

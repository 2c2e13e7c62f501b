//! By what the provider finds objects, one constant an index. Values that name an object are `<namespace>/<name>`.

use capm3_api::{
    ipam::{self, IpAddress, IpClaim, IpPool},
    metadata::{MetadataExt, group_of},
    neighbours::{
        BareMetalHost, CAPI_GROUP, CapiIpAddress, IpAddressClaim, Machine, MachineDeployment, TypedPoolRef,
    },
    v1beta2::{
        self, Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine,
        Metal3MachineTemplate, Metal3Remediation,
    },
    vocabulary::{annotation, label},
};
use capm3_domain::{
    host::{annotated_host, could_be_taken, deployment_label, domain_of, known_host, known_host_uid},
    index::{space_of_data, space_of_template},
    remediation::Progress,
    render::inline_limit,
};
use capm3_engine::Index;
use kube::core::ObjectMeta;

use crate::metal3machine::is_provisioned;

/// Metal3Machines that wait for a host, by namespace.
pub const MACHINES_WITHOUT_HOST: Index<Metal3Machine> = Index {
    name: "without-host",
    values: |machine| match machine.metadata.annotation(annotation::HOST) {
        None => vec![machine.metadata.namespace_str().to_owned()],
        Some(_) => Vec::new(),
    },
};

/// Metal3Machines that come up or go, by their namespace.
pub const MACHINES_IN_PROGRESS: Index<Metal3Machine> = Index {
    name: "in-progress",
    values: |machine| match is_provisioned(machine) && !machine.metadata.is_deleting() {
        true => Vec::new(),
        false => vec![machine.metadata.namespace_str().to_owned()],
    },
};

/// Metal3Machines by the hosts that they have recorded or that their provider IDs name.
pub const MACHINES_BY_HOST: Index<Metal3Machine> = Index {
    name: "by-host",
    values: |machine| {
        let recorded = annotated_host(machine).ok().flatten().map(str::to_owned);
        let known = known_host(machine).ok().flatten().filter(|host| recorded.as_ref() != Some(host));
        recorded.into_iter().chain(known).map(|host| in_namespace(&machine.metadata, &host)).collect()
    },
};

/// Metal3Machines by the uid of the host, where the provider ID is of the older form.
pub const MACHINES_BY_HOST_UID: Index<Metal3Machine> =
    Index { name: "by-host-uid", values: |machine| known_host_uid(machine).into_iter().collect() };

/// Metal3Machines by a host name that they have, by which their Node may be found.
pub const MACHINES_BY_HOSTNAME: Index<Metal3Machine> = Index {
    name: "by-hostname",
    values: |machine| {
        let names = machine.status.addresses.iter().filter(|address| address.type_ == "Hostname");
        names.map(|address| in_namespace(&machine.metadata, &address.address)).collect()
    },
};

/// Metal3Machines by the name of their owner Machine.
pub const MACHINES_BY_OWNER: Index<Metal3Machine> = Index {
    name: "by-owner",
    values: |machine| {
        let owner = machine.metadata.owner(CAPI_GROUP, "Machine");
        owner.map(|owner| in_namespace(&machine.metadata, &owner.name)).into_iter().collect()
    },
};

/// Metal3Machines by the name of their Cluster.
pub const MACHINES_BY_CLUSTER: Index<Metal3Machine> =
    Index { name: "by-cluster", values: |machine| cluster_label(&machine.metadata) };

/// Metal3Machines by the template that they were made from.
pub const MACHINES_BY_TEMPLATE: Index<Metal3Machine> = Index {
    name: "by-template",
    values: |machine| {
        let template = machine.metadata.annotation(annotation::CLONED_FROM_NAME);
        template.map(|name| in_namespace(&machine.metadata, name)).into_iter().collect()
    },
};

/// Metal3MachineTemplates by namespace.
pub const MACHINE_TEMPLATES_BY_NAMESPACE: Index<Metal3MachineTemplate> =
    Index { name: "by-namespace", values: |template| vec![template.metadata.namespace_str().to_owned()] };

/// Metal3Machines by the Secrets that their specs name.
pub const MACHINES_BY_SECRET: Index<Metal3Machine> = Index {
    name: "by-secret",
    values: |machine| {
        let given = [&machine.spec.user_data, &machine.spec.meta_data, &machine.spec.network_data];
        let names = given.into_iter().flatten().filter_map(|secret| secret.name.as_deref());
        names.map(|name| in_namespace(&machine.metadata, name)).collect()
    },
};

/// Hosts by the Metal3Machine that consumes them.
pub const HOSTS_BY_CONSUMER: Index<BareMetalHost> = Index {
    name: "by-consumer",
    values: |host| {
        let Some(consumer) = &host.spec.consumer_ref else {
            return Vec::new();
        };
        let ours = group_of(consumer.api_version.as_deref().unwrap_or_default()) == v1beta2::GROUP
            && consumer.kind.as_deref() == Some("Metal3Machine");
        // A reference into another namespace is nobody's: no machine reaches beyond its own.
        let home = consumer.namespace.as_deref() == Some(host.metadata.namespace_str());
        match &consumer.name {
            Some(name) if ours && home => vec![in_namespace(&host.metadata, name)],
            _ => Vec::new(),
        }
    },
};

/// Hosts by the Secret with the credentials of their management controller.
pub const HOSTS_BY_BMC_SECRET: Index<BareMetalHost> = Index {
    name: "by-bmc-secret",
    values: |host| {
        let secret = host.spec.bmc.credentials_name.as_deref().filter(|name| !name.is_empty());
        secret.map(|name| in_namespace(&host.metadata, name)).into_iter().collect()
    },
};

/// Hosts by uid.
pub const HOSTS_BY_UID: Index<BareMetalHost> =
    Index { name: "by-uid", values: |host| host.metadata.uid.clone().into_iter().collect() };

/// Hosts that are reserved for a next machine, by the Cluster that holds them.
pub const RESERVED_HOSTS_BY_CLUSTER: Index<BareMetalHost> = Index {
    name: "reserved-by-cluster",
    values: |host| {
        let reserved = host.metadata.label(label::NODE_REUSE).is_some();
        let cluster = host.spec.consumer_ref.as_ref().filter(|_| reserved);
        let name = cluster.filter(|c| c.kind.as_deref() == Some("Cluster")).and_then(|c| c.name.as_deref());
        name.map(|name| in_namespace(&host.metadata, name)).into_iter().collect()
    },
};

/// Hosts that we paused, by the Cluster that they are labelled with.
pub const PAUSED_HOSTS_BY_CLUSTER: Index<BareMetalHost> = Index {
    name: "paused-by-cluster",
    values: |host| {
        let ours = host.metadata.annotation(annotation::HOST_PAUSED) == Some(annotation::HOST_PAUSED_BY_US);
        let cluster = host.metadata.label(label::CLUSTER_NAME).filter(|_| ours);
        cluster.map(|cluster| in_namespace(&host.metadata, cluster)).into_iter().collect()
    },
};

/// Hosts that are reserved for a next machine, by the label of the reservation.
pub const RESERVED_HOSTS_BY_LABEL: Index<BareMetalHost> = Index {
    name: "reserved-by-label",
    values: |host| {
        let reservation = host.metadata.label(label::NODE_REUSE);
        reservation.map(|reservation| in_namespace(&host.metadata, reservation)).into_iter().collect()
    },
};

/// MachineDeployments by the label with which hosts are reserved for their machines.
pub const DEPLOYMENTS_BY_RESERVATION: Index<MachineDeployment> = Index {
    name: "by-reservation",
    values: |deployment| {
        let label = deployment_label(deployment.metadata.name_str());
        vec![in_namespace(&deployment.metadata, &label)]
    },
};

/// Hosts that some machine could take now, by namespace, and by namespace and failure domain.
pub const USABLE_HOSTS: Index<BareMetalHost> = Index {
    name: "usable",
    values: |host| match could_be_taken(host) {
        true => {
            let in_domain = domain_of(host).map(|domain| in_namespace(&host.metadata, domain));
            [host.metadata.namespace_str().to_owned()].into_iter().chain(in_domain).collect()
        }
        false => Vec::new(),
    },
};

/// Hosts by namespace.
pub const HOSTS_BY_NAMESPACE: Index<BareMetalHost> =
    Index { name: "by-namespace", values: |host| vec![host.metadata.namespace_str().to_owned()] };

/// Hosts by the annotations with which remediations ask for their power to be off: `<namespace>/<key>`.
pub const HOSTS_BY_POWER_OFF: Index<BareMetalHost> = Index {
    name: "by-power-off",
    values: |host| {
        let keys = host.metadata.annotations.iter().flat_map(|annotations| annotations.keys());
        let keys = keys.filter(|key| key.starts_with(annotation::POWER_OFF_PREFIX));
        keys.map(|key| in_namespace(&host.metadata, key)).collect()
    },
};

/// Metal3Remediations by the Machine that owns them.
pub const REMEDIATIONS_BY_MACHINE: Index<Metal3Remediation> = Index {
    name: "by-machine",
    values: |remediation| {
        let owner = remediation.metadata.owner(CAPI_GROUP, "Machine");
        owner.map(|owner| in_namespace(&remediation.metadata, &owner.name)).into_iter().collect()
    },
};

/// Metal3Remediations by the annotation with which they ask for the power of a host to be off.
pub const REMEDIATIONS_BY_POWER_OFF: Index<Metal3Remediation> = Index {
    name: "by-power-off",
    values: |remediation| {
        vec![in_namespace(&remediation.metadata, &Progress::of(remediation).power_off_annotation)]
    },
};

/// Machines by the name of their Cluster.
pub const CAPI_MACHINES_BY_CLUSTER: Index<Machine> =
    Index { name: "by-cluster", values: |machine| cluster_label(&machine.metadata) };

/// Machines of Cluster API by their Node: `<namespace>/<cluster>/<node>`.
pub const CAPI_MACHINES_BY_NODE: Index<Machine> = Index {
    name: "by-node",
    values: |machine| {
        let cluster = &machine.spec.cluster_name;
        let node = machine.node_name().filter(|_| !cluster.is_empty());
        node.map(|node| in_namespace(&machine.metadata, &format!("{cluster}/{node}"))).into_iter().collect()
    },
};

/// Metal3Clusters by the name of their owner Cluster.
pub const METAL3_CLUSTERS_BY_OWNER: Index<Metal3Cluster> = Index {
    name: "by-owner",
    values: |cluster| {
        let owner = cluster.metadata.owner(CAPI_GROUP, "Cluster");
        owner.map(|owner| in_namespace(&cluster.metadata, &owner.name)).into_iter().collect()
    },
};

/// Metal3DataClaims by the template that they name.
pub const CLAIMS_BY_TEMPLATE: Index<Metal3DataClaim> = Index {
    name: "by-template",
    values: |claim| {
        let template = claim.spec.template.as_ref().and_then(|t| t.name.as_deref());
        template.map(|name| in_namespace(&claim.metadata, name)).into_iter().collect()
    },
};

/// Metal3DataClaims that need something of the template that they name: not served yet, or being deleted.
pub const OPEN_CLAIMS_BY_TEMPLATE: Index<Metal3DataClaim> = Index {
    name: "open-by-template",
    values: |claim| {
        let open = claim.status.rendered_data.is_none() || claim.metadata.is_deleting();
        let template = claim.spec.template.as_ref().filter(|_| open);
        let elsewhere =
            |namespace: &str| !namespace.is_empty() && namespace != claim.metadata.namespace_str();
        let template = template.filter(|t| !t.namespace.as_deref().is_some_and(elsewhere));
        let name = template.and_then(|t| t.name.as_deref());
        name.map(|name| in_namespace(&claim.metadata, name)).into_iter().collect()
    },
};

/// Metal3DataClaims by the data that they were given.
pub const CLAIMS_BY_RENDERED_DATA: Index<Metal3DataClaim> = Index {
    name: "by-rendered-data",
    values: |claim| {
        let data = claim.status.rendered_data.as_ref().and_then(|data| data.name.as_deref());
        data.map(|name| in_namespace(&claim.metadata, name)).into_iter().collect()
    },
};

/// Metal3DataClaims by the name of their Cluster.
pub const CLAIMS_BY_CLUSTER: Index<Metal3DataClaim> =
    Index { name: "by-cluster", values: |claim| cluster_label(&claim.metadata) };

/// Metal3Data by the template that they name.
pub const DATA_BY_TEMPLATE: Index<Metal3Data> = Index {
    name: "by-template",
    values: |data| {
        let template = data.spec.template.as_ref().and_then(|t| t.name.as_deref());
        template.map(|name| in_namespace(&data.metadata, name)).into_iter().collect()
    },
};

/// Metal3DataTemplates by the key of their index space.
pub const TEMPLATES_BY_SPACE: Index<Metal3DataTemplate> = Index {
    name: "by-space",
    values: |template| vec![in_namespace(&template.metadata, space_of_template(template))],
};

/// Metal3DataTemplates with inline ranges, by their namespace.
pub const RANGED_TEMPLATES_BY_NAMESPACE: Index<Metal3DataTemplate> = Index {
    name: "ranged-by-namespace",
    values: |template| match inline_limit(&template.spec) {
        Some(_) => vec![template.metadata.namespace_str().to_owned()],
        None => Vec::new(),
    },
};

/// Metal3Data by the key of their index space.
pub const DATA_BY_SPACE: Index<Metal3Data> = Index {
    name: "by-space",
    values: |data| space_of_data(data).map(|key| in_namespace(&data.metadata, key)).into_iter().collect(),
};

/// Metal3Data by the claim that they serve.
pub const DATA_BY_CLAIM: Index<Metal3Data> = Index {
    name: "by-claim",
    values: |data| {
        let claim = data.spec.claim.as_ref().and_then(|c| c.name.as_deref());
        claim.map(|name| in_namespace(&data.metadata, name)).into_iter().collect()
    },
};

/// Metal3Data that are not rendered yet, by the template that they name.
pub const UNRENDERED_DATA_BY_TEMPLATE: Index<Metal3Data> = Index {
    name: "unrendered-by-template",
    values: |data| match data.status.ready == Some(true) || data.metadata.is_deleting() {
        true => Vec::new(),
        false => (DATA_BY_TEMPLATE.values)(data),
    },
};

/// Metal3Data by the name of their Cluster.
pub const DATA_BY_CLUSTER: Index<Metal3Data> =
    Index { name: "by-cluster", values: |data| cluster_label(&data.metadata) };

/// IPClaims by the pool that they name.
pub const IP_CLAIMS_BY_POOL: Index<IpClaim> = Index {
    name: "by-pool",
    values: |claim| {
        let pool = &claim.spec.pool;
        let namespace = pool.namespace.as_deref().filter(|n| !n.is_empty());
        let namespace = namespace.unwrap_or(claim.metadata.namespace_str());
        pool.name.as_ref().map(|name| format!("{namespace}/{name}")).into_iter().collect()
    },
};

/// IPClaims that need something of the pool that they name: not served yet, or being deleted. A pool serves its own
/// namespace only.
pub const OPEN_IP_CLAIMS_BY_POOL: Index<IpClaim> = Index {
    name: "open-by-pool",
    values: |claim| {
        let open = claim.status.address.is_none() || claim.metadata.is_deleting();
        let pool = Some(&claim.spec.pool).filter(|_| open);
        let elsewhere =
            |namespace: &str| !namespace.is_empty() && namespace != claim.metadata.namespace_str();
        let pool = pool.filter(|pool| !pool.namespace.as_deref().is_some_and(elsewhere));
        let name = pool.and_then(|pool| pool.name.as_deref());
        name.map(|name| in_namespace(&claim.metadata, name)).into_iter().collect()
    },
};

/// IPClaims by the uid of each owner.
pub const IP_CLAIMS_BY_OWNER: Index<IpClaim> =
    Index { name: "by-owner-uid", values: |claim| owner_uids(&claim.metadata) };

/// IPClaims by the Metal3Data that owns them, by name: their owner may be gone.
pub const IP_CLAIMS_BY_DATA: Index<IpClaim> =
    Index { name: "by-data", values: |claim| data_of(&claim.metadata) };

/// IPAddresses by the pool that they are from.
pub const IP_ADDRESSES_BY_POOL: Index<IpAddress> = Index {
    name: "by-pool",
    values: |address| {
        let pool = address.spec.pool.name.as_deref();
        pool.map(|name| in_namespace(&address.metadata, name)).into_iter().collect()
    },
};

/// IPAddresses by the claim that they are for, of either kind.
pub const IP_ADDRESSES_BY_CLAIM: Index<IpAddress> = Index {
    name: "by-claim",
    values: |address| {
        let claim = address.spec.claim.name.as_deref();
        claim.map(|name| in_namespace(&address.metadata, name)).into_iter().collect()
    },
};

/// IPAddresses that are being deleted, by the pool that they are from.
pub const DELETING_IP_ADDRESSES_BY_POOL: Index<IpAddress> = Index {
    name: "deleting-by-pool",
    values: |address| match address.metadata.is_deleting() {
        true => (IP_ADDRESSES_BY_POOL.values)(address),
        false => Vec::new(),
    },
};

/// Whether a reference names a pool that the built-in address manager serves.
pub(crate) fn serves(pool: &TypedPoolRef) -> bool {
    pool.api_group == ipam::GROUP && pool.kind == IpPool::API.kind && !pool.name.is_empty()
}

/// IPAddressClaims by the IPPool that they name.
pub const CAPI_CLAIMS_BY_POOL: Index<IpAddressClaim> =
    Index { name: "by-pool", values: |claim| pool_of(&claim.metadata, &claim.spec.pool_ref) };

/// IPAddressClaims that need something of the IPPool that they name: not served yet, or being deleted.
pub const OPEN_CAPI_CLAIMS_BY_POOL: Index<IpAddressClaim> = Index {
    name: "open-by-pool",
    values: |claim| {
        let open = claim.status.address_ref.is_none() || claim.metadata.is_deleting();
        if open { pool_of(&claim.metadata, &claim.spec.pool_ref) } else { Vec::new() }
    },
};

/// IPAddressClaims by the uid of each owner.
pub const CAPI_CLAIMS_BY_OWNER: Index<IpAddressClaim> =
    Index { name: "by-owner-uid", values: |claim| owner_uids(&claim.metadata) };

/// IPAddressClaims by the Metal3Data that owns them, by name.
pub const CAPI_CLAIMS_BY_DATA: Index<IpAddressClaim> =
    Index { name: "by-data", values: |claim| data_of(&claim.metadata) };

/// IPAddresses of Cluster API by the IPPool that they are from.
pub const CAPI_IP_ADDRESSES_BY_POOL: Index<CapiIpAddress> =
    Index { name: "by-pool", values: |address| pool_of(&address.metadata, &address.spec.pool_ref) };

/// IPAddresses of Cluster API by the claim that they are for.
pub const CAPI_IP_ADDRESSES_BY_CLAIM: Index<CapiIpAddress> = Index {
    name: "by-claim",
    values: |address| vec![in_namespace(&address.metadata, &address.spec.claim_ref.name)],
};

/// IPAddresses of Cluster API that are being deleted, by the IPPool that they are from.
pub const DELETING_CAPI_IP_ADDRESSES_BY_POOL: Index<CapiIpAddress> = Index {
    name: "deleting-by-pool",
    values: |address| match address.metadata.is_deleting() {
        true => (CAPI_IP_ADDRESSES_BY_POOL.values)(address),
        false => Vec::new(),
    },
};

/// IPPools by the Cluster that they name.
pub const POOLS_BY_CLUSTER: Index<IpPool> = Index {
    name: "by-cluster",
    values: |pool| {
        let cluster = pool.spec.cluster_name.as_deref();
        cluster.map(|name| in_namespace(&pool.metadata, name)).into_iter().collect()
    },
};

/// IPPools by namespace.
pub const POOLS_BY_NAMESPACE: Index<IpPool> =
    Index { name: "by-namespace", values: |pool| vec![pool.metadata.namespace_str().to_owned()] };

/// Metal3Data by the Secrets that they use.
pub const DATA_BY_SECRET: Index<Metal3Data> = Index {
    name: "by-secret",
    values: |data| {
        let used = [&data.spec.meta_data, &data.spec.network_data];
        let names = used.into_iter().flatten().filter_map(|secret| secret.name.as_deref());
        names.map(|name| in_namespace(&data.metadata, name)).collect()
    },
};

/// `<namespace>/<name>` for an object in the namespace of another.
pub(crate) fn in_namespace(metadata: &ObjectMeta, name: &str) -> String {
    format!("{}/{name}", metadata.namespace_str())
}

fn pool_of(metadata: &ObjectMeta, pool: &TypedPoolRef) -> Vec<String> {
    if serves(pool) { vec![in_namespace(metadata, &pool.name)] } else { Vec::new() }
}

fn cluster_label(metadata: &ObjectMeta) -> Vec<String> {
    metadata.label(label::CLUSTER_NAME).map(|name| in_namespace(metadata, name)).into_iter().collect()
}

fn data_of(metadata: &ObjectMeta) -> Vec<String> {
    let owner = metadata.owner(v1beta2::GROUP, "Metal3Data");
    owner.map(|owner| in_namespace(metadata, &owner.name)).into_iter().collect()
}

fn owner_uids(metadata: &ObjectMeta) -> Vec<String> {
    metadata.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
}

//! The kinds that the provider reads, in one place: informers, live lists of a server and files all go by this table.
//!
//! Gives each kind to a [`Visitor`] with its indexes, how much of an object is read, and whether it must be installed. It
//! reads nothing itself.

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    neighbours::{
        BareMetalHost, CapiIpAddress, Cluster, IpAddressClaim, KubeadmControlPlane, Machine,
        MachineDeployment, MachineSet, SecretMetadata,
    },
    v1beta2::{
        Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine, Metal3MachineTemplate,
        Metal3Remediation,
    },
};
use capm3_engine::{Caches, Detail, Index, Memory, Object};

use crate::aggregates;
use crate::indexes::{
    CAPI_CLAIMS_BY_DATA, CAPI_CLAIMS_BY_OWNER, CAPI_CLAIMS_BY_POOL, CAPI_IP_ADDRESSES_BY_CLAIM,
    CAPI_IP_ADDRESSES_BY_POOL, CAPI_MACHINES_BY_CLUSTER, CAPI_MACHINES_BY_NODE, CLAIMS_BY_CLUSTER,
    CLAIMS_BY_RENDERED_DATA, CLAIMS_BY_TEMPLATE, DATA_BY_CLAIM, DATA_BY_CLUSTER, DATA_BY_SECRET,
    DATA_BY_SPACE, DATA_BY_TEMPLATE, DELETING_CAPI_IP_ADDRESSES_BY_POOL, DELETING_IP_ADDRESSES_BY_POOL,
    DEPLOYMENTS_BY_RESERVATION, HOSTS_BY_BMC_SECRET, HOSTS_BY_CONSUMER, HOSTS_BY_NAMESPACE,
    HOSTS_BY_POWER_OFF, HOSTS_BY_UID, IP_ADDRESSES_BY_CLAIM, IP_ADDRESSES_BY_POOL, IP_CLAIMS_BY_DATA,
    IP_CLAIMS_BY_OWNER, IP_CLAIMS_BY_POOL, MACHINE_TEMPLATES_BY_NAMESPACE, MACHINES_BY_CLUSTER,
    MACHINES_BY_HOST, MACHINES_BY_HOST_UID, MACHINES_BY_HOSTNAME, MACHINES_BY_OWNER, MACHINES_BY_SECRET,
    MACHINES_BY_TEMPLATE, MACHINES_IN_PROGRESS, MACHINES_WITHOUT_HOST, METAL3_CLUSTERS_BY_OWNER,
    OPEN_CAPI_CLAIMS_BY_POOL, OPEN_CLAIMS_BY_TEMPLATE, OPEN_IP_CLAIMS_BY_POOL, PAUSED_HOSTS_BY_CLUSTER,
    POOLS_BY_CLUSTER, POOLS_BY_NAMESPACE, RANGED_TEMPLATES_BY_NAMESPACE, REMEDIATIONS_BY_MACHINE,
    REMEDIATIONS_BY_POWER_OFF, RESERVED_HOSTS_BY_CLUSTER, RESERVED_HOSTS_BY_LABEL, TEMPLATES_BY_SPACE,
    UNRENDERED_DATA_BY_TEMPLATE, USABLE_HOSTS,
};

/// How a kind is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// How much of each object.
    pub detail: Detail,
    /// Whether nothing works without it. Control planes and both families of address management are optional: there
    /// are others of their kind.
    pub is_required: bool,
}

/// Is shown every kind.
pub trait Visitor {
    /// One kind, and by what its objects are found.
    fn visit<K: Object>(&mut self, reading: Reading, indexes: &[Index<K>]);
}

const REQUIRED: Reading = Reading { detail: Detail::Whole, is_required: true };
const OPTIONAL: Reading = Reading { detail: Detail::Whole, is_required: false };
const METADATA: Reading = Reading { detail: Detail::Metadata, is_required: true };

/// Shows every kind that the provider reads.
pub fn visit(visitor: &mut impl Visitor) {
    visitor.visit::<Metal3Machine>(
        REQUIRED,
        &[
            MACHINES_WITHOUT_HOST,
            MACHINES_BY_HOST,
            MACHINES_IN_PROGRESS,
            MACHINES_BY_HOST_UID,
            MACHINES_BY_HOSTNAME,
            MACHINES_BY_OWNER,
            MACHINES_BY_CLUSTER,
            MACHINES_BY_TEMPLATE,
            MACHINES_BY_SECRET,
        ],
    );
    visitor.visit::<Metal3MachineTemplate>(REQUIRED, &[MACHINE_TEMPLATES_BY_NAMESPACE]);
    visitor.visit::<Metal3Cluster>(REQUIRED, &[METAL3_CLUSTERS_BY_OWNER]);
    visitor.visit::<Metal3DataTemplate>(REQUIRED, &[TEMPLATES_BY_SPACE, RANGED_TEMPLATES_BY_NAMESPACE]);
    visitor.visit::<Metal3DataClaim>(
        REQUIRED,
        &[CLAIMS_BY_TEMPLATE, OPEN_CLAIMS_BY_TEMPLATE, CLAIMS_BY_CLUSTER, CLAIMS_BY_RENDERED_DATA],
    );
    visitor.visit::<Metal3Data>(
        REQUIRED,
        &[
            DATA_BY_TEMPLATE,
            UNRENDERED_DATA_BY_TEMPLATE,
            DATA_BY_SPACE,
            DATA_BY_CLAIM,
            DATA_BY_CLUSTER,
            DATA_BY_SECRET,
        ],
    );
    visitor.visit::<Metal3Remediation>(OPTIONAL, &[REMEDIATIONS_BY_MACHINE, REMEDIATIONS_BY_POWER_OFF]);
    visitor.visit::<IpPool>(OPTIONAL, &[POOLS_BY_CLUSTER, POOLS_BY_NAMESPACE]);
    visitor.visit::<IpClaim>(
        OPTIONAL,
        &[IP_CLAIMS_BY_POOL, OPEN_IP_CLAIMS_BY_POOL, IP_CLAIMS_BY_OWNER, IP_CLAIMS_BY_DATA],
    );
    visitor.visit::<IpAddress>(
        OPTIONAL,
        &[IP_ADDRESSES_BY_POOL, IP_ADDRESSES_BY_CLAIM, DELETING_IP_ADDRESSES_BY_POOL],
    );
    visitor.visit::<IpAddressClaim>(
        OPTIONAL,
        &[CAPI_CLAIMS_BY_POOL, OPEN_CAPI_CLAIMS_BY_POOL, CAPI_CLAIMS_BY_OWNER, CAPI_CLAIMS_BY_DATA],
    );
    visitor.visit::<CapiIpAddress>(
        OPTIONAL,
        &[CAPI_IP_ADDRESSES_BY_POOL, CAPI_IP_ADDRESSES_BY_CLAIM, DELETING_CAPI_IP_ADDRESSES_BY_POOL],
    );
    visitor.visit::<BareMetalHost>(
        REQUIRED,
        &[
            HOSTS_BY_CONSUMER,
            HOSTS_BY_NAMESPACE,
            USABLE_HOSTS,
            HOSTS_BY_BMC_SECRET,
            HOSTS_BY_UID,
            HOSTS_BY_POWER_OFF,
            RESERVED_HOSTS_BY_CLUSTER,
            RESERVED_HOSTS_BY_LABEL,
            PAUSED_HOSTS_BY_CLUSTER,
        ],
    );
    visitor.visit::<Cluster>(REQUIRED, &[]);
    visitor.visit::<Machine>(REQUIRED, &[CAPI_MACHINES_BY_CLUSTER, CAPI_MACHINES_BY_NODE]);
    visitor.visit::<MachineSet>(REQUIRED, &[]);
    visitor.visit::<MachineDeployment>(REQUIRED, &[DEPLOYMENTS_BY_RESERVATION]);
    visitor.visit::<KubeadmControlPlane>(OPTIONAL, &[]);
    visitor.visit::<SecretMetadata>(METADATA, &[]);
}

/// Adds every kind with its indexes and aggregates.
pub fn register(caches: &mut Caches) {
    struct Register<'a>(&'a mut Caches);
    impl Visitor for Register<'_> {
        fn visit<K: Object>(&mut self, Reading { detail, is_required }: Reading, indexes: &[Index<K>]) {
            self.0.add_with(indexes, detail, is_required);
        }
    }
    visit(&mut Register(caches));
    aggregates::maintain(caches);
}

/// An empty memory of these kinds.
pub fn memory() -> Memory {
    Memory::new(register)
}

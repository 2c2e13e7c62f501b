//! Which kinds the world watches, and under which values their objects are found. References are held as
//! `namespace/name`.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, SecretMetadata},
    v1beta2::{Metal3Cluster, Metal3Machine},
    vocabulary::label,
};
use capm3_engine::{Caches, Index};
use kube::core::ObjectMeta;

use crate::{
    kinds::{
        BareMetalHost, Cluster, KubeadmConfig, KubeadmConfigTemplate, KubeadmControlPlane, Machine,
        MachineDeployment, MachineHealthCheck, MachineSet, Metal3MachineTemplate, Metal3Remediation,
        Metal3RemediationTemplate,
    },
    metadata::{controller_of, path},
    world::Cast,
};

pub(crate) const CLUSTERS_BY_INFRASTRUCTURE: Index<Cluster> = Index {
    name: "infrastructure",
    values: |c| named(&c.metadata, c.spec.infrastructure_ref.as_ref().and_then(|r| r.name.as_deref())),
};
pub(crate) const CLUSTERS_BY_CONTROL_PLANE: Index<Cluster> = Index {
    name: "control-plane",
    values: |c| named(&c.metadata, c.spec.control_plane_ref.as_ref().and_then(|r| r.name.as_deref())),
};
pub(crate) const CONTROL_PLANES_BY_CLUSTER: Index<KubeadmControlPlane> = Index {
    name: "cluster",
    values: |c| named(&c.metadata, c.metadata.owner(CAPI_GROUP, "Cluster").map(|o| o.name.as_str())),
};
pub(crate) const CONTROL_PLANES_BY_TEMPLATE: Index<KubeadmControlPlane> =
    Index { name: "template", values: |c| named(&c.metadata, c.template_name()) };
pub(crate) const DEPLOYMENTS_BY_CLUSTER: Index<MachineDeployment> =
    Index { name: "cluster", values: |d| named(&d.metadata, Some(&d.spec.cluster_name)) };
pub(crate) const SETS_BY_CLUSTER: Index<MachineSet> =
    Index { name: "cluster", values: |s| named(&s.metadata, Some(&s.spec.cluster_name)) };
pub(crate) const SETS_BY_OWNER: Index<MachineSet> =
    Index { name: "owner", values: |s| controller_uid(&s.metadata) };
/// Sets by the infrastructure template.
pub(crate) const SETS_BY_TEMPLATE: Index<MachineSet> = Index {
    name: "template",
    values: |s| {
        let reference = s.spec.template.spec.infrastructure_ref.as_ref();
        named(&s.metadata, reference.and_then(|r| r.name.as_deref()))
    },
};
/// Sets by the bootstrap template.
pub(crate) const SETS_BY_CONFIG_TEMPLATE: Index<MachineSet> = Index {
    name: "config-template",
    values: |s| {
        let reference = s.spec.template.spec.bootstrap.config_ref.as_ref();
        named(&s.metadata, reference.and_then(|r| r.name.as_deref()))
    },
};
pub(crate) const MACHINES_BY_CLUSTER: Index<Machine> =
    Index { name: "cluster", values: |m| named(&m.metadata, Some(&m.spec.cluster_name)) };
/// Control-plane machines by cluster.
pub(crate) const LEADERS_BY_CLUSTER: Index<Machine> = Index {
    name: "leaders",
    values: |m| match m.metadata.label(label::CONTROL_PLANE) {
        Some(_) => named(&m.metadata, Some(&m.spec.cluster_name)),
        None => Vec::new(),
    },
};
pub(crate) const MACHINES_BY_OWNER: Index<Machine> =
    Index { name: "owner", values: |m| controller_uid(&m.metadata) };
/// Machines that are ready, by owner.
pub(crate) const READY_BY_OWNER: Index<Machine> = Index {
    name: "ready",
    values: |m| if m.says("Ready") { controller_uid(&m.metadata) } else { Vec::new() },
};
/// Machines that are available, by owner.
pub(crate) const AVAILABLE_BY_OWNER: Index<Machine> = Index {
    name: "available",
    values: |m| if m.says("Available") { controller_uid(&m.metadata) } else { Vec::new() },
};
/// Machines that remediation has given up, by owner.
pub(crate) const GIVEN_UP_BY_OWNER: Index<Machine> = Index {
    name: "given-up",
    values: |m| if m.is_given_up() { controller_uid(&m.metadata) } else { Vec::new() },
};
pub(crate) const MACHINES_BY_INFRASTRUCTURE: Index<Machine> =
    Index { name: "infrastructure", values: |m| named(&m.metadata, m.infrastructure_name()) };
pub(crate) const MACHINES_BY_CONFIG: Index<Machine> =
    Index { name: "config", values: |m| named(&m.metadata, m.config_name()) };
pub(crate) const MACHINES_BY_PROVIDER_ID: Index<Machine> =
    Index { name: "provider-id", values: |m| m.spec.provider_id.iter().cloned().collect() };
/// Machines by the path of their Cluster and the name of their Node.
pub(crate) const MACHINES_BY_NODE: Index<Machine> = Index {
    name: "node",
    values: |m| {
        let cluster = path(m.metadata.namespace_str(), &m.spec.cluster_name);
        m.node_name().map(|node| path(&cluster, node)).into_iter().collect()
    },
};
/// Metal3Machines by uid of any owner.
pub(crate) const INFRASTRUCTURE_BY_OWNER: Index<Metal3Machine> =
    Index { name: "owner", values: |m| owner_uids(&m.metadata) };
/// KubeadmConfigs by uid of any owner.
pub(crate) const CONFIGS_BY_OWNER: Index<KubeadmConfig> =
    Index { name: "owner", values: |c| owner_uids(&c.metadata) };
pub(crate) const CONFIGS_BY_CLUSTER: Index<KubeadmConfig> =
    Index { name: "cluster", values: |c| named(&c.metadata, c.metadata.label(label::CLUSTER_NAME)) };
pub(crate) const HEALTH_CHECKS_BY_CLUSTER: Index<MachineHealthCheck> =
    Index { name: "cluster", values: |h| named(&h.metadata, Some(&h.spec.cluster_name)) };
pub(crate) const HEALTH_CHECKS_BY_TEMPLATE: Index<MachineHealthCheck> =
    Index { name: "template", values: |h| named(&h.metadata, h.template_name()) };
pub(crate) const HOSTS_BY_UID: Index<BareMetalHost> =
    Index { name: "uid", values: |h| h.metadata.uid.iter().cloned().collect() };
pub(crate) const HOSTS_BY_CLUSTER: Index<BareMetalHost> =
    Index { name: "cluster", values: |h| named(&h.metadata, h.metadata.label(label::CLUSTER_NAME)) };
pub(crate) const HOSTS_BY_CONSUMER: Index<BareMetalHost> =
    Index { name: "consumer", values: |h| named(&h.metadata, h.consumer()) };
/// Hosts by each Secret that goes to their config drive.
pub(crate) const HOSTS_BY_SECRET: Index<BareMetalHost> = Index {
    name: "secret",
    values: |h| {
        let references = [&h.spec.user_data, &h.spec.meta_data, &h.spec.network_data];
        let names = references.into_iter().flatten().map(|r| r.name_str());
        let names = names.chain(h.spec.preprovisioning_network_data_name.as_deref());
        names.flat_map(|name| named(&h.metadata, Some(name))).collect()
    },
};

/// Adds every kind that the world watches.
pub(crate) fn register(caches: &mut Caches, cast: Cast) {
    register_for_hosts_and_nodes(caches);
    if cast == Cast::Everybody {
        register_for_cluster_api(caches);
    }
}

fn register_for_hosts_and_nodes(caches: &mut Caches) {
    caches.add(&[CLUSTERS_BY_INFRASTRUCTURE, CLUSTERS_BY_CONTROL_PLANE]);
    caches.add(&[
        MACHINES_BY_CLUSTER,
        LEADERS_BY_CLUSTER,
        MACHINES_BY_OWNER,
        READY_BY_OWNER,
        AVAILABLE_BY_OWNER,
        GIVEN_UP_BY_OWNER,
        MACHINES_BY_INFRASTRUCTURE,
        MACHINES_BY_CONFIG,
        MACHINES_BY_PROVIDER_ID,
        MACHINES_BY_NODE,
    ]);
    caches.add(&[INFRASTRUCTURE_BY_OWNER]);
    caches.add(&[CONFIGS_BY_OWNER, CONFIGS_BY_CLUSTER]);
    caches.add(&[HOSTS_BY_UID, HOSTS_BY_CLUSTER, HOSTS_BY_CONSUMER, HOSTS_BY_SECRET]);
    caches.add::<Metal3Cluster>(&[]);
    caches.add::<SecretMetadata>(&[]);
}

fn register_for_cluster_api(caches: &mut Caches) {
    caches.add(&[CONTROL_PLANES_BY_CLUSTER, CONTROL_PLANES_BY_TEMPLATE]);
    caches.add(&[DEPLOYMENTS_BY_CLUSTER]);
    caches.add(&[SETS_BY_CLUSTER, SETS_BY_OWNER, SETS_BY_TEMPLATE, SETS_BY_CONFIG_TEMPLATE]);
    caches.add::<Metal3MachineTemplate>(&[]);
    caches.add::<KubeadmConfigTemplate>(&[]);
    caches.add(&[HEALTH_CHECKS_BY_CLUSTER, HEALTH_CHECKS_BY_TEMPLATE]);
    caches.add::<Metal3Remediation>(&[]);
    caches.add::<Metal3RemediationTemplate>(&[]);
}

fn named(meta: &ObjectMeta, name: Option<&str>) -> Vec<String> {
    name.filter(|n| !n.is_empty()).map(|n| path(meta.namespace_str(), n)).into_iter().collect()
}

fn controller_uid(meta: &ObjectMeta) -> Vec<String> {
    controller_of(meta).map(|owner| owner.uid.clone()).into_iter().collect()
}

fn owner_uids(meta: &ObjectMeta) -> Vec<String> {
    meta.owner_references.iter().flatten().map(|owner| owner.uid.clone()).collect()
}

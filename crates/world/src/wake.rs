//! Which keys are reconciled when something changes: the only place that puts keys into queues because of events.
//!
//! A change wakes the controller of the object itself and those that wait for it. Every subscription holds the
//! caches weakly, because the caches hold the subscriptions.

use std::sync::{Arc, Weak};

use capm3_api::{
    conditions::find,
    metadata::MetadataExt,
    neighbours::SecretMetadata,
    v1beta2::{Metal3Cluster, Metal3Machine},
};
use capm3_engine::{Caches, Index, Object, ObjectKey, Queue, Reader, informer::Change};
use k8s_openapi::api::core::v1::Node;

use crate::{
    capi::KUBECONFIG_SUFFIX,
    context::Queues,
    indexes::{
        CLUSTERS_BY_CONTROL_PLANE, CLUSTERS_BY_INFRASTRUCTURE, CONFIGS_BY_CLUSTER, CONTROL_PLANES_BY_CLUSTER,
        CONTROL_PLANES_BY_TEMPLATE, DEPLOYMENTS_BY_CLUSTER, HEALTH_CHECKS_BY_CLUSTER,
        HEALTH_CHECKS_BY_TEMPLATE, HOSTS_BY_CLUSTER, HOSTS_BY_CONSUMER, HOSTS_BY_SECRET, HOSTS_BY_UID,
        MACHINES_BY_CLUSTER, MACHINES_BY_CONFIG, MACHINES_BY_INFRASTRUCTURE, MACHINES_BY_NODE,
        MACHINES_BY_OWNER, MACHINES_BY_PROVIDER_ID, SETS_BY_CLUSTER, SETS_BY_CONFIG_TEMPLATE, SETS_BY_OWNER,
        SETS_BY_TEMPLATE,
    },
    kinds::{
        BareMetalHost, Cluster, KubeadmConfig, KubeadmConfigTemplate, KubeadmControlPlane, Machine,
        MachineDeployment, MachineHealthCheck, MachineSet, Metal3MachineTemplate, Metal3Remediation,
        Metal3RemediationTemplate,
    },
    metadata::{beside, controller_of, path},
    nodes::{is_out_of_service, outage_key},
    workloads::{OnNode, system_uuid},
};

/// The caches and queues that a subscription needs.
#[derive(Clone)]
struct Wiring {
    caches: Weak<Caches>,
    queues: Queues,
}

impl Wiring {
    /// Wakes every object with that value in an index.
    fn wake<K: Object>(&self, queue: &Queue<ObjectKey>, index: &Index<K>, value: &str) {
        let Some(caches) = self.caches.upgrade() else {
            return;
        };
        for object in caches.by_index(index, value) {
            queue.add(object.key());
        }
    }
}

/// Subscribes every queue to what it waits for.
pub(crate) fn subscribe(caches: &Arc<Caches>, queues: &Queues) {
    let wiring = Wiring { caches: Arc::downgrade(caches), queues: queues.clone() };
    on::<Cluster>(caches, &wiring, cluster);
    on::<Metal3Cluster>(caches, &wiring, infrastructure_cluster);
    on::<KubeadmControlPlane>(caches, &wiring, control_plane);
    on::<MachineDeployment>(caches, &wiring, deployment);
    on::<MachineSet>(caches, &wiring, set);
    on::<Machine>(caches, &wiring, machine);
    on::<Metal3Machine>(caches, &wiring, infrastructure_machine);
    on::<KubeadmConfig>(caches, &wiring, config);
    on::<Metal3MachineTemplate>(caches, &wiring, template);
    on::<KubeadmConfigTemplate>(caches, &wiring, config_template);
    on::<SecretMetadata>(caches, &wiring, secret);
    on::<BareMetalHost>(caches, &wiring, host);
    on::<MachineHealthCheck>(caches, &wiring, health_check);
    on::<Metal3Remediation>(caches, &wiring, remediation);
    on::<Metal3RemediationTemplate>(caches, &wiring, remediation_template);
}

fn on<K: Object>(caches: &Arc<Caches>, wiring: &Wiring, wake: fn(&Wiring, &Change<K>, &K)) {
    let wiring = wiring.clone();
    if let Some(store) = caches.store::<K>() {
        store.subscribe(move |change| {
            if let Some(object) = change.new.as_ref().or(change.old.as_ref()) {
                wake(&wiring, change, object);
            }
        });
    }
}

/// What the Nodes of a workload cluster wake.
pub(crate) fn on_node(caches: &Arc<Caches>, queues: &Queues, cluster: &ObjectKey) -> OnNode {
    let wiring = Wiring { caches: Arc::downgrade(caches), queues: queues.clone() };
    let cluster = cluster.clone();
    Arc::new(move |change: &Change<Node>| {
        let Some(node) = change.new.as_ref().or(change.old.as_ref()) else {
            return;
        };
        if let Some(uuid) = system_uuid(node) {
            wiring.wake(&wiring.queues.joins, &HOSTS_BY_UID, &uuid);
            wiring.wake(&wiring.queues.cloud, &HOSTS_BY_UID, &uuid);
        }
        if let Some(id) = node.spec.as_ref().and_then(|s| s.provider_id.as_deref()) {
            wiring.wake(&wiring.queues.machines, &MACHINES_BY_PROVIDER_ID, id);
        }
        // A Node that was registered again may have no provider ID.
        let named = path(&cluster.to_string(), node.metadata.name_str());
        wiring.wake(&wiring.queues.machines, &MACHINES_BY_NODE, &named);
        if change.old.as_deref().map(health) != change.new.as_deref().map(health) {
            wiring.wake(&wiring.queues.health_checks, &HEALTH_CHECKS_BY_CLUSTER, &cluster.to_string());
        }
        let is_out = |node: &Option<Arc<Node>>| node.as_deref().is_some_and(is_out_of_service);
        if change.new.is_none() || is_out(&change.old) || is_out(&change.new) {
            wiring.queues.outages.add(outage_key(&cluster, node.metadata.name_str()));
        }
    })
}

/// Everything in a cluster looks at the Cluster's flags, but not at its conditions and counts.
fn cluster(wiring: &Wiring, change: &Change<Cluster>, cluster: &Cluster) {
    let queues = &wiring.queues;
    queues.clusters.add(cluster.key());
    let seen = |c: &Cluster| {
        (
            (c.is_paused(), c.metadata.is_deleting(), c.infrastructure_is_provisioned()),
            (c.control_plane_is_initialized(), c.has_endpoint(), c.control_plane_domains()),
        )
    };
    if change.old.as_deref().map(seen) == change.new.as_deref().map(seen) {
        return;
    }
    let value = path(cluster.metadata.namespace_str(), cluster.metadata.name_str());
    wiring.wake(&queues.control_planes, &CONTROL_PLANES_BY_CLUSTER, &value);
    wiring.wake(&queues.deployments, &DEPLOYMENTS_BY_CLUSTER, &value);
    wiring.wake(&queues.sets, &SETS_BY_CLUSTER, &value);
    wiring.wake(&queues.machines, &MACHINES_BY_CLUSTER, &value);
    wiring.wake(&queues.configs, &CONFIGS_BY_CLUSTER, &value);
    wiring.wake(&queues.health_checks, &HEALTH_CHECKS_BY_CLUSTER, &value);
    wiring.wake(&queues.joins, &HOSTS_BY_CLUSTER, &value);
}

fn infrastructure_cluster(wiring: &Wiring, change: &Change<Metal3Cluster>, object: &Metal3Cluster) {
    let value = path(object.metadata.namespace_str(), object.metadata.name_str());
    wiring.wake(&wiring.queues.clusters, &CLUSTERS_BY_INFRASTRUCTURE, &value);
    let enabled = |c: &Option<Arc<Metal3Cluster>>| c.as_ref().and_then(|c| c.spec.cloud_provider_enabled);
    if enabled(&change.old) != enabled(&change.new) {
        let cluster = object.metadata.label(capm3_api::vocabulary::label::CLUSTER_NAME).unwrap_or_default();
        let value = path(object.metadata.namespace_str(), cluster);
        wiring.wake(&wiring.queues.cloud, &HOSTS_BY_CLUSTER, &value);
    }
}

/// Machines say whether they are what their owner asks for.
fn control_plane(wiring: &Wiring, change: &Change<KubeadmControlPlane>, object: &KubeadmControlPlane) {
    wiring.queues.control_planes.add(object.key());
    let asked = |c: &KubeadmControlPlane| (c.spec.version.clone(), c.template_name().map(str::to_owned));
    if change.old.as_deref().map(asked) != change.new.as_deref().map(asked) {
        wiring.wake(&wiring.queues.machines, &MACHINES_BY_OWNER, object.metadata.uid_str());
    }
    let value = path(object.metadata.namespace_str(), object.metadata.name_str());
    wiring.wake(&wiring.queues.clusters, &CLUSTERS_BY_CONTROL_PLANE, &value);
}

/// Machines and sets say whether they are what the deployment asks for.
fn deployment(wiring: &Wiring, change: &Change<MachineDeployment>, object: &MachineDeployment) {
    wiring.queues.deployments.add(object.key());
    let asked = |d: &MachineDeployment| d.spec.template.spec.clone();
    if change.old.as_deref().map(asked) != change.new.as_deref().map(asked)
        && let Some(caches) = wiring.caches.upgrade()
    {
        for set in caches.by_index(&SETS_BY_OWNER, object.metadata.uid_str()) {
            wiring.queues.sets.add(set.key());
            wiring.wake(&wiring.queues.machines, &MACHINES_BY_OWNER, set.metadata.uid_str());
        }
    }
    wiring.queues.clusters.add(beside(object, &object.spec.cluster_name));
}

fn set(wiring: &Wiring, change: &Change<MachineSet>, object: &MachineSet) {
    wiring.queues.sets.add(object.key());
    match controller_of(&object.metadata) {
        Some(owner) => wiring.queues.deployments.add(beside(object, &owner.name)),
        None if change.new.is_none() => {
            wiring.queues.clusters.add(beside(object, &object.spec.cluster_name));
        }
        None => {}
    }
}

/// Owners count machines: they look at how many there are and how they are, not at each step of one.
fn machine(wiring: &Wiring, change: &Change<Machine>, object: &Machine) {
    let queues = &wiring.queues;
    queues.machines.add(object.key());
    let seen = |m: &Machine| {
        let conditions = m.status.as_ref().map(|s| s.conditions.as_slice()).unwrap_or_default();
        let hook = find(conditions, "Deleting").map(|c| c.reason.clone());
        let marks = m.metadata.annotations.as_ref().map_or(0, |a| a.len());
        let health = (m.node_name().is_some(), m.says("Ready"), m.says("Available"), m.is_given_up());
        (m.metadata.is_deleting(), hook, marks, health)
    };
    let matters = change.old.as_deref().map(seen) != change.new.as_deref().map(seen);
    if let Some(owner) = controller_of(&object.metadata).filter(|_| matters) {
        let owners = if owner.kind == "MachineSet" { &queues.sets } else { &queues.control_planes };
        owners.add(beside(object, &owner.name));
    }
    if change.old.as_deref().map(checked) != change.new.as_deref().map(checked) {
        let value = path(object.metadata.namespace_str(), &object.spec.cluster_name);
        wiring.wake(&queues.health_checks, &HEALTH_CHECKS_BY_CLUSTER, &value);
    }
    if change.new.is_none() {
        queues.clusters.add(beside(object, &object.spec.cluster_name));
    }
    if change.old.is_none()
        && let Some(config) = object.config_name()
    {
        queues.configs.add(beside(object, config));
    }
}

/// What a health check looks at of a Machine.
fn checked(machine: &Machine) -> impl PartialEq + use<'_> {
    let meta = &machine.metadata;
    let status = machine.status.as_ref();
    let conditions = status.map(|s| s.conditions.as_slice()).unwrap_or_default();
    let conditions: Vec<_> = conditions.iter().map(|c| (&c.type_, &c.status)).collect();
    (&meta.labels, &meta.annotations, meta.is_deleting(), machine.node_name(), conditions)
}

/// What a health check looks at of a Node: not how often it says so.
fn health(node: &Node) -> impl PartialEq + use<'_> {
    let conditions = node.status.iter().flat_map(|s| s.conditions.iter().flatten());
    conditions.map(|c| (c.type_.as_str(), c.status.as_str())).collect::<Vec<_>>()
}

fn infrastructure_machine(wiring: &Wiring, change: &Change<Metal3Machine>, object: &Metal3Machine) {
    let value = path(object.metadata.namespace_str(), object.metadata.name_str());
    wiring.wake(&wiring.queues.machines, &MACHINES_BY_INFRASTRUCTURE, &value);
    if change.old.is_none() {
        wiring.wake(&wiring.queues.joins, &HOSTS_BY_CONSUMER, &value);
    }
}

fn config(wiring: &Wiring, _: &Change<KubeadmConfig>, object: &KubeadmConfig) {
    wiring.queues.configs.add(object.key());
    let value = path(object.metadata.namespace_str(), object.metadata.name_str());
    wiring.wake(&wiring.queues.machines, &MACHINES_BY_CONFIG, &value);
}

fn template(wiring: &Wiring, _: &Change<Metal3MachineTemplate>, object: &Metal3MachineTemplate) {
    let value = path(object.metadata.namespace_str(), object.metadata.name_str());
    wiring.wake(&wiring.queues.sets, &SETS_BY_TEMPLATE, &value);
    wiring.wake(&wiring.queues.control_planes, &CONTROL_PLANES_BY_TEMPLATE, &value);
}

fn config_template(wiring: &Wiring, _: &Change<KubeadmConfigTemplate>, object: &KubeadmConfigTemplate) {
    let value = path(object.metadata.namespace_str(), object.metadata.name_str());
    wiring.wake(&wiring.queues.sets, &SETS_BY_CONFIG_TEMPLATE, &value);
}

fn secret(wiring: &Wiring, change: &Change<SecretMetadata>, object: &SecretMetadata) {
    let key = object.key();
    wiring.wake(&wiring.queues.hosts, &HOSTS_BY_SECRET, &path(&key.namespace, &key.name));
    if change.new.is_some() {
        return;
    }
    if let Some(cluster) = key.name.strip_suffix(KUBECONFIG_SUFFIX) {
        let value = path(&key.namespace, cluster);
        wiring.wake(&wiring.queues.control_planes, &CONTROL_PLANES_BY_CLUSTER, &value);
    }
    wiring.queues.configs.add(key);
}

fn health_check(wiring: &Wiring, _: &Change<MachineHealthCheck>, object: &MachineHealthCheck) {
    wiring.queues.health_checks.add(object.key());
}

fn remediation(wiring: &Wiring, change: &Change<Metal3Remediation>, object: &Metal3Remediation) {
    let cluster = object.metadata.label(capm3_api::vocabulary::label::CLUSTER_NAME).unwrap_or_default();
    if change.old.is_none() || change.new.is_none() {
        let value = path(object.metadata.namespace_str(), cluster);
        wiring.wake(&wiring.queues.health_checks, &HEALTH_CHECKS_BY_CLUSTER, &value);
    }
}

fn remediation_template(
    wiring: &Wiring,
    _: &Change<Metal3RemediationTemplate>,
    object: &Metal3RemediationTemplate,
) {
    let value = path(object.metadata.namespace_str(), object.metadata.name_str());
    wiring.wake(&wiring.queues.health_checks, &HEALTH_CHECKS_BY_TEMPLATE, &value);
}

fn host(wiring: &Wiring, _: &Change<BareMetalHost>, object: &BareMetalHost) {
    wiring.queues.hosts.add(object.key());
    wiring.queues.joins.add(object.key());
    wiring.queues.cloud.add(object.key());
}

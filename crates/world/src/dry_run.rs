//! The decisions of the neighbours, carried out on a memory instead of a server.
//!
//! Takes a memory, a controller and a key; observes, decides and acts as the controller does until it waits. The decisions are
//! those of a running world. What the memory does not show is not there: a config drive can be made anyway, because the
//! contents of Secrets are often not known. Machine health checks are not played.

use std::{any::TypeId, sync::Arc};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Secret, SecretMetadata},
    v1beta2::Metal3Machine,
    vocabulary::annotation,
};
use capm3_engine::{Caches, End, Memory, Note, Object, ObjectKey, Plan, Reader, Store, clock, rng::Rng};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;

use crate::{
    capi::{bootstrap, cluster, control_plane, deployment, machine, set},
    config_drives::{ConfigDrives, NodeData},
    hosts, indexes,
    kinds::{
        BareMetalHost, Cluster, KubeadmConfig, KubeadmControlPlane, Machine, MachineDeployment, MachineSet,
    },
    metadata::beside,
    nodes::{Kubelets, cloud_provider, join, kubelet, running},
    pace::{Pace, Phase, Profile, Started, Steps},
    workloads::{NODES_BY_PROVIDER_ID, NODES_BY_SYSTEM_UUID},
    world::Cast,
};

/// How many passes a key gets before it has to wait.
const ATTEMPTS: usize = 8;

/// What a host is called in a provider ID.
const PROVIDER_ID: &str = capm3_api::vocabulary::PROVIDER_ID_PREFIX;

/// The controllers of Cluster API, the host operator, the kubelets and the cloud provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Of Clusters.
    Cluster,
    /// Of KubeadmControlPlanes.
    ControlPlane,
    /// Of MachineDeployments.
    Deployment,
    /// Of MachineSets.
    Set,
    /// Of Machines.
    Machine,
    /// Of KubeadmConfigs.
    Config,
    /// Of BareMetalHosts.
    Host,
    /// The kubelet on a BareMetalHost.
    Kubelet,
    /// The cloud provider, for a BareMetalHost.
    CloudProvider,
}

/// What the neighbours remember.
pub struct Surroundings {
    rng: Rng,
    pace: Pace,
    hosts: Started,
    joins: Started,
    configs: Started,
    kubelets: Kubelets,
    drives: ConfigDrives,
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl Surroundings {
    /// Neighbours whose steps take so long.
    pub fn new(steps: Steps) -> Self {
        Self {
            rng: Rng::seeded(1),
            pace: Pace::new(Profile::Steps(steps), 1.0, 1),
            hosts: Started::default(),
            joins: Started::default(),
            configs: Started::default(),
            kubelets: Kubelets::default(),
            drives: ConfigDrives::default(),
        }
    }
}

/// Adds every kind that the neighbours read, with the changes that matter to those who do not own an object: neither counts nor
/// conditions.
pub fn register(caches: &mut Caches) {
    indexes::register(caches, Cast::Everybody);
    caches.add_seen::<Cluster>(&[], |old, new| cluster_flags(old) != cluster_flags(new));
    caches.add_seen::<MachineDeployment>(&[], |old, new| {
        (&old.spec, old.metadata.is_deleting()) != (&new.spec, new.metadata.is_deleting())
    });
    caches.add_seen::<MachineSet>(&[], |old, new| {
        (&old.spec, old.metadata.is_deleting(), owners(old))
            != (&new.spec, new.metadata.is_deleting(), owners(new))
    });
    caches.add_seen::<KubeadmControlPlane>(&[], |old, new| {
        (&old.spec, old.metadata.is_deleting(), old.is_initialized())
            != (&new.spec, new.metadata.is_deleting(), new.is_initialized())
    });
}

/// Adds the Nodes of a workload cluster.
pub fn register_nodes(caches: &mut Caches) {
    caches.add(&[NODES_BY_PROVIDER_ID, NODES_BY_SYSTEM_UUID]);
}

/// What others look at of a Cluster.
fn cluster_flags(cluster: &Cluster) -> impl PartialEq {
    (
        (cluster.is_paused(), cluster.metadata.is_deleting(), cluster.infrastructure_is_provisioned()),
        (cluster.control_plane_is_initialized(), cluster.has_endpoint(), cluster.control_plane_domains()),
    )
}

fn owners(set: &MachineSet) -> impl PartialEq + use<'_> {
    &set.metadata.owner_references
}

impl Controller {
    /// Each of them, in the order in which one waits for the other.
    pub const ALL: [Self; 9] = [
        Self::Cluster,
        Self::ControlPlane,
        Self::Deployment,
        Self::Set,
        Self::Machine,
        Self::Config,
        Self::Host,
        Self::Kubelet,
        Self::CloudProvider,
    ];

    /// The Rust type of the objects whose keys it reconciles.
    pub fn type_id(self) -> TypeId {
        match self {
            Self::Cluster => TypeId::of::<Cluster>(),
            Self::ControlPlane => TypeId::of::<KubeadmControlPlane>(),
            Self::Deployment => TypeId::of::<MachineDeployment>(),
            Self::Set => TypeId::of::<MachineSet>(),
            Self::Machine => TypeId::of::<Machine>(),
            Self::Config => TypeId::of::<KubeadmConfig>(),
            Self::Host | Self::Kubelet | Self::CloudProvider => TypeId::of::<BareMetalHost>(),
        }
    }

    /// The kind of these objects.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::ControlPlane => "KubeadmControlPlane",
            Self::Deployment => "MachineDeployment",
            Self::Set => "MachineSet",
            Self::Machine => "Machine",
            Self::Config => "KubeadmConfig",
            Self::Host | Self::Kubelet | Self::CloudProvider => "BareMetalHost",
        }
    }

    /// Looks at one object, decides and acts, at once again while the plan says so.
    pub fn reconcile(
        self,
        memory: &mut Memory,
        key: &ObjectKey,
        around: &mut Surroundings,
        now: Timestamp,
    ) -> End {
        let (time, rng) = (clock::text(now), &around.rng);
        match self {
            Self::Cluster => {
                memory.drive(|memory| Some(cluster::decide(&cluster::observe(memory, key, &time)?)))
            }
            Self::ControlPlane => memory.drive(|memory| {
                let mut snapshot = control_plane::observe(memory, key, &time)?;
                "planned".clone_into(&mut snapshot.kubeconfig);
                Some(control_plane::decide(&snapshot, rng))
            }),
            Self::Deployment => memory
                .drive(|memory| Some(deployment::decide(&deployment::observe(memory, key, &time)?, rng))),
            Self::Set => memory.drive(|memory| Some(set::decide(&set::observe(memory, key, &time)?, rng))),
            Self::Machine => reconcile_machine(memory, key, &time),
            Self::Config => {
                let (pace, configs) = (around.pace, &mut around.configs);
                let total = pace.duration(Phase::Bootstrap, key);
                memory.drive(|memory| {
                    let snapshot = bootstrap::observe(memory, key, &time)?;
                    Some(bootstrap::decide(&snapshot, || configs.left(key, Phase::Bootstrap, total, now)))
                })
            }
            Self::Host => reconcile_host(memory, key, around, now),
            Self::Kubelet => reconcile_kubelet(memory, key, around, now),
            Self::CloudProvider => {
                let Some(cluster) = running(memory, key).map(|running| cluster_of(&running)) else {
                    return End::Done;
                };
                on_nodes(memory, &cluster, key, |memory, nodes| {
                    Some(cloud_provider::plan(memory, nodes, &running(memory, key)?))
                })
            }
        }
    }
}

fn reconcile_machine(memory: &mut Memory, key: &ObjectKey, time: &str) -> End {
    let Some(machine) = memory.get::<Machine>(key) else { return End::Done };
    let cluster = beside(&*machine, &machine.spec.cluster_name);
    let host = host_of(memory, &machine);
    if let Some(host) = &host {
        memory.reads_nodes_of(host);
    }
    let end = memory.drive(|memory| {
        let nodes = nodes(memory, &cluster);
        Some(machine::decide(&machine::observe(memory, nodes.as_deref(), key, time)?))
    });
    let Some(host) = host else { return end };
    on_nodes(memory, &cluster, &host, |memory, nodes| {
        Some(machine::decide_node(&machine::observe(memory, Some(nodes), key, time)?))
    });
    end
}

fn reconcile_host(memory: &mut Memory, key: &ObjectKey, around: &mut Surroundings, now: Timestamp) -> End {
    let (pace, started, drives) = (around.pace, &mut around.hosts, &around.drives);
    memory.drive(|memory| {
        let host = memory.get::<BareMetalHost>(key)?;
        let left = match hosts::phase(&host) {
            Some(phase) => started.left(key, phase, pace.duration(phase, key), now),
            None => {
                started.stop(key);
                std::time::Duration::ZERO
            }
        };
        if !host.state().starts_with("provision") {
            drives.close(key);
        }
        let drive = hosts::Drive::Made;
        Some(hosts::decide(&hosts::Snapshot { host, now: clock::text(now), left, drive }))
    })
}

fn reconcile_kubelet(memory: &mut Memory, key: &ObjectKey, around: &mut Surroundings, now: Timestamp) -> End {
    let Some(found) = running(memory, key) else {
        around.joins.stop(key);
        around.kubelets.forget(key);
        return End::Done;
    };
    if !around.drives.is_current(key) {
        around.drives.put(key, node_data(memory, &found.host));
    }
    let Some(data) = around.drives.get(key) else { return End::Done };
    let (cluster, pace, joins, kubelets) =
        (cluster_of(&found), around.pace, &mut around.joins, &around.kubelets);
    let (uid, time) = (found.host.metadata.uid_str().to_owned(), clock::text(now));
    on_nodes(memory, &cluster, key, |memory, nodes| {
        let known = nodes.by_index(&NODES_BY_SYSTEM_UUID, &uid).into_iter().next();
        let view = join::View { cast: Cast::Everybody, nodes, kubelets, data: &data, known };
        let snapshot = join::observe(memory, running(memory, key)?, &view, &time);
        Some(join::decide(&snapshot, || match join::phase(&snapshot) {
            Some(phase) => joins.left(key, phase, pace.duration(phase, key), now),
            None => {
                joins.stop(key);
                std::time::Duration::ZERO
            }
        }))
    })
}

/// What the node finds on its config drive, as far as the memory has the contents of the Secrets.
fn node_data(memory: &Memory, host: &BareMetalHost) -> NodeData {
    let secret = |key: &ObjectKey| -> Option<Secret> {
        memory.get::<SecretMetadata>(key)?;
        serde_json::from_value(memory.whole::<SecretMetadata>(key)?).ok()
    };
    let without = || {
        let mut bare = host.clone();
        (bare.spec.user_data, bare.spec.meta_data, bare.spec.network_data) = (None, None, None);
        bare.spec.preprovisioning_network_data_name = None;
        hosts::assemble(&bare, |_| None).unwrap_or_default()
    };
    // User data says nothing of the node's name; its Secret is often not known.
    let mut wanted = host.clone();
    wanted.spec.user_data = None;
    hosts::assemble(&wanted, secret).unwrap_or_else(|_| without())
}

fn cluster_of(running: &crate::nodes::Running) -> ObjectKey {
    running.cluster.key()
}

fn nodes(memory: &Memory, cluster: &ObjectKey) -> Option<Arc<Store<Node>>> {
    memory.workload(cluster)?.caches().store::<Node>()
}

/// The host of a Machine: the one of its Metal3Machine, or the one in its provider ID.
fn host_of(memory: &Memory, machine: &Machine) -> Option<ObjectKey> {
    let infrastructure =
        machine.infrastructure_name().and_then(|name| memory.get::<Metal3Machine>(&beside(machine, name)));
    let annotated = infrastructure.and_then(|it| it.metadata.annotation(annotation::HOST).map(str::to_owned));
    let path = annotated.or_else(|| {
        let (path, _) = machine.spec.provider_id.as_deref()?.strip_prefix(PROVIDER_ID)?.rsplit_once('/')?;
        Some(path.to_owned())
    })?;
    let (namespace, name) = path.split_once('/')?;
    Some(ObjectKey::new(namespace, name))
}

/// Decides about the Nodes of a workload cluster and writes there; nothing if they are not kept.
fn on_nodes(
    memory: &mut Memory,
    cluster: &ObjectKey,
    host: &ObjectKey,
    mut decide: impl FnMut(&Memory, &Store<Node>) -> Option<Plan>,
) -> End {
    memory.reads_nodes_of(host);
    for _ in 0..ATTEMPTS {
        let Some(nodes) = nodes(memory, cluster) else {
            return End::WaitFor(Note::from("its workload cluster"));
        };
        let Some(plan) = decide(memory, &nodes) else { return End::Done };
        let Some(workload) = memory.workload_mut(cluster) else { return End::Done };
        let before = workload.version();
        let ended = workload.act(plan);
        let has_changed = workload.version() != before;
        if has_changed {
            memory.nodes_changed(host);
        }
        match ended {
            Ok(End::Again) | Err(_) => {}
            Ok(end) => return end,
        }
    }
    End::Again
}

/// Prepares objects that came from elsewhere: a workload cluster for each Cluster, made by `workload`, with the Nodes that
/// Machines name. A Cluster whose control plane is not among the objects counts as having one that runs; these are given.
pub fn prepare(memory: &mut Memory, workload: impl Fn() -> Memory) -> Vec<ObjectKey> {
    let clusters = memory.caches().store::<Cluster>().map(|store| store.all()).unwrap_or_default();
    let mut assumed = Vec::new();
    for cluster in &clusters {
        memory.keep_workload(cluster.key(), workload());
        let named = cluster.spec.control_plane_ref.as_ref().and_then(|reference| reference.name.as_deref());
        let has_one =
            named.is_some_and(|name| memory.get::<KubeadmControlPlane>(&beside(&**cluster, name)).is_some());
        if !has_one && !cluster.control_plane_is_initialized() {
            let flag = json!({"status": {"initialization": {"controlPlaneInitialized": true}}});
            memory.change::<Cluster>(&cluster.key(), &flag);
            assumed.push(cluster.key());
        }
    }
    let machines = memory.caches().store::<Machine>().map(|store| store.all()).unwrap_or_default();
    for machine in &machines {
        register_node(memory, machine);
    }
    assumed
}

/// The Node that a Machine names, as it is as far as its Machine tells. A Node that is not ready stays so: why is not known.
fn register_node(memory: &mut Memory, machine: &Machine) {
    let (Some(name), Some(host)) = (machine.node_name(), host_of(memory, machine)) else { return };
    let uid =
        memory.get::<BareMetalHost>(&host).and_then(|host| host.metadata.uid.clone()).unwrap_or_default();
    let fails = machine.denies("NodeReady").then(|| json!({kubelet::FAIL: kubelet::DEAD}));
    let ready = if fails.is_some() { "Unknown" } else { "True" };
    let node = json!({
        "metadata": {"name": name, "uid": format!("node-{name}"), "annotations": fails,
            "labels": {"metal3.io/uuid": uid, "kubernetes.io/hostname": name}},
        "spec": {"providerID": machine.spec.provider_id},
        "status": {"conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": null}],
            "nodeInfo": {"systemUUID": uid, "machineID": uid, "bootID": uid, "kernelVersion": "", "osImage": "",
                "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64"}},
    });
    let cluster = beside(machine, &machine.spec.cluster_name);
    if let Some(workload) = memory.workload_mut(&cluster) {
        workload.put_whole::<Node>(node);
    }
}

/// The node of a machine fails for good, and a health check gives the machine up: whoever owns it replaces it.
pub fn give_up(memory: &mut Memory, machine: &ObjectKey, now: Timestamp) -> bool {
    let Some(found) = memory.get::<Machine>(machine) else { return false };
    let cluster = beside(&*found, &found.spec.cluster_name);
    if let Some(node) = found.node_name().map(str::to_owned)
        && let Some(workload) = memory.workload_mut(&cluster)
    {
        let key = ObjectKey::new("", node);
        workload.change::<Node>(&key, &json!({"metadata": {"annotations": {kubelet::FAIL: kubelet::DEAD}}}));
    }
    let mut status = found.status.clone().unwrap_or_default();
    for type_ in ["HealthCheckSucceeded", "OwnerRemediated"] {
        let saying = crate::metadata::Saying::of(type_, false, "", "NodeFails");
        crate::metadata::say(&mut status.conditions, saying, &clock::text(now), found.metadata.generation);
    }
    memory.change::<Machine>(machine, &json!({"status": {"conditions": status.conditions}}));
    true
}

/// Whether a health check has given a machine up and nobody has replaced it yet.
pub fn is_given_up(memory: &Memory, machine: &ObjectKey) -> bool {
    memory.get::<Machine>(machine).is_some_and(|machine| machine.is_given_up())
}

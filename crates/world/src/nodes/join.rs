//! A kubelet: when its host runs an image its node appears in the workload cluster of the host's consumer, ready while
//! the host has power and the kubelet does not fail.

use std::{sync::Arc, time::Duration};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::CAPI_GROUP,
    vocabulary::label::{CONTROL_PLANE, NODE_HOSTNAME},
};
use capm3_engine::{Controller, End, Object, ObjectKey, Outcome, Plan, Reader, Store, drive};
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::core::ObjectMeta;
use serde_json::json;

use super::{
    Running,
    kubelet::{Kubelet, Kubelets, annotate, is_powered},
    mirror,
    name::{Registration, registration},
    running,
};
use crate::{
    config_drives::NodeData,
    context::{self, Context},
    hosts,
    kinds::{KubeadmConfig, Machine},
    metadata::beside,
    pace::Phase,
    world::Cast,
};

/// When static pods that could not be shown are shown again.
const AGAIN: Duration = Duration::from_secs(1);
/// What a kubelet says of its resources, and in which words when there are enough.
const PRESSURES: [(&str, &str); 3] = [
    ("MemoryPressure", "KubeletHasSufficientMemory"),
    ("DiskPressure", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "KubeletHasSufficientPID"),
];

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("nodes", &context.queues.joins, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    let Some(found) = running(&*context.caches, &key) else {
        context.join_watch.stop(&key);
        context.kubelets.forget(&key);
        return Outcome::Settled;
    };
    let cluster = beside(&*found.cluster, found.cluster.metadata.name_str());
    let Some(workload) = context.workloads.get(&cluster) else {
        return Outcome::Settled;
    };
    workload.caches.synced().await;
    let Some(data) = data(&context, &found, &key).await else {
        return Outcome::Settled;
    };
    let now = context.clock.now_text();
    let mut joined = None;
    let outcome = drive(&workload.executor, || {
        let Some(running) = running(&*context.caches, &key) else {
            return Plan::done();
        };
        let view = View {
            cast: context.cast,
            nodes: &workload.nodes,
            kubelets: &context.kubelets,
            data: &data,
            known: None,
        };
        let s = observe(&*context.caches, running, &view, &now);
        joined.clone_from(&s.node);
        decide(&s, || match phase(&s) {
            Some(phase) => context.join_watch.left(&key, phase, context.pace.duration(phase, &key)),
            None => {
                context.join_watch.stop(&key);
                Duration::ZERO
            }
        })
    })
    .await;
    match joined {
        Some(node) if context.cast == Cast::HostsAndNodes && leads(&found) => {
            let client = context.workloads.apis.client(&cluster);
            mirror::static_pods(&client, &node, &now).await.map_or(Outcome::After(AGAIN), |()| outcome)
        }
        _ => outcome,
    }
}

/// What a kubelet is seen by, beside the objects of the management cluster.
pub(crate) struct View<'a> {
    pub(crate) cast: Cast,
    pub(crate) nodes: &'a Store<Node>,
    pub(crate) kubelets: &'a Kubelets,
    pub(crate) data: &'a NodeData,
    /// The Node that is known to run on the host, whatever it would be called.
    pub(crate) known: Option<Arc<Node>>,
}

pub(crate) fn observe<'a>(
    reader: &impl Reader,
    running: Running,
    view: &View<'a>,
    now: &str,
) -> Snapshot<'a> {
    let key = running.host.key();
    let machine = machine(reader, &running);
    let registration = register(reader, &running, machine.as_deref());
    let name = registration.node_name(view.data, &key.name);
    let node = view.known.clone().or_else(|| view.nodes.get(&ObjectKey::new("", name)));
    Snapshot {
        cast: view.cast,
        version: kubelet_version(view.cast, machine.as_deref()),
        data: view.data,
        kubelet: view.kubelets.state(&key, is_powered(&running.host), node.as_deref()),
        node,
        registration,
        running,
        now: now.to_owned(),
    }
}

fn leads(running: &Running) -> bool {
    running.consumer.metadata.label(CONTROL_PLANE).is_some()
}

/// What the node found on its config drive; read again if the world was started after the host.
async fn data(context: &Context, running: &Running, key: &ObjectKey) -> Option<NodeData> {
    if !context.config_drives.is_current(key) {
        let data = hosts::read(&context.client, &running.host).await.ok()?;
        context.config_drives.put(key, data);
    }
    context.config_drives.get(key)
}

fn machine(reader: &impl Reader, running: &Running) -> Option<Arc<Machine>> {
    let owner = running.consumer.metadata.owner(CAPI_GROUP, "Machine")?;
    reader.get(&beside(&*running.consumer, &owner.name))
}

/// A real Cluster API waits until the kubelet has the version that was asked for.
fn kubelet_version(cast: Cast, machine: Option<&Machine>) -> String {
    let asked = machine.and_then(|it| it.spec.version.clone()).filter(|_| cast == Cast::HostsAndNodes);
    asked.unwrap_or_else(|| "v1.0.0-simulated".to_owned())
}

fn register(reader: &impl Reader, running: &Running, machine: Option<&Machine>) -> Registration {
    let config = machine.and_then(|m| reader.get::<KubeadmConfig>(&beside(m, m.config_name()?)));
    let first = !running.cluster.control_plane_is_initialized();
    config.map(|config| registration(&config.spec, first)).unwrap_or_default()
}

pub(crate) struct Snapshot<'a> {
    cast: Cast,
    running: Running,
    registration: Registration,
    version: String,
    data: &'a NodeData,
    node: Option<Arc<Node>>,
    kubelet: Kubelet,
    now: String,
}

impl Snapshot<'_> {
    /// Whether the kubelet runs and can be heard.
    fn reports(&self) -> bool {
        is_powered(&self.running.host) && self.kubelet == Kubelet::Runs
    }
}

/// Which phase takes time now: a node that boots, or the time until a kubelet that does not report counts as failed.
pub(crate) fn phase(s: &Snapshot<'_>) -> Option<Phase> {
    match (s.node.as_deref().map(readiness), s.reports()) {
        (None, true) | (Some(Some("Unknown")), true) => Some(Phase::Join),
        (Some(Some("True")), false) => Some(Phase::NodeMonitorGrace),
        _ => None,
    }
}

/// The status of the condition `Ready`.
pub(super) fn readiness(node: &Node) -> Option<&str> {
    let mut conditions = node.status.iter().flat_map(|s| s.conditions.iter().flatten());
    conditions.find(|c| c.type_ == "Ready").map(|c| c.status.as_str())
}

/// `left` starts the time that booting takes; it is asked only when the node may join.
pub(crate) fn decide(s: &Snapshot<'_>, left: impl FnOnce() -> Duration) -> Plan {
    let leads = leads(&s.running);
    let mut plan = Plan::done();
    let Some(old) = s.node.as_deref() else {
        if !is_powered(&s.running.host) {
            return Plan::wait_for("the host's power");
        }
        match s.kubelet {
            Kubelet::Runs => {}
            Kubelet::Hangs => return Plan::wait_for("a power cycle of the host"),
            Kubelet::Dead => return Plan::wait_for("another image on the host"),
        }
        if !leads && !s.running.cluster.control_plane_is_initialized() {
            return Plan::wait_for("the control plane");
        }
        let left = left();
        if !left.is_zero() {
            return Plan::done().ending(End::After(left));
        }
        plan.create(&fresh(s, leads));
        // The status is written apart, once the node is there.
        return plan.ending(End::Again);
    };
    let mut new = old.clone();
    if s.reports() || s.kubelet == Kubelet::Hangs {
        annotate(&mut new, s.kubelet);
    }
    let left = left();
    if left.is_zero() {
        report(s, &mut new, s.reports());
    }
    plan.update(old, &new);
    plan.ending(if left.is_zero() { End::Done } else { End::After(left) })
}

fn fresh(s: &Snapshot<'_>, leads: bool) -> Node {
    let name = s.registration.node_name(s.data, s.running.host.metadata.name_str());
    let mut labels = s.registration.labels(s.data);
    for (key, value) in
        [(NODE_HOSTNAME, name.as_str()), ("kubernetes.io/os", "linux"), ("kubernetes.io/arch", "amd64")]
    {
        labels.insert(key.to_owned(), value.to_owned());
    }
    if leads {
        labels.insert("node-role.kubernetes.io/control-plane".to_owned(), String::new());
    }
    let mut node = Node {
        metadata: ObjectMeta { name: Some(name), labels: Some(labels), ..ObjectMeta::default() },
        ..Node::default()
    };
    let spec = node.spec.get_or_insert_default();
    spec.provider_id = s.registration.provider_id(s.data);
    if s.cast == Cast::HostsAndNodes {
        spec.taints = Some(vec![taint(leads)]);
    }
    node
}

/// The taint of a control plane, and the one that Cluster API has each worker register with and takes away.
fn taint(leads: bool) -> Taint {
    let key =
        if leads { "node-role.kubernetes.io/control-plane" } else { "node.cluster.x-k8s.io/uninitialized" };
    Taint { key: key.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() }
}

/// What the kubelet reports of itself. Its readiness changes only when it stops or resumes reporting.
fn report(s: &Snapshot<'_>, node: &mut Node, reports: bool) {
    let host = &s.running.host;
    let (ready, reason) = if reports { ("True", "KubeletReady") } else { ("Unknown", "NodeStatusUnknown") };
    if readiness(node) != Some(ready) {
        let says = |type_: &str, status: &str, reason: &str| {
            json!({"type": type_, "status": status, "reason": reason, "message": "simulated kubelet",
                "lastHeartbeatTime": s.now, "lastTransitionTime": s.now})
        };
        let mut conditions = vec![says("Ready", ready, reason)];
        if s.cast == Cast::HostsAndNodes {
            let status = if reports { "False" } else { "Unknown" };
            conditions.extend(
                PRESSURES.map(|(type_, fine)| says(type_, status, if reports { fine } else { reason })),
            );
        }
        node.status.get_or_insert_default().conditions = serde_json::from_value(json!(conditions)).ok();
    }
    let nics = host.status.as_ref().and_then(|s| s.hardware.as_ref()?.get("nics")?.as_array());
    let addresses = nics.into_iter().flatten().filter_map(|nic| nic.get("ip")?.as_str());
    let mut listed: Vec<_> = addresses.map(|ip| json!({"type": "InternalIP", "address": ip})).collect();
    listed.push(json!({"type": "Hostname", "address": node.metadata.name}));
    let version = &s.version;
    let info = json!({"systemUUID": host.metadata.uid, "machineID": host.metadata.uid, "bootID": host.metadata.uid,
        "kernelVersion": "6.0.0", "osImage": "simulated", "containerRuntimeVersion": "simulated://1",
        "kubeletVersion": version, "kubeProxyVersion": version, "operatingSystem": "linux", "architecture": "amd64"});
    let status = node.status.get_or_insert_default();
    status.addresses = serde_json::from_value(json!(listed)).ok();
    status.node_info = serde_json::from_value(info).ok();
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;

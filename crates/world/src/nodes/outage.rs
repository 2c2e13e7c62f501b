//! What becomes of the Pods and VolumeAttachments of a Node that has the out-of-service taint and is not ready, or that is gone:
//! the Pods are evicted, and after a while they and the attachments are removed. Without the taint they stay.
//!
//! Stands for the controllers of a workload cluster that do this. Pods without a kubelet do not end by themselves, so an evicted
//! Pod is held by a finalizer until it is removed by force.

use std::{sync::Arc, time::Duration};

use capm3_api::metadata::MetadataExt;
use capm3_engine::{
    ApiClient, ApiError, Controller, End, Object, ObjectKey, Outcome, Plan, ResourceKind, client::Detail,
    drive,
};
use k8s_openapi::api::{
    core::v1::{Node, Pod},
    storage::v1::VolumeAttachment,
};

use super::join::readiness;
use crate::{
    context::{self, Context},
    metadata::{add_finalizer, remove_finalizer},
    pace::Phase,
};

/// When a cluster that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// Finalizer of a Pod that nobody but the kubelet or force may end.
const HELD: &str = "capm3.example/kubelet";
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
const NO_EXECUTE: &str = "NoExecute";

/// The key of a Node of a workload cluster: the path of the Cluster in the place of a namespace.
pub(crate) fn key(cluster: &ObjectKey, node: &str) -> ObjectKey {
    ObjectKey::new(cluster.to_string(), node)
}

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("outages", &context.queues.outages, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    let Some((namespace, name)) = key.namespace.split_once('/') else { return Outcome::Settled };
    let cluster = ObjectKey::new(namespace, name);
    let Some(workload) = context.workloads.get(&cluster) else {
        context.outage_watch.stop(&key);
        return Outcome::Settled;
    };
    let node = workload.nodes.get(&ObjectKey::new("", &*key.name));
    let is_out = node.as_deref().is_none_or(is_out_of_service);
    if !is_out {
        context.outage_watch.stop(&key);
    }
    let client = context.workloads.apis.client(&cluster);
    let (Ok(pods), Ok(attachments)) =
        (on_node(&client, &key.name, pod_node).await, on_node(&client, &key.name, attachment_node).await)
    else {
        return Outcome::After(AGAIN);
    };
    let total = context.pace.duration(Phase::Evict, &key);
    let left = match is_out && !(pods.is_empty() && attachments.is_empty()) {
        true => context.outage_watch.left(&key, Phase::Evict, total),
        false => Duration::ZERO,
    };
    let s = Snapshot { is_out, is_gone: node.is_none(), pods, attachments, left };
    let outcome = drive(&workload.executor, || decide(&s)).await;
    if matches!(outcome, Outcome::Settled) {
        context.outage_watch.stop(&key);
    }
    outcome
}

fn pod_node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn attachment_node(attachment: &VolumeAttachment) -> Option<&str> {
    Some(&attachment.spec.node_name)
}

/// Every object of a kind on a Node.
async fn on_node<K: Object>(
    client: &ApiClient,
    node: &str,
    node_of: fn(&K) -> Option<&str>,
) -> Result<Vec<K>, ApiError> {
    let (kind, mut found, mut token) = (ResourceKind::of::<K>(), Vec::new(), None::<String>);
    loop {
        let page = client.list_page::<K>(&kind, "", Detail::Whole, token.as_deref()).await?;
        found.extend(page.items.into_iter().filter(|object| node_of(object) == Some(node)));
        token = page.metadata.continue_;
        if token.is_none() {
            return Ok(found);
        }
    }
}

/// Whether a Node has the taint and is not ready.
pub(crate) fn is_out_of_service(node: &Node) -> bool {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let has_taint = taints.into_iter().any(|it| it.key == OUT_OF_SERVICE && it.effect == NO_EXECUTE);
    has_taint && readiness(node) != Some("True")
}

struct Snapshot {
    is_out: bool,
    /// Whether there is no such Node: nobody's toleration helps then.
    is_gone: bool,
    pods: Vec<Pod>,
    attachments: Vec<VolumeAttachment>,
    /// Time left until force is used.
    left: Duration,
}

fn decide(s: &Snapshot) -> Plan {
    let mut plan = Plan::done();
    if !s.is_out {
        // The kubelet is back and ends what was evicted.
        s.pods.iter().filter(|pod| pod.metadata.has_finalizer(HELD)).for_each(|pod| remove(&mut plan, pod));
        return plan;
    }
    let (going, running): (Vec<&Pod>, Vec<&Pod>) =
        s.pods.iter().filter(|pod| s.is_gone || !tolerates(pod)).partition(|pod| pod.metadata.is_deleting());
    if s.left.is_zero() {
        going.iter().for_each(|pod| remove(&mut plan, pod));
        s.attachments.iter().for_each(|attachment| detach(&mut plan, attachment));
    }
    running.iter().for_each(|pod| evict(&mut plan, pod));
    let is_finished = running.is_empty() && s.left.is_zero();
    plan.ending(if is_finished { End::Done } else { End::After(s.left) })
}

fn tolerates(pod: &Pod) -> bool {
    let tolerations = pod.spec.iter().flat_map(|spec| spec.tolerations.iter().flatten());
    tolerations.into_iter().any(|it| {
        let exists = it.operator.as_deref() == Some("Exists");
        let of_key = it.key.as_deref().map_or(exists, |key| key == OUT_OF_SERVICE);
        of_key
            && it.effect.as_deref().is_none_or(|effect| effect == NO_EXECUTE)
            && it.toleration_seconds.is_none()
    })
}

fn evict(plan: &mut Plan, pod: &Pod) {
    let mut new = pod.clone();
    add_finalizer(&mut new.metadata, HELD);
    plan.update(pod, &new);
    plan.delete(pod);
}

/// Takes away what holds a Pod here; the finalizers of others hold it on.
fn remove(plan: &mut Plan, pod: &Pod) {
    let mut new = pod.clone();
    remove_finalizer(&mut new.metadata, HELD);
    plan.update(pod, &new);
}

/// Removes an attachment, whoever would have had to detach it.
fn detach(plan: &mut Plan, attachment: &VolumeAttachment) {
    let mut new = attachment.clone();
    new.metadata.finalizers = None;
    plan.update(attachment, &new);
    if !attachment.metadata.is_deleting() {
        plan.delete(attachment);
    }
}

#[cfg(test)]
#[path = "outage_tests.rs"]
mod tests;

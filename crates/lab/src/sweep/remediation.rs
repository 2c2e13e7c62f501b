//! The scenarios of a node that fails: the health check that notices, what happens to the Node, and what must be so at the end.
//!
//! The judge reads objects only, none of the provider's rules.

use std::sync::Arc;

use capm3_engine::{ApiClient, ObjectKey, ResourceKind};
use serde_json::{Map, Value, json};

use super::{
    racks::{CLUSTER, NAMESPACE},
    scenario::ScenarioError,
};
use crate::{
    Lab,
    manifests::{Manifest, ManifestError, parse},
};

/// The deployment whose only worker fails.
const DEPLOYMENT: &str = "workers-1";
/// More attempts than the longest fault has time for: a remediation that may succeed is not given up.
const MANY: u32 = 100;
const POWER_OFF: &str = "reboot.metal3.io/";
const UNHEALTHY: &str = "capm3.metal3.io/unhealthy";
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// What a user has put on the Node: where, key, value.
const OF_USER: [(&str, &str, &str); 2] =
    [("labels", "example.com/role", "db"), ("annotations", "example.com/note", "kept")];

/// A remediation, by its way and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remediation {
    /// The Node gets the out-of-service taint, and loses it when it is back.
    WithTaint,
    /// The Node is deleted, and gets its labels and annotations back when it is back.
    WithoutTaint,
    /// No attempt helps.
    Exhausted,
}

impl Remediation {
    /// How the kubelet fails.
    fn failure(self) -> &'static str {
        if self == Self::Exhausted { "dead" } else { "hang" }
    }

    /// The version that the workload cluster reports.
    fn version(self) -> &'static str {
        if self == Self::WithoutTaint { "v1.27.9" } else { "v1.35.0" }
    }

    fn retry_limit(self) -> u32 {
        if self == Self::Exhausted { 1 } else { MANY }
    }

    /// How often the host is power-cycled if nothing takes longer than an attempt.
    fn power_cycles(self) -> usize {
        if self == Self::Exhausted { 2 } else { 1 }
    }

    /// The MachineHealthCheck of the worker, and its template.
    pub(super) fn health_check(self) -> Result<Vec<Manifest>, ManifestError> {
        parse("health check", &health_check(self.retry_limit()))
    }

    /// What must not be at the end.
    pub(super) fn violations(self, lab: &Lab, may_be_repeated: bool) -> Vec<String> {
        let hosts = lab.objects("BareMetalHost");
        let nodes = of_workload(lab, "Node");
        if hosts.is_empty() || nodes.is_empty() {
            return vec![format!("{} hosts and {} Nodes are there", hosts.len(), nodes.len())];
        }
        let mut found: Vec<String> = hosts.iter().filter_map(|host| off(host)).collect();
        found.extend(nodes.iter().filter_map(|node| out_of_service(node)));
        let left = lab.objects("Metal3Remediation");
        found.extend(left.iter().map(|it| format!("Metal3Remediation {} is left: {it}", name(it))));
        found.extend(nodes.iter().filter_map(|node| without_provider_id(node)));
        // A node that is back before it could be drained, as where its cluster could not be reached, still runs what it ran.
        for kind in ["Pod", "VolumeAttachment"].into_iter().filter(|_| !may_be_repeated) {
            found.extend(of_workload(lab, kind).iter().map(|it| format!("{kind} {} is left", name(it))));
        }
        let marked: Vec<String> = hosts.iter().filter(|it| is_marked(it)).map(|it| name(it)).collect();
        match self {
            Self::Exhausted => found.extend(self.judge_end(lab, &marked)),
            Self::WithTaint | Self::WithoutTaint => {
                found.extend(marked.iter().map(|host| format!("{host} is marked as unhealthy")));
                found.extend(not_restored(lab, &nodes));
            }
        }
        let cycles: usize = hosts.iter().map(|host| power_cycles(lab, &name(host))).sum();
        let wanted = self.power_cycles();
        let is_good = cycles == wanted || (may_be_repeated && cycles > wanted);
        if !is_good {
            found.push(format!("{cycles} power cycles instead of {wanted}"));
        }
        found
    }

    /// One host is marked, and no machine has it; it may be reserved for the next machine of the deployment.
    fn judge_end(self, lab: &Lab, marked: &[String]) -> Option<String> {
        let [marked] = marked else { return Some(format!("marked as unhealthy: {marked:?}")) };
        let is_used = lab.object("BareMetalHost", marked).is_some_and(|host| is_used(&host));
        is_used.then(|| format!("{marked} is marked as unhealthy and in use"))
    }
}

/// Something runs on the worker's Node, a user has labels on it, and its kubelet fails.
pub(super) async fn fail(lab: &Lab, remediation: Remediation) -> Result<(), ScenarioError> {
    lab.server().report_version(Some(&cluster()), remediation.version());
    let node = node_of_worker(lab).ok_or(ScenarioError::NoNode(DEPLOYMENT))?;
    let client = workload(lab);
    let pod = json!({"metadata": {"name": "app", "namespace": "default"}, "spec": {"nodeName": node,
        "containers": [{"name": "app", "image": "app"}]}});
    client.create(&core("Pod", "pods"), "default", pod).await?;
    let attachment = json!({"metadata": {"name": "va"}, "spec": {"attacher": "csi.example.com", "nodeName": node,
        "source": {"persistentVolumeName": "pv"}}});
    let attachments =
        ResourceKind { group: "storage.k8s.io".to_owned(), ..core("VolumeAttachment", "volumeattachments") };
    client.create(&attachments, "", attachment).await?;
    let of_user = |part: &str| -> Map<String, Value> {
        let of_part = OF_USER.iter().filter(|(of, _, _)| *of == part);
        of_part.map(|(_, key, value)| ((*key).to_owned(), json!(value))).collect()
    };
    let (labels, mut annotations) = (of_user("labels"), of_user("annotations"));
    annotations.insert("capm3.example/fail".to_owned(), json!(remediation.failure()));
    let metadata = json!({"labels": labels, "annotations": annotations});
    let key = ObjectKey::new("", &node);
    client.merge_patch(&core("Node", "nodes"), &key, None, &json!({"metadata": metadata})).await?;
    Ok(())
}

fn cluster() -> String {
    format!("{NAMESPACE}/{CLUSTER}")
}

fn workload(lab: &Lab) -> ApiClient {
    lab.client().below(format!("/clusters/{}", cluster()))
}

fn core(kind: &str, plural: &str) -> ResourceKind {
    let (group, version) = (String::new(), "v1".to_owned());
    ResourceKind { group, version, kind: kind.to_owned(), plural: plural.to_owned() }
}

fn of_workload(lab: &Lab, kind: &str) -> Vec<Arc<Value>> {
    let mut all = lab.server().objects(Some(&cluster()));
    all.retain(|object| text(object, "/kind") == kind);
    all
}

/// The Node that the Machine of the deployment names.
fn node_of_worker(lab: &Lab) -> Option<String> {
    let machines = lab.objects("Machine");
    let label = "/metadata/labels/cluster.x-k8s.io~1deployment-name";
    let of_deployment = machines.iter().find(|machine| text(machine, label) == DEPLOYMENT)?;
    Some(text(of_deployment, "/status/nodeRef/name").to_owned()).filter(|node| !node.is_empty())
}

/// Nobody may keep a host off.
fn off(host: &Value) -> Option<String> {
    let annotations = host.pointer("/metadata/annotations").and_then(Value::as_object);
    let asked = annotations.into_iter().flatten().find(|(key, _)| key.starts_with(POWER_OFF));
    if let Some((key, _)) = asked {
        return Some(format!("{} is left with {key}", name(host)));
    }
    let is_off = host.pointer("/status/poweredOn") == Some(&json!(false));
    (is_used(host) && is_off).then(|| format!("{} is left off", name(host)))
}

/// A Node that has registered again must get its provider ID again.
fn without_provider_id(node: &Value) -> Option<String> {
    text(node, "/spec/providerID").is_empty().then(|| format!("Node {} has no provider ID", name(node)))
}

/// Whether a machine has the host.
fn is_used(host: &Value) -> bool {
    text(host, "/spec/consumerRef/kind") == "Metal3Machine"
}

fn out_of_service(node: &Value) -> Option<String> {
    let taints = node.pointer("/spec/taints").and_then(Value::as_array);
    let has_taint = taints.into_iter().flatten().any(|taint| text(taint, "/key") == OUT_OF_SERVICE);
    has_taint.then(|| format!("Node {} is left with the taint", name(node)))
}

fn is_marked(host: &Value) -> bool {
    host.pointer("/metadata/annotations").is_some_and(|annotations| annotations.get(UNHEALTHY).is_some())
}

/// What the user had put on the Node and is not there.
fn not_restored(lab: &Lab, nodes: &[Arc<Value>]) -> Vec<String> {
    let worker = node_of_worker(lab).unwrap_or_default();
    let Some(node) = nodes.iter().find(|node| name(node) == worker) else {
        return vec![format!("Node {worker:?} is not there")];
    };
    let lacks = |(part, key, value): &&(&str, &str, &str)| {
        node.pointer("/metadata").and_then(|it| it.get(*part)?.get(*key)?.as_str()) != Some(*value)
    };
    OF_USER
        .iter()
        .filter(lacks)
        .map(|(part, key, _)| format!("Node {worker} lacks {key} of its {part}"))
        .collect()
}

/// How often a host was powered off while it was provisioned.
fn power_cycles(lab: &Lab, host: &str) -> usize {
    let history = lab.server().history(None, "metal3.io", "baremetalhosts").unwrap_or_default();
    let of_host = history.iter().map(|it| &it.object).filter(|it| name(it) == host);
    let mut powered: Vec<bool> = of_host
        .filter(|it| text(it, "/status/provisioning/state") == "provisioned")
        .map(|it| it.pointer("/status/poweredOn") == Some(&json!(true)))
        .collect();
    powered.dedup();
    powered.iter().filter(|is_on| !**is_on).count()
}

fn name(object: &Value) -> String {
    text(object, "/metadata/name").to_owned()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn health_check(retry_limit: u32) -> String {
    format!(
        "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3RemediationTemplate
metadata: {{name: reboot, namespace: metal3}}
spec: {{template: {{spec: {{strategy: {{type: Reboot, retryLimit: {retry_limit}, timeoutSeconds: 100}}}}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {{name: workers, namespace: metal3}}
spec:
  clusterName: racks
  selector: {{matchLabels: {{cluster.x-k8s.io/deployment-name: {DEPLOYMENT}}}}}
  checks:
    # A machine whose Node comes late because of a long fault is none that fails.
    nodeStartupTimeoutSeconds: 0
    unhealthyNodeConditions:
    - {{type: Ready, status: Unknown, timeoutSeconds: 10}}
    - {{type: Ready, status: 'False', timeoutSeconds: 10}}
  remediation:
    triggerIf: {{unhealthyLessThanOrEqualTo: 100%}}
    templateRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3RemediationTemplate, name: reboot}}
---
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_kept_off_and_one_in_use_that_is_off_are_reported() {
        let host = |annotations: Value, kind: &str, is_on: bool| {
            off(&json!({"metadata": {"name": "h", "annotations": annotations},
                "spec": {"consumerRef": {"kind": kind}}, "status": {"poweredOn": is_on}}))
        };
        let kept = json!({"reboot.metal3.io/metal3-remediation-u": "{}"});
        assert_eq!(
            host(kept, "Metal3Machine", true).unwrap(),
            "h is left with reboot.metal3.io/metal3-remediation-u"
        );
        assert_eq!(host(json!({}), "Metal3Machine", false).unwrap(), "h is left off");
        assert_eq!(host(json!({}), "Metal3Machine", true), None);
        assert_eq!(host(json!({}), "Cluster", false), None, "reserved for the next machine");
    }

    #[test]
    fn a_node_with_the_taint_and_one_without_provider_id_are_reported() {
        let node = |spec: Value| json!({"metadata": {"name": "n"}, "spec": spec});
        let tainted = node(json!({"taints": [{"key": OUT_OF_SERVICE}], "providerID": "metal3://ns/h/m"}));
        assert!(out_of_service(&tainted).is_some() && without_provider_id(&tainted).is_none());
        let other = node(json!({"taints": [{"key": "node.kubernetes.io/unreachable"}]}));
        assert!(out_of_service(&other).is_none() && without_provider_id(&other).is_some());
    }
}

//! Hosts that are at work, or that would not arrive whole.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, SecretMetadata},
    vocabulary::{annotation, host_state, label},
};
use capm3_engine::Object;
use serde_json::json;

use crate::audit::{
    Severity,
    finding::Finding,
    repair::{Repair, Step},
    rule::Rule,
    view::{View, beside},
};

/// States in which the operator does nothing with a host.
const AT_REST: [&str; 4] =
    [host_state::READY, host_state::AVAILABLE, host_state::PROVISIONED, host_state::EXTERNALLY_PROVISIONED];

pub(super) const IN_MOTION: Rule = Rule {
    code: "CAPM3-M002",
    severity: Severity::Error,
    title: "host that its operator is working on",
    why: "A host that is being provisioned, cleaned or inspected loses that operation by a move: the operator on the other \
          side starts it again, or takes the host for what it is not.",
    repair: "Wait until the host is available or provisioned.",
    find: in_motion,
};

fn in_motion(view: &View<'_>) -> Vec<Finding> {
    let report = |host: &BareMetalHost| {
        let state = host.state();
        if AT_REST.contains(&state) && !host.metadata.is_deleting() {
            return None;
        }
        let shown = if state.is_empty() { "none yet" } else { state };
        let finding =
            Finding::on(host, format!("is at work: {shown}")).fact(host, "status.provisioning.state", shown);
        let step = Step::explain("host", &host.key());
        Some(finding.repair(Repair::person("wait until the host is available or provisioned", [step])))
    };
    view.all::<BareMetalHost>().iter().filter_map(|host| report(host)).collect()
}

pub(super) const CREDENTIALS: Rule = Rule {
    code: "CAPM3-M003",
    severity: Severity::Error,
    title: "credentials of a host without the label of its Cluster",
    why: "`clusterctl move` takes a Secret along if a label or an owner leads it there. Without its credentials a host on the \
          other side cannot be managed.",
    repair: "Label the Secret with the name of the Cluster.",
    find: credentials,
};

fn credentials(view: &View<'_>) -> Vec<Finding> {
    let report = |host: &BareMetalHost| {
        let cluster = host.metadata.label(label::CLUSTER_NAME)?;
        let name = host.spec.bmc.credentials_name.as_deref().filter(|name| !name.is_empty())?;
        let secret: Arc<SecretMetadata> = view.get(&beside(&host.metadata, name))?;
        let is_owned = secret.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
        let labels = [label::CLUSTER_NAME, label::MOVE, label::MOVE_HIERARCHY];
        if is_owned || labels.iter().any(|label| secret.metadata.label(label).is_some()) {
            return None;
        }
        let finding = Finding::on(
            secret.as_ref(),
            format!("has the credentials of BareMetalHost {}, and nothing leads a move to it", host.key()),
        )
        .fact(host, "spec.bmc.credentialsName", name)
        .fact(secret.as_ref(), "metadata.labels", "no label for a move");
        let patch = json!({"metadata": {"labels": {label::CLUSTER_NAME: cluster}}});
        Some(finding.repair(Repair::person("label the Secret", [Step::patch(secret.as_ref(), patch)])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| report(host)).collect()
}

pub(super) const STATUS: Rule = Rule {
    code: "CAPM3-M007",
    severity: Severity::Error,
    title: "paused host whose status is not saved",
    why: "The host operator of the other side restores the status of a host from annotation \
          baremetalhost.metal3.io/status. A host that is paused without it arrives as a new one, and is inspected and maybe \
          provisioned again.",
    repair: "End the pause: the provider saves the status when it pauses the host itself.",
    find: status,
};

fn status(view: &View<'_>) -> Vec<Finding> {
    let report = |host: &BareMetalHost| {
        let by = host.metadata.annotation(annotation::HOST_PAUSED)?;
        if host.metadata.annotation(annotation::HOST_STATUS).is_some() || host.spec.consumer_ref.is_none() {
            return None;
        }
        let finding = Finding::on(host, "is paused, and its status is not saved")
            .fact(host, &format!("metadata.annotations[{}]", annotation::HOST_PAUSED), format!("{by:?}"))
            .fact(host, &format!("metadata.annotations[{}]", annotation::HOST_STATUS), "not set");
        let step = Step::unannotate(host, annotation::HOST_PAUSED);
        Some(finding.repair(Repair::person("end the pause, if whoever paused the host agrees", [step])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| report(host)).collect()
}

pub(super) const DEFINITION: Rule = Rule {
    code: "CAPM3-M008",
    severity: Severity::Error,
    title: "hosts that a move leaves behind",
    why: "No owner leads from a Cluster to its hosts, so `clusterctl move` takes them along only if the CRD of BareMetalHosts, \
          or the host itself, has label clusterctl.cluster.x-k8s.io/move or move-hierarchy.",
    repair: "Label the CRD with clusterctl.cluster.x-k8s.io and clusterctl.cluster.x-k8s.io/move-hierarchy, both empty.",
    find: definition,
};

fn definition(view: &View<'_>) -> Vec<Finding> {
    let Some(definition) = view.host_definition() else { return Vec::new() };
    if !view.is_led_to(definition) {
        let hosts = view.not_deleting::<BareMetalHost>();
        let left =
            hosts.iter().find(|host| host.spec.consumer_ref.is_some() && !view.is_led_to(&host.metadata));
        let report = |host: &Arc<BareMetalHost>| {
            let name = definition.name_str();
            let finding =
                Finding::on(host.as_ref(), "is left behind, as every host whose CRD has no label for a move")
                    .fact(host.as_ref(), "spec.consumerRef", "set");
            let command = format!(
                "kubectl label crd {name} {m}= {h}=",
                m = "clusterctl.cluster.x-k8s.io",
                h = label::MOVE_HIERARCHY
            );
            finding.repair(Repair::person("label the CRD", [Step::Run(command)]))
        };
        return left.map(report).into_iter().collect();
    }
    Vec::new()
}

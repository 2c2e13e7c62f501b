//! Machines that are not at rest, and Clusters that are paused already.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Cluster,
    v1beta2::{Initialization, Metal3Machine, Metal3Remediation},
    vocabulary::annotation,
};
use capm3_engine::Object;

use crate::audit::{
    Severity,
    finding::Finding,
    repair::{Repair, Step},
    rule::Rule,
    view::View,
};

pub(super) const UNFINISHED: Rule = Rule {
    code: "CAPM3-M001",
    severity: Severity::Error,
    title: "machine that is not provisioned or is being deleted",
    why: "`clusterctl move` refuses to move a Cluster with such machines, or moves a machine between two steps: the status \
          that tells how far it is does not come along.",
    repair: "Wait until the machine is ready or gone.",
    find: unfinished,
};

fn unfinished(view: &View<'_>) -> Vec<Finding> {
    let report = |machine: &Metal3Machine| {
        let is_deleting = machine.metadata.is_deleting();
        let is_ready = Initialization::is_provisioned(&machine.status.initialization);
        if is_ready && !is_deleting {
            return None;
        }
        let word = if is_deleting { "is being deleted" } else { "is not provisioned" };
        let finding = Finding::on(machine, word).fact(machine, "status.initialization.provisioned", is_ready);
        let step = Step::explain("metal3machine", &machine.key());
        Some(finding.repair(Repair::person("wait until the machine is ready or gone", [step])))
    };
    view.all::<Metal3Machine>().iter().filter_map(|machine| report(machine)).collect()
}

pub(super) const REMEDIATION: Rule = Rule {
    code: "CAPM3-M006",
    severity: Severity::Warning,
    title: "remediation under way",
    why: "How far a Metal3Remediation is stands in its status, which a move does not take along. What the provider saves in an \
          annotation is only as new as its last step.",
    repair: "Wait for the end of the remediation.",
    find: remediations,
};

fn remediations(view: &View<'_>) -> Vec<Finding> {
    let report = |remediation: &Metal3Remediation| {
        let is_saved = remediation.metadata.annotation(annotation::REMEDIATION_PROGRESS).is_some();
        let phase = remediation.status.phase.as_deref().filter(|phase| !phase.is_empty())?;
        if is_saved || phase == "Failed" {
            return None;
        }
        let finding = Finding::on(remediation, "is under way, and its status does not come along").fact(
            remediation,
            "status.phase",
            phase,
        );
        Some(finding.repair(Repair::person("wait for the end of the remediation", [])))
    };
    view.not_deleting::<Metal3Remediation>().iter().filter_map(|it| report(it)).collect()
}

pub(super) const PAUSED_CLUSTER: Rule = Rule {
    code: "CAPM3-M009",
    severity: Severity::Warning,
    title: "Cluster that is paused already",
    why: "`clusterctl move` pauses the Cluster by itself and ends the pause on the other side. A Cluster that is paused \
          before is one that somebody keeps at rest, or the remains of a move that was broken off.",
    repair: "Find out who paused it; end the pause before the move.",
    find: paused,
};

fn paused(view: &View<'_>) -> Vec<Finding> {
    let report = |cluster: &Cluster| {
        let finding = Finding::on(cluster, "is paused already").fact(cluster, "spec.paused", true);
        let step = Step::patch(cluster, serde_json::json!({"spec": {"paused": false}}));
        finding.repair(Repair::person("end the pause, if whoever paused the Cluster agrees", [step]))
    };
    view.not_deleting::<Cluster>()
        .iter()
        .filter(|cluster| cluster.is_paused())
        .map(|cluster| report(cluster))
        .collect()
}

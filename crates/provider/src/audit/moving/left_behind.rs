//! Objects that no owner and no label leads a move to.

use std::sync::Arc;

use capm3_api::{
    ipam::IpClaim,
    metadata::MetadataExt,
    neighbours::SecretMetadata,
    reference::SecretRef,
    v1beta2::{
        Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3Machine, Metal3MachineTemplate, Metal3Remediation,
    },
    vocabulary::{finalizer, label},
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

pub(super) const WITHOUT_OWNER: Rule = Rule {
    code: "CAPM3-M004",
    severity: Severity::Error,
    title: "object that no owner leads a move to",
    why: "`clusterctl move` follows owner references from the Cluster. A machine, a template, a claim or data without an owner \
          stays behind, and on the other side its index and addresses are given again.",
    repair: "Start the manager, which writes the owner references, or delete what belongs to nobody.",
    find: without_owner,
};

fn without_owner(view: &View<'_>) -> Vec<Finding> {
    [
        unowned::<Metal3Cluster>(view, |_| true),
        unowned::<Metal3MachineTemplate>(view, |_| true),
        unowned::<Metal3Machine>(view, |_| true),
        unowned::<Metal3DataClaim>(view, |_| true),
        unowned::<Metal3Data>(view, |_| true),
        unowned::<Metal3Remediation>(view, |_| true),
        // Claims that people made for themselves are theirs to move.
        unowned::<IpClaim>(view, |claim| claim.metadata.has_finalizer(finalizer::DATA)),
    ]
    .concat()
}

fn unowned<K: Object>(view: &View<'_>, is_ours: impl Fn(&K) -> bool) -> Vec<Finding> {
    let report = |object: &Arc<K>| {
        let is_owned = object.meta().owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
        if is_owned || !is_ours(object) || view.is_led_to(object.meta()) {
            return None;
        }
        let finding = Finding::on(object.as_ref(), "has no owner, so that a move leaves it behind").fact(
            object.as_ref(),
            "metadata.ownerReferences",
            "none",
        );
        Some(
            finding.repair(Repair::person("check that the manager runs: it writes the owner references", [])),
        )
    };
    view.not_deleting::<K>().iter().filter_map(report).collect()
}

pub(super) const USER_SECRET: Rule = Rule {
    code: "CAPM3-M005",
    severity: Severity::Warning,
    title: "Secret of the user that a move leaves behind",
    why: "A Metal3Machine names a Secret of the user, which no owner and no label leads a move to. On the other side the host \
          cannot be provisioned again.",
    repair: "Label the Secret with clusterctl.cluster.x-k8s.io/move.",
    find: user_secret,
};

fn user_secret(view: &View<'_>) -> Vec<Finding> {
    let report = |machine: &Metal3Machine| {
        let spec = &machine.spec;
        let named = [
            ("userData", &spec.user_data),
            ("metaData", &spec.meta_data),
            ("networkData", &spec.network_data),
        ];
        named
            .into_iter()
            .filter_map(|(field, secret)| left(view, machine, field, secret.as_ref()?))
            .collect::<Vec<_>>()
    };
    view.not_deleting::<Metal3Machine>().iter().flat_map(|machine| report(machine)).collect()
}

fn left(view: &View<'_>, machine: &Metal3Machine, field: &str, named: &SecretRef) -> Option<Finding> {
    let secret: Arc<SecretMetadata> = view.get(&beside(&machine.metadata, named.name_str()))?;
    let is_owned = secret.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
    let is_of_cluster = secret.metadata.label(label::CLUSTER_NAME).is_some();
    if is_owned || is_of_cluster || view.is_led_to(&secret.metadata) {
        return None;
    }
    let message = format!("is {field} of Metal3Machine {}, and nothing leads a move to it", machine.key());
    let finding = Finding::on(secret.as_ref(), message)
        .fact(machine, &format!("spec.{field}.name"), named.name_str())
        .fact(secret.as_ref(), "metadata.ownerReferences", "none");
    let patch = json!({"metadata": {"labels": {label::MOVE: ""}}});
    Some(finding.repair(Repair::person("label the Secret", [Step::patch(secret.as_ref(), patch)])))
}

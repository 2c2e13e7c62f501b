//! The Machine of a remediation does not exist.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, Machine},
    v1beta2::Metal3Remediation,
};

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C063",
    severity: Severity::Warning,
    title: "remediation whose Machine does not exist",
    why: "The Machine that was to be remediated is gone, and the remediation stayed. It does nothing any more, but a new \
          Machine of that name would find it.",
    repair: "The Metal3Remediation is deleted.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let left = |remediation: &Metal3Remediation| {
        let owner = remediation.metadata.owner(CAPI_GROUP, Machine::API.kind)?;
        if !view.is_owner_gone::<Machine>(&remediation.metadata, owner) {
            return None;
        }
        let finding =
            Finding::on(remediation, format!("is for Machine {}, which does not exist", owner.name))
                .fact(remediation, "metadata.ownerReferences", format!("Machine {}", owner.name))
                .absent::<Machine>(&beside(&remediation.metadata, &owner.name));
        Some(finding.repair(Repair::fix("delete the remediation", [Step::delete(remediation)])))
    };
    view.not_deleting::<Metal3Remediation>().iter().filter_map(|remediation| left(remediation)).collect()
}

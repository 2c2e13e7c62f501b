//! The Machine of a Metal3Machine does not exist.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, Machine},
    v1beta2::Metal3Machine,
};

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C060",
    severity: Severity::Error,
    title: "Metal3Machine whose Machine does not exist",
    why: "Cluster API deletes a Metal3Machine before its Machine goes. One that outlives it keeps its host and its \
          addresses, and nobody will ever delete it.",
    repair: "Delete the Metal3Machine: its host is then wiped and given back. After a restore, bring the Machine back instead.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let left = |machine: &Metal3Machine| {
        let owner = machine.metadata.owner(CAPI_GROUP, Machine::API.kind)?;
        if !view.is_owner_gone::<Machine>(&machine.metadata, owner) {
            return None;
        }
        let finding =
            Finding::on(machine, format!("belongs to Machine {}, which does not exist", owner.name))
                .fact(machine, "metadata.ownerReferences", format!("Machine {}", owner.name))
                .absent::<Machine>(&beside(&machine.metadata, &owner.name));
        let text =
            "delete the Metal3Machine if the Machine is gone for good: its host is wiped and given back";
        Some(finding.repair(Repair::person(text, [Step::delete(machine)])))
    };
    view.not_deleting::<Metal3Machine>().iter().filter_map(|machine| left(machine)).collect()
}

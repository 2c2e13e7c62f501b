//! A data claim belongs to no machine.

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{GROUP, Metal3DataClaim, Metal3Machine},
};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside, vanished_machine};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C030",
    severity: Severity::Error,
    title: "data claim without machine",
    why: "The Metal3Machine of the claim is gone, and the garbage collector did not remove the claim: its owner reference is \
          missing or was not restored. The claim keeps an index and addresses for nobody.",
    repair: "The claim is deleted, and with it its data and addresses. While a host still names the machine, `capm3 release` \
           of that host does this.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let left = |claim: &Metal3DataClaim| {
        let owner = claim.metadata.owner(GROUP, Metal3Machine::API.kind);
        // Without an owner the claim has the name of its machine.
        let name = owner.map_or(claim.metadata.name_str(), |owner| &owner.name);
        let machine = beside(&claim.metadata, name);
        let is_gone = match owner {
            Some(owner) => view.is_owner_gone::<Metal3Machine>(&claim.metadata, owner),
            None => view.is_gone::<Metal3Machine>(&machine),
        };
        if !is_gone || vanished_machine::holds(view, &machine) {
            return None;
        }
        let finding = Finding::on(claim, format!("belongs to Metal3Machine {machine}, which does not exist"))
            .fact(claim, "metadata.ownerReferences", owner.map_or("none", |owner| &owner.name))
            .absent::<Metal3Machine>(&machine);
        Some(finding.repair(Repair::fix(
            "delete the claim: its index and addresses are free again",
            [Step::delete(claim)],
        )))
    };
    view.not_deleting::<Metal3DataClaim>()
        .iter()
        .filter(|claim| !claim.is_gone())
        .filter_map(|claim| left(claim))
        .collect()
}

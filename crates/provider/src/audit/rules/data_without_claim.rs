//! Data serves a claim that does not exist.

use capm3_api::v1beta2::{Metal3Data, Metal3DataClaim};

use super::{Finding, Repair, Rule, Severity, Step, View, beside, delete_data};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C032",
    severity: Severity::Error,
    title: "data without claim",
    why: "The Metal3DataClaim that the data was made for is gone: its finalizers were removed by hand. The data keeps its \
          index and its addresses.",
    repair: "The data is deleted if no machine uses it. Otherwise a person decides.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let left = |data: &Metal3Data| {
        let claim = beside(&data.metadata, data.spec.claim.as_ref()?.name_str());
        if claim.name.is_empty() || !view.is_gone::<Metal3DataClaim>(&claim) {
            return None;
        }
        let finding = Finding::on(data, format!("serves Metal3DataClaim {claim}, which does not exist"))
            .fact(data, "spec.claim.name", &claim.name)
            .absent::<Metal3DataClaim>(&claim);
        Some(delete_data(view, data, finding))
    };
    view.not_deleting::<Metal3Data>().iter().filter_map(|data| left(data)).collect()
}

/// Repair by deletion of data that no machine uses.
pub(super) fn repair(view: &View<'_>, data: &Metal3Data, finding: Finding) -> Finding {
    match view.machine_of_data(data) {
        None => finding.repair(Repair::fix(
            "delete the data: its index and addresses are free again",
            [Step::delete(data)],
        )),
        Some(machine) => {
            let text =
                format!("Metal3Machine {machine} runs with this data: find out what became of the claim");
            finding.repair(Repair::person(text, [Step::explain("metal3machine", machine)]))
        }
    }
}

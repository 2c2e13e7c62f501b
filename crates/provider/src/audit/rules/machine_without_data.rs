//! A machine runs with data that does not exist.

use capm3_api::v1beta2::{Metal3Data, Metal3DataClaim, Metal3Machine};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, View, beside, delete_machine, owner_name};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C037",
    severity: Severity::Error,
    title: "machine whose data does not exist",
    why: "status.renderedData of the machine names a Metal3Data that was deleted, and no claim asks for it. Its index and \
          addresses are given to others while the node runs with them.",
    repair: "Restore the Metal3Data and its claim, or replace the machine.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let lacking = |machine: &Metal3Machine| {
        let data = beside(&machine.metadata, machine.status.rendered_data.as_ref()?.name_str());
        // With a claim it is the claim that lacks it.
        let has_claim = view.get::<Metal3DataClaim>(&machine.key()).is_some();
        if data.name.is_empty() || !view.is_gone::<Metal3Data>(&data) || has_claim {
            return None;
        }
        let finding = Finding::on(machine, format!("runs with Metal3Data {data}, which does not exist"))
            .fact(machine, "status.renderedData.name", &data.name)
            .absent::<Metal3Data>(&data);
        let ways = [delete_machine(owner_name(machine), machine)];
        Some(
            finding
                .repair(Repair::person("restore the Metal3Data and its claim, or replace the machine", ways)),
        )
    };
    view.not_deleting::<Metal3Machine>().iter().filter_map(|machine| lacking(machine)).collect()
}

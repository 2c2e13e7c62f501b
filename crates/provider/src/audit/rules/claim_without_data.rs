//! The data of a claim does not exist.

use capm3_api::v1beta2::{Metal3Data, Metal3DataClaim};
use capm3_engine::Object;
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C031",
    severity: Severity::Error,
    title: "data claim whose data does not exist",
    why: "status.renderedData names a Metal3Data that was deleted under a running machine. Its index may be given to \
          another machine, though a node runs with it.",
    repair: "A restore brings the Metal3Data back. Otherwise empty status.renderedData: the claim then gets new data, and the \
           machine should be replaced.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let lacking = |claim: &Metal3DataClaim| {
        let named = claim.status.rendered_data.as_ref().filter(|data| !data.name_str().is_empty())?;
        let data = beside(&claim.metadata, named.name_str());
        if !view.is_gone::<Metal3Data>(&data) {
            return None;
        }
        let finding = Finding::on(claim, format!("has Metal3Data {data}, which does not exist"))
            .fact(claim, "status.renderedData.name", named.name_str())
            .absent::<Metal3Data>(&data);
        let ways = [
            Step::patch_status(claim, json!({"renderedData": null})),
            Step::explain("metal3machine", &claim.key()),
        ];
        let text = "restore the Metal3Data, or empty the status so that the claim gets new data, and replace the machine";
        Some(finding.repair(Repair::person(text, ways)))
    };
    view.not_deleting::<Metal3DataClaim>().iter().filter_map(|claim| lacking(claim)).collect()
}

//! The claim of some data uses other data.

use capm3_api::v1beta2::{Metal3Data, Metal3DataClaim};

use super::{Finding, Rule, Severity, View, beside, delete_data};
use crate::metal3data::{ClaimState, claim_state};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C033",
    severity: Severity::Error,
    title: "two data for one claim",
    why: "The claim names other data in status.renderedData. A run that was cut off between both made the second one. It \
          keeps an index and addresses for nobody.",
    repair: "The data that the claim does not name is deleted, if no machine uses it.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let superseded = |data: &Metal3Data| {
        let claim =
            view.get::<Metal3DataClaim>(&beside(&data.metadata, data.spec.claim.as_ref()?.name_str()))?;
        let used = claim.status.rendered_data.as_ref()?;
        let other = view.get::<Metal3Data>(&beside(&data.metadata, used.name_str()))?;
        if claim_state(data, Some(&claim), false) != ClaimState::Gone {
            return None;
        }
        let message = format!("serves a claim that uses Metal3Data {}", used.name_str());
        let finding = Finding::on(data, message)
            .fact(data, "spec.claim.name", data.spec.claim.as_ref()?.name_str())
            .fact(claim.as_ref(), "status.renderedData.name", used.name_str())
            .there(other.as_ref());
        Some(delete_data(view, data, finding))
    };
    view.not_deleting::<Metal3Data>().iter().filter_map(|data| superseded(data)).collect()
}

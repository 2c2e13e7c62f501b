//! The address of a claim does not exist.

use capm3_api::ipam::{IpAddress, IpClaim};
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C052",
    severity: Severity::Error,
    title: "address claim whose address does not exist",
    why: "status.address names an IPAddress that was deleted. The pool may give the address to somebody else while a node \
          uses it.",
    repair: "Restore the IPAddress. Otherwise empty status.address: the pool then gives an address again, maybe another one.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let lacking = |claim: &IpClaim| {
        let name = claim.status.address.as_ref()?.name_str();
        let address = beside(&claim.metadata, name);
        if name.is_empty() || !view.is_gone::<IpAddress>(&address) {
            return None;
        }
        let finding = Finding::on(claim, format!("has IPAddress {address}, which does not exist"))
            .fact(claim, "status.address.name", name)
            .absent::<IpAddress>(&address);
        let step = Step::patch_status(claim, json!({"address": null}));
        let text = "restore the IPAddress, or empty the status so that the pool gives an address again";
        Some(finding.repair(Repair::person(text, [step])))
    };
    view.not_deleting::<IpClaim>().iter().filter_map(|claim| lacking(claim)).collect()
}

//! One claim has two addresses.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::ipam::{IpAddress, IpClaim};
use capm3_engine::{Object, ObjectKey};

use super::{Finding, Rule, Severity, View, address_without_claim, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C057",
    severity: Severity::Error,
    title: "two addresses for one claim",
    why: "The claim names one address in status.address; the other one was made by a run that was cut off or by a second \
          address manager. It is never given back.",
    repair: "The address that the claim does not name is deleted, if no machine has it.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let mut by_claim: BTreeMap<ObjectKey, Vec<Arc<IpAddress>>> = BTreeMap::new();
    for address in view.not_deleting::<IpAddress>() {
        let claim = beside(&address.metadata, address.spec.claim.name_str());
        by_claim.entry(claim).or_default().push(address);
    }
    let twice = by_claim.iter().filter(|(_, addresses)| addresses.len() > 1);
    twice.flat_map(|(claim, addresses)| others(view, claim, addresses)).collect()
}

fn others(view: &View<'_>, key: &ObjectKey, addresses: &[Arc<IpAddress>]) -> Vec<Finding> {
    let Some(claim) = view.get::<IpClaim>(key) else { return Vec::new() };
    let Some(used) = claim.status.address.as_ref().map(|address| address.name_str()) else {
        return Vec::new();
    };
    if !addresses.iter().any(|address| address.key().name == used) {
        return Vec::new();
    }
    let others = addresses.iter().filter(|address| address.key().name != used);
    let report = |address: &Arc<IpAddress>| {
        let finding =
            Finding::on(address.as_ref(), format!("serves IPClaim {key}, which has IPAddress {used}"))
                .fact(address.as_ref(), "spec.claim.name", &key.name)
                .fact(claim.as_ref(), "status.address.name", used);
        address_without_claim::repair(view, address.as_ref(), &address.spec.address, finding)
    };
    others.map(report).collect()
}

//! An address serves a claim that does not exist.

use capm3_api::{
    ipam::{IpAddress, IpClaim},
    metadata::MetadataExt,
    neighbours::{CapiIpAddress, IpAddressClaim},
};
use capm3_engine::{Object, ObjectKey};

use super::{Finding, Repair, Rule, Severity, Step, View, beside};
use crate::indexes::serves;

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C050",
    severity: Severity::Error,
    title: "address without claim",
    why: "The claim of the address was deleted and the address stayed: a claim that was deleted just after its creation, or \
          a finalizer that was removed by hand. The address is never given again.",
    repair: "The address is deleted if no machine has it. Otherwise a person decides.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let metal3 = view.not_deleting::<IpAddress>();
    let metal3 = metal3.iter().filter_map(|address| {
        let claim = beside(&address.metadata, address.spec.claim.name_str());
        report::<IpAddress, IpClaim>(view, address, &claim, "spec.claim.name", &address.spec.address)
    });
    let capi = view.not_deleting::<CapiIpAddress>();
    let capi = capi.iter().filter(|address| serves(&address.spec.pool_ref)).filter_map(|address| {
        let claim = beside(&address.metadata, &address.spec.claim_ref.name);
        report::<CapiIpAddress, IpAddressClaim>(
            view,
            address,
            &claim,
            "spec.claimRef.name",
            &address.spec.address,
        )
    });
    metal3.chain(capi).collect()
}

fn report<A: Object, C: Object>(
    view: &View<'_>,
    address: &A,
    claim: &ObjectKey,
    field: &str,
    value: &str,
) -> Option<Finding> {
    if claim.name.is_empty() || !view.is_gone::<C>(claim) {
        return None;
    }
    let kind = C::kind(&());
    let finding = Finding::on(address, format!("serves {kind} {claim}, which does not exist"))
        .fact(address, field, &claim.name)
        .fact(address, "spec.address", value)
        .absent::<C>(claim);
    Some(repair(view, address, value, finding))
}

/// Repair by deletion of an address that no machine has.
pub(super) fn repair<A: Object>(view: &View<'_>, address: &A, value: &str, finding: Finding) -> Finding {
    match view.machine_of_address(address.meta().namespace_str(), value) {
        None => {
            finding.repair(Repair::fix("delete the address: it can be given again", [Step::delete(address)]))
        }
        Some(machine) => {
            let text = format!("Metal3Machine {machine} has this address: find out what became of the claim");
            finding.repair(Repair::person(text, [Step::explain("metal3machine", machine)]))
        }
    }
}

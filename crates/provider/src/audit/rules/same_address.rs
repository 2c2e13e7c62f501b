//! One address of a pool was given twice.

use std::collections::BTreeMap;

use capm3_api::{ipam::IpAddress, neighbours::CapiIpAddress};
use capm3_domain::address::Address;
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};
use crate::{audit::Subject, indexes::serves};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C053",
    severity: Severity::Error,
    title: "one address of a pool given twice",
    why: "Two objects of one pool have the same address, so two nodes answer for it. A pool that serves IPClaims and \
          IPAddressClaims at once, two address managers, or a restore lead to it.",
    repair: "Replace one of the machines: it gets a free address. An address that no machine has is deleted.",
    find,
};

/// An address that was given.
struct Given {
    subject: Subject,
    finding: Finding,
    delete: Step,
    is_used: bool,
}

fn find(view: &View<'_>) -> Vec<Finding> {
    let mut by_address: BTreeMap<(String, String), Vec<Given>> = BTreeMap::new();
    let mut add = |pool: String, text: &str, given: Given| {
        let address = text.parse::<Address>().map_or(text.to_owned(), |address| address.to_string());
        by_address.entry((pool, address)).or_default().push(given);
    };
    for address in view.not_deleting::<IpAddress>() {
        let pool = beside(&address.metadata, address.spec.pool.name_str()).to_string();
        add(pool, &address.spec.address, given(view, address.as_ref(), &address.spec.address));
    }
    for address in view.not_deleting::<CapiIpAddress>() {
        let reference = &address.spec.pool_ref;
        let pool = beside(&address.metadata, &reference.name).to_string();
        let pool = if serves(reference) {
            pool
        } else {
            format!("{}.{} {pool}", reference.kind, reference.api_group)
        };
        add(pool, &address.spec.address, given(view, address.as_ref(), &address.spec.address));
    }
    by_address.into_iter().filter_map(|((pool, address), given)| report(&pool, &address, given)).collect()
}

fn given<A: Object>(view: &View<'_>, object: &A, address: &str) -> Given {
    let namespace = object.key().namespace;
    Given {
        subject: Subject::of(object),
        finding: Finding::on(object, "").fact(object, "spec.address", address),
        delete: Step::delete(object),
        is_used: view.machine_of_address(&namespace, address).is_some(),
    }
}

fn report(pool: &str, address: &str, mut given: Vec<Given>) -> Option<Finding> {
    let last = given.pop()?;
    let first = given.first()?;
    let mut finding = last.finding;
    finding.message = format!("has address {address} of IPPool {pool}, as {} has", first.subject);
    finding.evidence.extend(given.iter().flat_map(|other| other.finding.evidence.clone()));
    let is_used = last.is_used;
    let ways: Vec<Step> =
        std::iter::once(last.delete).chain(given.into_iter().map(|other| other.delete)).collect();
    let text = match is_used {
        true => {
            "a machine uses the address: replace one of the machines that have it, or delete the address that no node has"
        }
        false => "delete the one that no node has",
    };
    Some(finding.repair(Repair::person(text, ways)))
}

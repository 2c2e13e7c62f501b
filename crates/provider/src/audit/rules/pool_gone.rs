//! An address or an address claim names a pool that does not exist.

use capm3_api::ipam::{IpAddress, IpClaim, IpPool};
use capm3_engine::{Object, ObjectKey};

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C055",
    severity: Severity::Error,
    title: "address or address claim whose pool does not exist",
    why: "The IPPool was removed together with its finalizer, or a restore left it out. Nobody serves the claim any more, and a \
          pool of that range that is made under another name gives its addresses a second time.",
    repair: "Create the pool again under its name and with its ranges.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let claims = view.not_deleting::<IpClaim>();
    let claims = claims.iter().filter_map(|claim| {
        report(view, claim.as_ref(), &beside(&claim.metadata, claim.spec.pool.name_str()))
    });
    let addresses = view.not_deleting::<IpAddress>();
    let addresses = addresses.iter().filter_map(|address| {
        report(view, address.as_ref(), &beside(&address.metadata, address.spec.pool.name_str()))
    });
    claims.chain(addresses).collect()
}

fn report<K: Object>(view: &View<'_>, object: &K, pool: &ObjectKey) -> Option<Finding> {
    if pool.name.is_empty() || !view.is_gone::<IpPool>(pool) {
        return None;
    }
    let finding = Finding::on(object, format!("is of IPPool {pool}, which does not exist"))
        .fact(object, "spec.pool.name", &pool.name)
        .absent::<IpPool>(pool);
    let text = "create the pool again, or delete what nobody uses";
    Some(finding.repair(Repair::person(text, [Step::delete(object)])))
}

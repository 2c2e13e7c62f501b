//! The status of a pool counts other addresses than there are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    ipam::{IpAddress, IpPool},
    neighbours::CapiIpAddress,
};
use capm3_domain::address::Address;
use capm3_engine::Object;
use serde_json::{Map, Value, json};

use super::{Finding, Repair, Rule, Severity, Step, View};
use crate::indexes::{CAPI_IP_ADDRESSES_BY_POOL, IP_ADDRESSES_BY_POOL};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C056",
    severity: Severity::Warning,
    title: "pool whose status shows other addresses than there are",
    why: "status.indexes mirrors the addresses of the pool. An entry without IPAddress makes people, and some address \
          managers, believe that the address is in use.",
    repair: "The entries are corrected from the addresses.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    if !view.knows_all::<IpAddress>() {
        return Vec::new();
    }
    view.not_deleting::<IpPool>().iter().filter_map(|pool| differs(view, pool)).collect()
}

fn differs(view: &View<'_>, pool: &IpPool) -> Option<Finding> {
    if pool.status.indexes.is_empty() && pool.status.last_updated.is_none() {
        // Nobody has written it yet.
        return None;
    }
    let key = pool.key().to_string();
    let metal3 = view.by_index(&IP_ADDRESSES_BY_POOL, &key);
    let capi = view.by_index(&CAPI_IP_ADDRESSES_BY_POOL, &key);
    let metal3_given = metal3.iter().map(|it| (same(&it.spec.address), it.spec.claim.name_str().to_owned()));
    let capi_given =
        capi.iter().map(|it: &Arc<CapiIpAddress>| (same(&it.spec.address), it.spec.claim_ref.name.clone()));
    let there: BTreeMap<String, String> = capi_given.chain(metal3_given).collect();
    let shown: BTreeSet<String> = pool.status.indexes.values().map(|address| same(address)).collect();
    let mut entries = Map::new();
    // What is reserved stands there too, given or not.
    let is_reserved = |claim: &String| pool.spec.pre_allocations.contains_key(claim);
    let stale = pool
        .status
        .indexes
        .iter()
        .filter(|(claim, address)| !there.contains_key(&same(address)) && !is_reserved(claim));
    entries.extend(stale.map(|(claim, _)| (claim.clone(), Value::Null)));
    let more = entries.len();
    // Several addresses of one claim share an entry.
    let named: BTreeSet<&String> = pool.status.indexes.keys().collect();
    for (address, claim) in
        there.iter().filter(|(address, claim)| !shown.contains(*address) && !named.contains(claim))
    {
        entries.insert(claim.clone(), json!(address));
    }
    if entries.is_empty() {
        return None;
    }
    let message = "shows other addresses in status.indexes than there are";
    let mut finding = Finding::on(pool, message)
        .fact(pool, "entries of status.indexes without address", more)
        .fact(pool, "addresses without entry", entries.len() - more);
    for address in metal3.iter().filter(|it| !shown.contains(&same(&it.spec.address))) {
        finding = finding.there(address.as_ref());
    }
    let step = Step::patch_status(pool, json!({ "indexes": entries }));
    Some(finding.repair(Repair::fix("correct status.indexes from the addresses", [step])))
}

/// An address in its usual form.
fn same(text: &str) -> String {
    text.parse::<Address>().map_or_else(|_| text.to_owned(), |address| address.to_string())
}

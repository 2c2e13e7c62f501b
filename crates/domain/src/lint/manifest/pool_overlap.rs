//! Pools that give out the same addresses.

use std::collections::BTreeMap;

use crate::{
    address::Range,
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L022"),
    title: "ranges of two pools have addresses in common",
    severity: Severity::Warning,
    why: "Each pool knows only its own addresses, so two machines may get the same one. Pools of \
          networks that never meet may overlap.",
    mend: "give each pool ranges of its own",
    example: Example {
        wrong: r#"kind: IPPool
metadata: {name: a}
spec: {pools: [{start: 10.0.0.10, end: 10.0.0.50}]}
---
kind: IPPool
metadata: {name: b}
spec: {pools: [{start: 10.0.0.40, end: 10.0.0.90}]}"#,
        right: r#"kind: IPPool
metadata: {name: a}
spec: {pools: [{start: 10.0.0.10, end: 10.0.0.50}]}
---
kind: IPPool
metadata: {name: b}
spec: {pools: [{start: 10.0.0.51, end: 10.0.0.90}]}"#,
    },
    check: Check::Manifests(check),
};

/// A range of a pool.
struct Placed<'a> {
    pool: &'a str,
    id: ObjectId,
    number: usize,
    range: Range,
}

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut of_namespace: BTreeMap<&str, Vec<Placed<'_>>> = BTreeMap::new();
    for (namespace, pool, subject) in manifests.pools.iter() {
        for (number, range) in subject.object.spec.pools.iter().enumerate() {
            if let Some(range) = Range::new(range) {
                let placed = Placed { pool, id: subject.id, number, range };
                of_namespace.entry(namespace).or_default().push(placed);
            }
        }
    }
    of_namespace.into_values().flat_map(overlaps).collect()
}

/// By their first addresses, a range overlaps an earlier one if it overlaps the one of those that reaches furthest.
fn overlaps(mut ranges: Vec<Placed<'_>>) -> Vec<(ObjectId, Draft)> {
    ranges.sort_by_key(|placed| (placed.range.first(), placed.id, placed.number));
    let mut drafts = Vec::new();
    let mut furthest: Option<&Placed<'_>> = None;
    for placed in &ranges {
        if let Some(before) = furthest.filter(|before| before.range.last() >= placed.range.first()) {
            // The one that stands later in the files is reported.
            let order = |it: &Placed<'_>| (it.id, it.number);
            let (first, later) =
                if order(before) < order(placed) { (before, placed) } else { (placed, before) };
            let own = if first.id == later.id { "another range of the pool" } else { "a range of IPPool" };
            let other = if first.id == later.id { "" } else { first.pool };
            let address = placed.range.first();
            let message = format!("{} has address {address} too", format!("{own} {other}").trim_end());
            drafts.push((later.id, Draft::new(format!("spec.pools[{}]", later.number), message)));
        }
        if furthest.is_none_or(|before| placed.range.last() > before.range.last()) {
            furthest = Some(placed);
        }
    }
    drafts
}

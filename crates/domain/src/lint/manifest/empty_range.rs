//! A range that yields no address.

use crate::{
    address::Range,
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L026"),
    title: "a range of a pool yields no address",
    severity: Severity::Warning,
    why: "The address manager passes the range over: start lies outside of the subnet, the subnet has \
          one address only, or neither start nor subnet is given.",
    mend: "give the range a start within its subnet, or a larger subnet",
    example: Example {
        wrong: r#"pools:
- {start: 10.0.1.10, end: 10.0.1.50, subnet: 10.0.0.0/24}"#,
        right: r#"pools:
- {start: 10.0.1.10, end: 10.0.1.50, subnet: 10.0.1.0/24}"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = Vec::new();
    for (_, _, pool) in manifests.pools.iter() {
        let empty =
            pool.object.spec.pools.iter().enumerate().filter(|(_, range)| Range::new(range).is_none());
        drafts.extend(empty.map(|(number, _)| {
            (pool.id, Draft::new(format!("spec.pools[{number}]"), "the range yields no address"))
        }));
    }
    drafts
}

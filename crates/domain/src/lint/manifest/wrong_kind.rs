//! A reference to a kind that fits nowhere.

use super::references::{self, Reference};
use crate::{
    lint::{Check, Draft, Example, Fix, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L011"),
    title: "a reference names a kind that does not fit there",
    severity: Severity::Error,
    why: "Cluster API copies whatever the reference names. From another kind than the one that is expected no Metal3 machine comes, \
          and nothing says so.",
    mend: "name the kind that fits",
    example: Example {
        wrong: "infrastructureRef: {kind: Metal3Machine, name: workers}",
        right: "infrastructureRef: {kind: Metal3MachineTemplate, name: workers}",
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    references::all(manifests)
        .iter()
        .filter_map(|reference| Some((reference.from.id, judge(reference)?)))
        .collect()
}

fn judge(reference: &Reference<'_>) -> Option<Draft> {
    let kind = reference.kind.text()?;
    let [fits, ..] = reference.kinds else { return None };
    if reference.kinds.contains(&kind) {
        return None;
    }
    let message = format!("{kind} does not fit here: {} is expected", reference.kinds.join(" or "));
    let draft = Draft::new(reference.kind.path(), message).help(format!("name a {fits}"));
    // Only the kind is known to be wrong if its name in another case is the one that fits.
    Some(if kind.eq_ignore_ascii_case(fits) { draft.fix(Fix::Replace((*fits).to_owned())) } else { draft })
}

//! A reference to an object that is not there.

use super::references::{self, Reference};
use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L010"),
    title: "a reference names an object that is not in the files",
    severity: Severity::Error,
    why: "Whoever reads the reference waits for the object: no machine is made, or it gets no data. Where the files have no object \
          of that kind at all, it may be in the cluster already, so it is a warning only.",
    mend: "correct the name, or give the file that has the object too",
    example: Example {
        wrong: "kind: MachineDeployment\nspec:\n  template:\n    spec:\n      infrastructureRef: {kind: Metal3MachineTemplate, name: m3mt-0}\n---\n\
                kind: Metal3MachineTemplate\nmetadata: {name: workers}",
        right: "kind: MachineDeployment\nspec:\n  template:\n    spec:\n      infrastructureRef: {kind: Metal3MachineTemplate, name: workers}\n---\n\
                kind: Metal3MachineTemplate\nmetadata: {name: workers}",
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    references::all(manifests)
        .iter()
        .filter_map(|reference| Some((reference.from.id, judge(manifests, reference)?)))
        .collect()
}

fn judge(manifests: &Manifests<'_>, reference: &Reference<'_>) -> Option<Draft> {
    let (kind, name) = (reference.named_kind()?, reference.name.text()?);
    if !reference.kinds.is_empty() && !reference.kinds.contains(&kind) {
        return None;
    }
    if manifests.find(kind, reference.namespace, name).is_some() {
        return None;
    }
    let others: Vec<&str> =
        manifests.of_namespace(kind, reference.namespace).map(|object| object.name.as_str()).collect();
    let draft = Draft::new(reference.name.path(), format!("{kind} {name} is not in the files"));
    Some(match others.as_slice() {
        [] => draft
            .warning()
            .help(format!("give the file that has {kind} {name} too, unless it is in the cluster already")),
        others => {
            let nearest = nearest(name, others);
            let count = others.len();
            let others = if count > 1 { format!("; there are {count} of them") } else { String::new() };
            draft.help(format!("name one that is there: the nearest is {nearest}{others}"))
        }
    })
}

/// The name that differs least, the first of several.
fn nearest<'a>(written: &str, names: &[&'a str]) -> &'a str {
    let distance = |name: &&&str| strsim::osa_distance(written, name);
    names.iter().min_by_key(distance).copied().unwrap_or_default()
}

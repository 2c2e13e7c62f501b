//! More machines than hosts.

use std::collections::BTreeMap;

use super::owners::{self, Owner};

use crate::{
    host::Selector,
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L020"),
    title: "there are fewer hosts than machines are asked for",
    severity: Severity::Error,
    why: "Each machine needs a host of its own that its template's hostSelector matches. Machines that \
          find none wait for ever. Where only the roll-out needs one more host, it cannot start, so it \
          is a warning.",
    mend: "add hosts, ask for fewer machines, or set maxSurge to 0",
    example: Example {
        wrong: r#"kind: MachineDeployment
spec:
  replicas: 3   # with two hosts in the files"#,
        right: r#"kind: MachineDeployment
spec:
  replicas: 2   # with three hosts in the files"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = Vec::new();
    let owners = owners::all(manifests);
    let mut of_selector: BTreeMap<(&str, String), Vec<&Owner<'_>>> = BTreeMap::new();
    for owner in &owners {
        let selector = owner.template.object.spec.template.spec.host_selector.as_ref();
        let key = (owner.object.namespace.as_str(), format!("{selector:?}"));
        of_selector.entry(key).or_default().push(owner);
    }
    for ((namespace, _), owners) in of_selector {
        drafts.extend(judge(manifests, namespace, &owners));
    }
    drafts
}

/// Owners of one namespace with one selector: they share the hosts that it matches.
fn judge(manifests: &Manifests<'_>, namespace: &str, owners: &[&Owner<'_>]) -> Option<(ObjectId, Draft)> {
    let (last, first) = (owners.last()?, owners.first()?);
    let selector = first.template.object.spec.template.spec.host_selector.as_ref();
    let selector = Selector::compile(selector).ok()?;
    // Where the files have no host they are elsewhere.
    manifests.hosts.of_namespace(namespace).next()?;
    let matching = manifests
        .hosts
        .of_namespace(namespace)
        .filter(|(_, host)| selector.mismatch(host.object.metadata.labels.as_ref()).is_none());
    let hosts = matching.count() as u64;
    // That none matches is another rule's.
    if hosts == 0 {
        return None;
    }
    let asked: u64 = owners.iter().map(|owner| owner.replicas).sum();
    let surge = owners.iter().map(|owner| owner.surge).max().unwrap_or(0);
    let who: Vec<String> =
        owners.iter().map(|owner| format!("{} {}", owner.object.kind, owner.object.name)).collect();
    let who = who.join(" and ");
    let draft = match hosts {
        _ if hosts < asked => {
            let match_ = if hosts == 1 { "1 host matches".to_owned() } else { format!("{hosts} hosts match") };
            Draft::new("spec.replicas", format!("{asked} machines are asked for by {who}, and {match_}"))
        }
        _ if hosts < asked + surge => Draft::new(
            "spec.replicas",
            format!(
                "hosts that match: {hosts}, machines of {who}: {asked}; a roll-out needs {surge} more and cannot start"
            ),
        )
        .warning()
        .help("add a host, or set maxSurge to 0"),
        _ => return None,
    };
    Some((last.object.id, draft))
}

//! A selector that no host meets.

use std::collections::BTreeSet;

use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3MachineTemplate};

use crate::{
    host::{Requirement, Selector},
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity, Subject},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L019"),
    title: "a hostSelector matches no host of the files",
    severity: Severity::Error,
    why: "A machine takes only a host whose labels meet the selector. If none does, it waits for ever.",
    mend: "correct the selector, or label hosts of the namespace",
    example: Example {
        wrong: r#"kind: Metal3MachineTemplate
spec:
  template:
    spec:
      hostSelector: {matchLabels: {role: worker}}
---
kind: BareMetalHost
metadata: {labels: {role: workers}}"#,
        right: r#"kind: Metal3MachineTemplate
spec:
  template:
    spec:
      hostSelector: {matchLabels: {role: worker}}
---
kind: BareMetalHost
metadata: {labels: {role: worker}}"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let templates = manifests.machine_templates.iter();
    templates
        .filter_map(|(namespace, _, template)| Some((template.id, judge(manifests, namespace, template)?)))
        .collect()
}

fn judge(
    manifests: &Manifests<'_>,
    namespace: &str,
    template: &Subject<Metal3MachineTemplate>,
) -> Option<Draft> {
    let selector = template.object.spec.template.spec.host_selector.as_ref()?;
    let compiled = Selector::compile(Some(selector)).ok()?;
    let hosts = || manifests.hosts.of_namespace(namespace);
    // Where the files have no host they are elsewhere.
    hosts().next()?;
    if hosts().any(|(_, host)| compiled.mismatch(host.object.metadata.labels.as_ref()).is_none()) {
        return None;
    }
    let count = hosts().count();
    let unmet: BTreeSet<&str> = hosts()
        .filter_map(|(_, host)| compiled.mismatch(host.object.metadata.labels.as_ref()))
        .map(Requirement::key)
        .collect();
    let values = values_of(hosts(), &unmet);
    let message = format!("none of the {count} hosts of namespace {namespace} matches");
    let help = match values.is_empty() {
        true => format!("label hosts with {}", unmet.into_iter().collect::<Vec<_>>().join(", ")),
        false => format!("the hosts have {}", values.into_iter().take(8).collect::<Vec<_>>().join(", ")),
    };
    Some(Draft::new("spec.template.spec.hostSelector", message).help(help))
}

/// What the hosts have for the labels that are asked for.
fn values_of<'a>(
    hosts: impl Iterator<Item = (&'a str, &'a Subject<BareMetalHost>)>,
    keys: &BTreeSet<&str>,
) -> BTreeSet<String> {
    let labels = hosts.flat_map(|(_, host)| host.object.metadata.labels.iter().flatten());
    labels
        .filter(|(key, _)| keys.contains(key.as_str()))
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

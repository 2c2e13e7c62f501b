//! A failure domain in which no host stands.

use std::collections::{BTreeMap, BTreeSet};

use super::owners::descend;

use crate::{
    host::domain_of,
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L028"),
    title: "no host stands in a failure domain that is asked for",
    severity: Severity::Warning,
    why: "A machine prefers hosts of its failure domain. Where there is none it takes a host of another \
          domain, or of none, so that machines are not spread as asked.",
    mend: "label hosts with infrastructure.cluster.x-k8s.io/failure-domain, or correct the name of the \
          domain",
    example: Example {
        wrong: r#"kind: Metal3Cluster
spec:
  failureDomains:
  - {name: rack-1, controlPlane: true}
---
kind: BareMetalHost
metadata: {labels: {infrastructure.cluster.x-k8s.io/failure-domain: rack1}}"#,
        right: r#"kind: Metal3Cluster
spec:
  failureDomains:
  - {name: rack1, controlPlane: true}
---
kind: BareMetalHost
metadata: {labels: {infrastructure.cluster.x-k8s.io/failure-domain: rack1}}"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut domains_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (namespace, _, host) in manifests.hosts.iter() {
        domains_of.entry(namespace).or_default().extend(domain_of(&host.object));
    }
    // Where the files have no host they are elsewhere.
    let known = |namespace: &str| domains_of.get(namespace);
    let mut drafts = Vec::new();
    for (namespace, _, cluster) in manifests.metal3_clusters.iter() {
        let Some(known) = known(namespace) else { continue };
        for (number, domain) in cluster.object.spec.failure_domains.iter().enumerate() {
            let place = format!("spec.failureDomains[{number}].name");
            drafts.extend(draft(place, &domain.name, known).map(|draft| (cluster.id, draft)));
        }
    }
    for (namespace, _, template) in manifests.machine_templates.iter() {
        let Some(known) = known(namespace) else { continue };
        for (number, row) in template.object.spec.failure_domain_data_templates.iter().enumerate() {
            let place = format!("spec.failureDomainDataTemplates[{number}].failureDomain");
            drafts.extend(draft(place, &row.failure_domain, known).map(|draft| (template.id, draft)));
        }
    }
    for object in manifests.of_kind("MachineDeployment") {
        let node = descend(&object.root(), &["spec", "template", "spec", "failureDomain"]);
        if let (Some(known), Some(domain)) = (known(&object.namespace), node.text()) {
            drafts.extend(draft(node.path().to_owned(), domain, known).map(|draft| (object.id, draft)));
        }
    }
    drafts
}

fn draft(place: String, domain: &str, known: &BTreeSet<&str>) -> Option<Draft> {
    if known.contains(domain) {
        return None;
    }
    let draft = Draft::new(place, format!("no host of the namespace stands in failure domain {domain}"));
    Some(match known.is_empty() {
        true => draft,
        false => {
            draft.help(format!("hosts stand in {}", known.iter().copied().collect::<Vec<_>>().join(", ")))
        }
    })
}

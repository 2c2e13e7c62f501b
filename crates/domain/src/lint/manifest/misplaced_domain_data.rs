//! A data template for a failure domain in the wrong place.

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L018"),
    title: "the data template of a failure domain is given where nobody reads it",
    severity: Severity::Error,
    why: "Which Metal3DataTemplate the machines of a failure domain get is in \
          spec.failureDomainDataTemplates of the Metal3MachineTemplate. An attribute of the failure \
          domain has no effect, and a Metal3DataTemplate has no network data per domain.",
    mend: "move it to spec.failureDomainDataTemplates of the Metal3MachineTemplate",
    example: Example {
        wrong: r#"kind: Metal3Cluster
spec:
  failureDomains:
  - {name: rack1, controlPlane: true, attributes: {dataTemplate: m3dt-rack1}}"#,
        right: r#"kind: Metal3MachineTemplate
spec:
  failureDomainDataTemplates:
  - {failureDomain: rack1, dataTemplate: {name: m3dt-rack1}}"#,
    },
    check: Check::Manifests(check),
};

/// Members that people use for data of failure domains, in small letters.
const WORDS: [&str; 5] = [
    "failuredomains",
    "failuredomainnetworkdata",
    "failuredomaindatatemplates",
    "networkdataperfailuredomain",
    "networkdatabyfailuredomain",
];

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let clusters = manifests.of_kind("Metal3Cluster").map(|it| (it.id, of_cluster(&it.root())));
    let templates = manifests.of_kind("Metal3DataTemplate").map(|it| (it.id, of_template(&it.root())));
    clusters.chain(templates).flat_map(|(id, drafts)| drafts.into_iter().map(move |it| (id, it))).collect()
}

fn of_cluster(cluster: &Node<'_>) -> Vec<Draft> {
    let domains = domains(&cluster.at("spec").at("failureDomains"));
    let places =
        domains.iter().flat_map(|it| [it.at("dataTemplate"), it.at("attributes").at("dataTemplate")]);
    let message = "a failure domain has no data template: it has no effect here";
    places.filter(|it| it.value().is_some()).map(|it| Draft::new(it.path(), message)).collect()
}

fn of_template(template: &Node<'_>) -> Vec<Draft> {
    let spec = template.at("spec");
    let members = spec.members().chain(spec.at("networkData").members());
    let misplaced = members.filter(|(key, _)| WORDS.contains(&key.to_lowercase().as_str()));
    let draft = |(key, node): (&str, Node<'_>)| {
        let message =
            format!("a Metal3DataTemplate has one network data for all failure domains: {key} is not read");
        Draft::new(node.path(), message).help(
            "write one Metal3DataTemplate for each failure domain, and name them in spec.failureDomainDataTemplates \
             of the Metal3MachineTemplate",
        )
    };
    misplaced.map(draft).collect()
}

/// Failure domains are a list or, in older versions, a map.
fn domains<'a>(node: &Node<'a>) -> Vec<Node<'a>> {
    node.items().chain(node.members().map(|(_, member)| member)).collect()
}

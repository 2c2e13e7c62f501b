//! Two Nodes have one provider ID.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{metadata::MetadataExt, neighbours::Node, vocabulary::PROVIDER_ID_PREFIX};

use super::{Finding, Repair, Rule, Severity, Step, View};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C010",
    severity: Severity::Error,
    title: "two Nodes with one provider ID",
    why: "A host that came up again under another name left its first Node behind. Cluster API and remediation act on \
          whichever of them they find.",
    repair: "Delete the Node that is not ready.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let mut by_id: BTreeMap<&str, Vec<&Arc<Node>>> = BTreeMap::new();
    for node in view.nodes() {
        let id = node.spec.provider_id.as_deref().filter(|id| id.starts_with(PROVIDER_ID_PREFIX));
        if let Some(id) = id {
            by_id.entry(id).or_default().push(node);
        }
    }
    by_id.into_iter().filter_map(|(id, nodes)| report(id, &nodes)).collect()
}

fn report(id: &str, nodes: &[&Arc<Node>]) -> Option<Finding> {
    let (first, others) = nodes.split_first()?;
    let last = others.last()?;
    let message = format!("has provider ID {id}, as Node {} has", first.metadata.name_str());
    let finding = nodes.iter().fold(Finding::on(last.as_ref(), message), |finding, node| {
        finding.fact(node.as_ref(), "spec.providerID", id)
    });
    let ways: Vec<Step> = nodes.iter().rev().map(|node| Step::delete(node.as_ref())).collect();
    Some(finding.repair(Repair::person("delete the Node that is not ready", ways)))
}

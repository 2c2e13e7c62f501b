//! A free host carries the label of a Cluster that does not exist.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Cluster},
    vocabulary::label,
};
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View, beside, is_in_use};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C013",
    severity: Severity::Warning,
    title: "free host labelled with a Cluster that does not exist",
    why: "The label came with a machine and was not removed with it. `clusterctl move` and selectors go by it.",
    repair: "The label is removed.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let labelled = |host: &BareMetalHost| {
        let name = host.metadata.label(label::CLUSTER_NAME)?;
        let cluster = beside(&host.metadata, name);
        if is_in_use(host) || !view.is_gone::<Cluster>(&cluster) {
            return None;
        }
        let patch = json!({"metadata": {"labels": {label::CLUSTER_NAME: null}}});
        let finding =
            Finding::on(host, format!("is free and labelled with Cluster {cluster}, which does not exist"))
                .fact(host, &format!("metadata.labels[{}]", label::CLUSTER_NAME), name)
                .absent::<Cluster>(&cluster);
        Some(finding.repair(Repair::fix("remove the label", [Step::patch(host, patch)])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| labelled(host)).collect()
}

//! A free host holds up a move.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::annotation};

use super::{Finding, Repair, Rule, Severity, Step, View, is_in_use};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C014",
    severity: Severity::Warning,
    title: "free host that blocks a move",
    why: "The Go provider leaves annotation clusterctl.cluster.x-k8s.io/block-move on hosts that it released. `clusterctl \
          move` waits for its removal and gives up.",
    repair: "The annotation is removed.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let blocks = |host: &BareMetalHost| {
        let value = host.metadata.annotation(annotation::BLOCK_MOVE).filter(|_| !is_in_use(host))?;
        let finding = Finding::on(host, "is free and blocks `clusterctl move`")
            .fact(host, &format!("metadata.annotations[{}]", annotation::BLOCK_MOVE), format!("{value:?}"))
            .fact(host, "spec.consumerRef", "not set");
        let step = Step::unannotate(host, annotation::BLOCK_MOVE);
        Some(finding.repair(Repair::fix("remove the annotation", [step])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| blocks(host)).collect()
}

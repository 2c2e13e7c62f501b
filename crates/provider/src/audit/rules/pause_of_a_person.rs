//! A host is paused by somebody, and its Cluster is not.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::annotation};

use super::{Finding, Repair, Rule, Severity, Step, View};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C017",
    severity: Severity::Info,
    title: "host paused by somebody",
    why: "A paused host is neither provisioned nor cleaned, and a machine that has it waits. The annotation does not tell \
          since when or why, so it is easily forgotten.",
    repair: "Remove the pause if whoever set it agrees.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let paused = |host: &BareMetalHost| {
        let value = host.metadata.annotation(annotation::HOST_PAUSED)?;
        if value == annotation::HOST_PAUSED_BY_US || view.is_cluster_paused(&host.metadata) {
            return None;
        }
        let finding = Finding::on(host, "is paused by somebody").fact(
            host,
            &format!("metadata.annotations[{}]", annotation::HOST_PAUSED),
            format!("{value:?}"),
        );
        let step = Step::unannotate(host, annotation::HOST_PAUSED);
        Some(finding.repair(Repair::person("end the pause, if whoever paused the host agrees", [step])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| paused(host)).collect()
}

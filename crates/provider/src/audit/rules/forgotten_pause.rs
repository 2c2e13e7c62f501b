//! A host carries the provider's pause though its Cluster is not paused.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::annotation};

use super::{Finding, Repair, Rule, Severity, Step, View, is_in_use};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C016",
    severity: Severity::Error,
    title: "host left paused by the provider",
    why: "The provider pauses hosts while their Cluster is paused. A pause that outlives that, after a move that was broken \
          off, keeps the host operator from doing anything with the host.",
    repair: "The pause of a free host is removed. For a host in use the command is printed.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let forgotten = |host: &BareMetalHost| {
        let value = host.metadata.annotation(annotation::HOST_PAUSED)?;
        if value != annotation::HOST_PAUSED_BY_US || view.is_cluster_paused(&host.metadata) {
            return None;
        }
        let finding = Finding::on(host, "is paused by the provider, and its Cluster is not paused").fact(
            host,
            &format!("metadata.annotations[{}]", annotation::HOST_PAUSED),
            value,
        );
        Some(finding.repair(unpause(host)))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| forgotten(host)).collect()
}

fn unpause(host: &BareMetalHost) -> Repair {
    let step = Step::unannotate(host, annotation::HOST_PAUSED);
    match is_in_use(host) {
        true => Repair::command("end the pause if no move is under way", [step]),
        false => Repair::fix("end the pause", [step]),
    }
}

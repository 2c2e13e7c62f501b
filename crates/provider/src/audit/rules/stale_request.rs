//! A request to release a host that cannot be carried out.

use capm3_api::{
    metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine, vocabulary::annotation,
};

use super::{Finding, Repair, Rule, Severity, Step, View, is_in_use};
use crate::baremetalhost::consumer_machine;

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C021",
    severity: Severity::Warning,
    title: "request to release a host that nobody carries out",
    why: "Annotation capm3.metal3.io/release names a machine that does not consume the host, or one that exists. While no \
          manager runs the request stays, and it would surprise whoever starts one.",
    repair: "The request on a free host is removed. For a host in use the command is printed.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let stale = |host: &BareMetalHost| {
        let wanted = host.metadata.annotation(annotation::RELEASE_HOST)?;
        let consumer = consumer_machine(host);
        let is_meant = consumer.as_ref().is_some_and(|machine| machine.to_string() == wanted);
        if is_meant && consumer.as_ref().is_none_or(|machine| view.get::<Metal3Machine>(machine).is_none()) {
            return None;
        }
        let consumer = consumer.map_or("nobody".to_owned(), |machine| format!("Metal3Machine {machine}"));
        let message = format!("is to be released from Metal3Machine {wanted}, and is consumed by {consumer}");
        let finding = Finding::on(host, message)
            .fact(host, &format!("metadata.annotations[{}]", annotation::RELEASE_HOST), wanted)
            .fact(host, "spec.consumerRef", &consumer);
        let step = Step::unannotate(host, annotation::RELEASE_HOST);
        Some(finding.repair(match is_in_use(host) {
            true => Repair::command("withdraw the request", [step]),
            false => Repair::fix("withdraw the request", [step]),
        }))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| stale(host)).collect()
}

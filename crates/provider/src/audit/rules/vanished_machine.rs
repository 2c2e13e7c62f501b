//! A host is consumed by a machine that does not exist.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_engine::ObjectKey;

use super::{Finding, Repair, Rule, Severity, Step, View};
use crate::{
    baremetalhost::{consumer_machine, known_to_another},
    indexes::HOSTS_BY_CONSUMER,
};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C001",
    severity: Severity::Error,
    title: "host consumed by a machine that does not exist",
    why: "The Metal3Machine went without giving the host back: its finalizer was removed by hand, or a restore left it \
          out. No machine can take the host, and a node may still run on it.",
    repair: "If the machine is gone for good, `capm3 release host/NAME` releases the host; what is on its disk is lost. \
           After a restore, bring the Metal3Machine back instead.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let orphan = |host: &BareMetalHost| {
        let machine = consumer_machine(host).filter(|machine| view.is_gone::<Metal3Machine>(machine))?;
        if known_to_another(view.reader(), host).is_some() {
            return None;
        }
        let release =
            format!("capm3 release host/{} -n {}", host.metadata.name_str(), host.metadata.namespace_str());
        let text = "if the machine is gone for good, release the host: what is on its disk is lost";
        let finding =
            Finding::on(host, format!("is consumed by Metal3Machine {machine}, which does not exist"))
                .fact(host, "spec.consumerRef", format!("Metal3Machine {machine}"))
                .absent::<Metal3Machine>(&machine);
        Some(finding.repair(Repair::command(text, [Step::Run(release)])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| orphan(host)).collect()
}

/// Whether a host names a machine, so that what belongs to the machine is released with the host.
pub(super) fn holds(view: &View<'_>, machine: &ObjectKey) -> bool {
    !view.by_index(&HOSTS_BY_CONSUMER, &machine.to_string()).is_empty()
}

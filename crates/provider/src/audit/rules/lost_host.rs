//! A machine records a host that does not exist.

use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3Machine, vocabulary::annotation};
use capm3_domain::host::annotated_host;

use super::{Finding, Repair, Rule, Severity, View, beside, delete_machine, owner_name};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C004",
    severity: Severity::Error,
    title: "machine recorded a host that does not exist",
    why: "The host was deleted or renamed under its machine, or a restore left it out. The machine is never ready again \
          and never takes another host.",
    repair: "Bring the host back under its name, or delete the Machine, so that its owner makes another one.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let lost = |machine: &Metal3Machine| {
        let host = beside(&machine.metadata, annotated_host(machine).ok().flatten()?);
        // A provider ID tells better which host it is, and has a rule of its own.
        if machine.spec.provider_id.is_some() || !view.is_gone::<BareMetalHost>(&host) {
            return None;
        }
        let text = "bring the host back, or delete the Machine so that another one is made";
        let finding = Finding::on(machine, format!("recorded BareMetalHost {host}, which does not exist"))
            .fact(machine, &format!("metadata.annotations[{}]", annotation::HOST), &host)
            .absent::<BareMetalHost>(&host);
        Some(finding.repair(Repair::person(text, [delete_machine(owner_name(machine), machine)])))
    };
    view.not_deleting::<Metal3Machine>().iter().filter_map(|machine| lost(machine)).collect()
}

//! A host is owned by a machine.

use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::release::owners_without_machines;
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View, is_in_use};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C022",
    severity: Severity::Error,
    title: "host owned by a machine",
    why: "Releases of the Go provider up to 1.13 made the machine an owner of its host. When the machine is deleted, the \
          garbage collector deletes the host with it.",
    repair: "The owner reference on a free host is removed. For a host in use the command is printed.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let owned = |host: &BareMetalHost| {
        let kept = owners_without_machines(host)?;
        let owners = host.metadata.owner_references.iter().flatten();
        let owner = owners.into_iter().find(|owner| owner.kind == Metal3Machine::API.kind)?;
        let finding = Finding::on(host, format!("is owned by Metal3Machine {}", owner.name)).fact(
            host,
            "metadata.ownerReferences",
            format!("Metal3Machine {}", owner.name),
        );
        let step = Step::patch(host, json!({"metadata": {"ownerReferences": kept}}));
        Some(finding.repair(match is_in_use(host) {
            true => Repair::command("remove the owner reference", [step]),
            false => Repair::fix("remove the owner reference", [step]),
        }))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| owned(host)).collect()
}

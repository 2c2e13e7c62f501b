//! Machine and Metal3Machine have different provider IDs.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, Machine},
    v1beta2::Metal3Machine,
};

use super::{Finding, Repair, Rule, Severity, View, beside, delete_machine, owner_name};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C008",
    severity: Severity::Error,
    title: "Machine and Metal3Machine with different provider IDs",
    why: "Cluster API copies the ID once and looks for the Node by it. With another ID than the Metal3Machine's it waits \
          for a Node that never comes, or takes that of another machine.",
    repair: "Delete the Machine, so that its owner makes another one.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let differs = |machine: &Metal3Machine| {
        let own = machine.spec.provider_id.as_deref()?;
        let owner = beside(&machine.metadata, &machine.metadata.owner(CAPI_GROUP, "Machine")?.name);
        let owner = view.get::<Machine>(&owner)?;
        let copied =
            owner.spec.provider_id.as_deref().filter(|copied| !copied.is_empty() && *copied != own)?;
        let finding = Finding::on(machine, format!("has provider ID {own}, and its Machine has {copied}"))
            .fact(machine, "spec.providerID", own)
            .fact(owner.as_ref(), "spec.providerID", copied);
        let text = "delete the Machine so that another one is made";
        Some(finding.repair(Repair::person(text, [delete_machine(owner_name(machine), machine)])))
    };
    view.not_deleting::<Metal3Machine>().iter().filter_map(|machine| differs(machine)).collect()
}

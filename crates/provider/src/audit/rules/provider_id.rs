//! A provider ID fits no host.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::{host::annotated_host, provider_id::SomeProviderId};
use capm3_engine::ObjectKey;

use super::{Finding, Repair, Rule, Severity, View, delete_machine, owner_name};
use crate::indexes::HOSTS_BY_UID;

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C007",
    severity: Severity::Error,
    title: "provider ID that fits no host",
    why: "spec.providerID is settled with the Node and never changed. One that names a host which does not exist, another \
          machine, or another host than the record leaves the machine without its host.",
    repair: "Bring the host back under the name in the ID, or delete the Machine, so that its owner makes another one.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    view.not_deleting::<Metal3Machine>().iter().filter_map(|machine| misfit(view, machine)).collect()
}

fn misfit(view: &View<'_>, machine: &Metal3Machine) -> Option<Finding> {
    let metadata = &machine.metadata;
    let text = machine.spec.provider_id.as_deref()?;
    let report = |message: String| Finding::on(machine, message).fact(machine, "spec.providerID", text);
    let finding = match text.parse().ok()? {
        SomeProviderId::Foreign(_) => return None,
        SomeProviderId::Legacy { host_uid } => {
            let is_gone =
                view.knows_all::<BareMetalHost>() && view.by_index(&HOSTS_BY_UID, &host_uid).is_empty();
            is_gone.then(|| report(format!("has provider ID {text}, and no BareMetalHost has that uid")))?
        }
        SomeProviderId::Current(id) => {
            let host = ObjectKey::new(id.namespace(), id.host());
            let is_own = (id.namespace(), id.machine()) == (metadata.namespace_str(), metadata.name_str());
            let recorded = annotated_host(machine).ok().flatten().filter(|name| *name != id.host());
            if !is_own {
                report(format!("has provider ID {text}, which is of another machine"))
            } else if view.is_gone::<BareMetalHost>(&host) {
                report(format!("has provider ID {text}, and BareMetalHost {host} does not exist"))
                    .absent::<BareMetalHost>(&host)
            } else {
                let recorded = recorded?;
                report(format!("has provider ID {text} and recorded BareMetalHost {recorded}")).fact(
                    machine,
                    "metadata.annotations[metal3.io/BareMetalHost]",
                    recorded,
                )
            }
        }
    };
    let text = "bring back the host that the ID names, or delete the Machine so that another one is made";
    Some(finding.repair(Repair::person(text, [delete_machine(owner_name(machine), machine)])))
}

//! A host names a machine that does not know it.

use capm3_api::{
    metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine, vocabulary::annotation,
};
use capm3_domain::host::{Bond, bond};
use capm3_engine::Object;
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View, delete_machine, owner_name};
use crate::{baremetalhost::consumer_machine, indexes::HOSTS_BY_CONSUMER};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C003",
    severity: Severity::Error,
    title: "host consumed by a machine that does not know it",
    why: "The machine has no record of the host: annotation metal3.io/BareMetalHost was removed, names another host, or \
          the provider ID does. The controller does not guess whether to keep or to wipe the host.",
    repair: "To keep what runs on the host, record it on the machine. To release it, delete the Machine.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let unknown = |host: &BareMetalHost| {
        let key = consumer_machine(host)?;
        let machine = view.get::<Metal3Machine>(&key).filter(|machine| !machine.metadata.is_deleting())?;
        let is_only = view.by_index(&HOSTS_BY_CONSUMER, &key.to_string()).len() == 1;
        (is_only && bond(&machine, host) == Bond::None).then(|| report(&machine, host))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| unknown(host)).collect()
}

fn report(machine: &Metal3Machine, host: &BareMetalHost) -> Finding {
    let name = machine.key();
    let record = machine.metadata.annotation(annotation::HOST).unwrap_or("not set");
    let keep = json!({"metadata": {"annotations": {annotation::HOST: host.key().to_string()}}});
    let text = "record the host on the machine to keep what runs on it, or delete its Machine to release it";
    Finding::on(host, format!("is consumed by Metal3Machine {name}, which does not know it"))
        .fact(host, "spec.consumerRef", format!("Metal3Machine {name}"))
        .fact(machine, &format!("metadata.annotations[{}]", annotation::HOST), record)
        .fact(machine, "spec.providerID", machine.spec.provider_id.as_deref().unwrap_or("not set"))
        .repair(Repair::person(
            text,
            [Step::patch(machine, keep), delete_machine(owner_name(machine), machine)],
        ))
}

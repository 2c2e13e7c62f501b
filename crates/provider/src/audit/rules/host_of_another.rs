//! The host that a machine knows is not consumed by it.

use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::host::{Bond, Consumer, Ownership, bond, known_host, ownership};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};
use crate::{baremetalhost::consumer_machine, indexes::HOSTS_BY_CONSUMER};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C005",
    severity: Severity::Error,
    title: "host of a machine consumed by nobody or by somebody else",
    why: "spec.consumerRef of the host was removed or changed by hand, or two machines took the host. A host without \
          consumer may be taken and wiped; the controllers defend it only while they run.",
    repair: "A person finds out who runs on the host. `capm3 explain` shows what the controllers make of both.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let robbed = |machine: &Metal3Machine| {
        let host =
            view.get::<BareMetalHost>(&beside(&machine.metadata, &known_host(machine).ok().flatten()?))?;
        let consumer = match ownership(machine, &host) {
            Ownership::Ours => return None,
            Ownership::Nobody => "nobody".to_owned(),
            Ownership::Other(Consumer { kind, namespace, name }) => format!("{kind} {namespace}/{name}"),
        };
        // If the consumer knows the host too, two machines name it, which has a rule of its own.
        let is_disputed = known_to_its_consumer(view, &host);
        if is_disputed || !view.by_index(&HOSTS_BY_CONSUMER, &machine.key().to_string()).is_empty() {
            return None;
        }
        let message =
            format!("knows BareMetalHost {} as its host, which is consumed by {consumer}", host.key());
        let finding = Finding::on(machine, message)
            .fact(machine, "spec.providerID", machine.spec.provider_id.as_deref().unwrap_or("not set"))
            .fact(host.as_ref(), "spec.consumerRef", &consumer);
        let steps = [Step::explain("metal3machine", &machine.key()), Step::explain("host", &host.key())];
        Some(finding.repair(Repair::person("find out who runs on the host", steps)))
    };
    view.not_deleting::<Metal3Machine>().iter().filter_map(|machine| robbed(machine)).collect()
}

fn known_to_its_consumer(view: &View<'_>, host: &BareMetalHost) -> bool {
    let consumer = consumer_machine(host).and_then(|key| view.get::<Metal3Machine>(&key));
    consumer.is_some_and(|consumer| bond(&consumer, host) > Bond::Recorded)
}

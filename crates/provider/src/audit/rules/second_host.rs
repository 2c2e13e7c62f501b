//! Two hosts name one machine.

use std::sync::Arc;

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::{
    host::{holdings, known_host, rightful_other},
    release::release_patch,
};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};
use crate::indexes::{HOSTS_BY_CONSUMER, MACHINES_BY_HOST};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C002",
    severity: Severity::Error,
    title: "two hosts consumed by one machine",
    why: "A machine has one host. The other one is lost for everybody, and if it runs it has the same identity as the \
          first. A claim that was made twice, or a hand that edited spec.consumerRef, leaves it so.",
    repair: "A host without image is given back if the machine's provider ID or record names the other one, which exists. \
           Otherwise a person decides which of them the machine uses.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let machines = view.not_deleting::<Metal3Machine>();
    machines.iter().flat_map(|machine| others(view, machine)).collect()
}

fn others(view: &View<'_>, machine: &Metal3Machine) -> Vec<Finding> {
    let consumed = view.by_index(&HOSTS_BY_CONSUMER, &machine.key().to_string());
    if consumed.len() < 2 {
        return Vec::new();
    }
    let known = known_host(machine).ok().flatten();
    let known = known.and_then(|name| view.get::<BareMetalHost>(&beside(&machine.metadata, &name)));
    let of_another = |host: &BareMetalHost| {
        let machines = view.by_index(&MACHINES_BY_HOST, &host.key().to_string());
        let other = rightful_other(machine, host, machines.iter().map(AsRef::as_ref));
        other.map(|other| other.metadata.name_str().to_owned())
    };
    let sorted = holdings(machine, consumed, known, of_another);
    let first = sorted.host.as_deref();
    let surplus = sorted.surplus.iter().map(|host| {
        let patch = release_patch(machine, host, None, None);
        let text = "give the host back: it has no image, and the machine is known to have the other host";
        report(machine, host, first).repair(Repair::fix(text, [Step::patch(host.as_ref(), patch)]))
    });
    let held = sorted.held.iter().map(|host: &Arc<BareMetalHost>| {
        let text = "find out which host the machine uses; to end both, delete the Machine";
        let steps = [Step::explain("host", &host.key()), Step::explain("metal3machine", &machine.key())];
        report(machine, host, first).repair(Repair::person(text, steps))
    });
    surplus.chain(held).collect()
}

fn report(machine: &Metal3Machine, host: &BareMetalHost, first: Option<&BareMetalHost>) -> Finding {
    let name = machine.key();
    let finding = Finding::on(host, format!("is consumed by Metal3Machine {name}, as another host is"))
        .fact(host, "spec.consumerRef", format!("Metal3Machine {name}"))
        .there(machine);
    match first {
        Some(first) => finding.fact(first, "spec.consumerRef", format!("Metal3Machine {name}")),
        None => finding,
    }
}

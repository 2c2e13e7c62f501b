//! Two machines name one host.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::v1beta2::Metal3Machine;
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, View, delete_machine, owner_name};
use crate::indexes::MACHINES_BY_HOST;

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C006",
    severity: Severity::Error,
    title: "one host recorded by two machines",
    why: "Two machines name the host in annotation metal3.io/BareMetalHost or in spec.providerID. Only one of them can run \
          on it; the other one is lost.",
    repair: "The host names its rightful machine in spec.consumerRef. Delete the Machine of the other one.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let mut by_host: BTreeMap<String, Vec<Arc<Metal3Machine>>> = BTreeMap::new();
    for machine in view.not_deleting::<Metal3Machine>() {
        for host in (MACHINES_BY_HOST.values)(&machine) {
            by_host.entry(host).or_default().push(Arc::clone(&machine));
        }
    }
    by_host.iter().flat_map(|(host, machines)| report(host, machines)).collect()
}

fn report(host: &str, machines: &[Arc<Metal3Machine>]) -> Option<Finding> {
    let (first, others) = machines.split_first()?;
    let last = others.last()?;
    let mut finding = Finding::on(
        last.as_ref(),
        format!("names BareMetalHost {host}, as Metal3Machine {} does", first.key()),
    );
    for machine in machines {
        finding = finding.fact(machine.as_ref(), "metadata.annotations[metal3.io/BareMetalHost]", host);
    }
    let ways = machines.iter().map(|machine| delete_machine(owner_name(machine), machine));
    let text =
        "delete the Machine that does not run on the host: spec.consumerRef of the host names the other one";
    Some(finding.repair(Repair::person(text, ways.collect::<Vec<_>>())))
}

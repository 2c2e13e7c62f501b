//! Two hosts have one boot MAC address.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::neighbours::BareMetalHost;
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C024",
    severity: Severity::Error,
    title: "two hosts with one boot MAC address",
    why: "Both objects stand for the same computer. The host operator drives it for both, so that one machine wipes the \
          other one's node.",
    repair: "Correct spec.bootMACAddress, or delete the host that stands for nothing.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let mut by_mac: BTreeMap<String, Vec<Arc<BareMetalHost>>> = BTreeMap::new();
    for host in view.not_deleting::<BareMetalHost>() {
        let mac = host.spec.boot_mac_address.as_deref().filter(|mac| !mac.is_empty()).map(str::to_lowercase);
        if let Some(mac) = mac {
            by_mac.entry(mac).or_default().push(host);
        }
    }
    by_mac.iter().filter_map(|(mac, hosts)| report(mac, hosts)).collect()
}

fn report(mac: &str, hosts: &[Arc<BareMetalHost>]) -> Option<Finding> {
    let (first, others) = hosts.split_first()?;
    let last = others.last()?;
    let finding = Finding::on(
        last.as_ref(),
        format!("has boot MAC address {mac}, as BareMetalHost {} has", first.key()),
    );
    let finding =
        hosts.iter().fold(finding, |finding, host| finding.fact(host.as_ref(), "spec.bootMACAddress", mac));
    let ways: Vec<Step> = hosts.iter().map(|host| Step::explain("host", &host.key())).collect();
    Some(finding.repair(Repair::person(
        "correct the address of one of them, or delete the host that stands for nothing",
        ways,
    )))
}

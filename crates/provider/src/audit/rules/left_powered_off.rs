//! A remediation that does not exist keeps a host powered off.

use capm3_api::{
    metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Remediation, vocabulary::annotation,
};

use super::{Finding, Repair, Rule, Severity, Step, View, is_in_use};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C020",
    severity: Severity::Error,
    title: "host kept powered off by a remediation that does not exist",
    why: "The host operator keeps a host off as long as an annotation reboot.metal3.io/metal3-remediation-UID is on it. If \
          the Metal3Remediation was removed without its finalizer, nobody takes the annotation off.",
    repair: "The annotation of a free host is removed. For a host in use the command is printed: its node then boots.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    if !view.knows_all::<Metal3Remediation>() {
        return Vec::new();
    }
    let known: Vec<_> = view.all::<Metal3Remediation>();
    let is_known = |key: &str| {
        let uid = key.strip_prefix(annotation::POWER_OFF_PREFIX);
        uid.is_none_or(|uid| known.iter().any(|remediation| remediation.metadata.uid_str() == uid))
    };
    let off = |host: &BareMetalHost| {
        let key =
            host.metadata.annotations.iter().flat_map(|all| all.keys()).find(|key| !is_known(key))?.clone();
        let finding = Finding::on(host, "is kept powered off by a Metal3Remediation that does not exist")
            .fact(host, &format!("metadata.annotations[{key}]"), "set");
        let step = Step::unannotate(host, &key);
        Some(finding.repair(match is_in_use(host) {
            true => Repair::command("remove the annotation: the host is powered on", [step]),
            false => Repair::fix("remove the annotation", [step]),
        }))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| off(host)).collect()
}

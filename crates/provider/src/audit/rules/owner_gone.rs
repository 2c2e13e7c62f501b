//! An owner of an object does not exist.

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    metadata::MetadataExt,
    neighbours::Machine,
    v1beta2::{
        Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine, Metal3MachineTemplate,
    },
};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, View};
use crate::audit::{Fact, view::owner_subject};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C065",
    severity: Severity::Warning,
    title: "object with an owner that does not exist",
    why: "An owner reference has a uid that no object has. The garbage collector deletes the object if that is its only owner. \
          A restore that brings objects with new uids leads to it.",
    repair: "Restore with a tool that maps owner references, such as `clusterctl move`, or correct the uid.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    [
        orphans::<Machine>(view),
        orphans::<Metal3Cluster>(view),
        orphans::<Metal3MachineTemplate>(view),
        orphans::<Metal3Machine>(view),
        orphans::<Metal3DataTemplate>(view),
        orphans::<Metal3DataClaim>(view),
        orphans::<Metal3Data>(view),
        orphans::<IpPool>(view),
        orphans::<IpClaim>(view),
        orphans::<IpAddress>(view),
    ]
    .concat()
}

/// Owners that another rule knows more about.
const OF_OTHER_RULES: [(&str, &str); 6] = [
    ("Metal3Machine", "Machine"),
    ("Metal3DataClaim", "Metal3Machine"),
    ("Metal3Data", "Metal3DataClaim"),
    ("Metal3Data", "Metal3Machine"),
    ("IPClaim", "Metal3Data"),
    ("IPAddress", "IPClaim"),
];

fn orphans<K: Object>(view: &View<'_>) -> Vec<Finding> {
    view.not_deleting::<K>().iter().filter_map(|object| orphan(view, object.as_ref())).collect()
}

fn orphan<K: Object>(view: &View<'_>, object: &K) -> Option<Finding> {
    let kind = K::kind(&());
    let owners = object.meta().owner_references.iter().flatten();
    let owner = owners.into_iter().find(|owner| view.is_any_uid_gone(owner))?;
    let subject = owner_subject(object.meta(), owner);
    if view.is_without_uid(&subject) {
        // In files that people write, nothing has a uid.
        return None;
    }
    let is_known = OF_OTHER_RULES.contains(&(kind.as_ref(), &owner.kind));
    if is_known && !view.exists(&subject) {
        return None;
    }
    let message = format!("is owned by {subject} with uid {}, which no object has", owner.uid);
    let mut finding = Finding::on(object, message).fact(object, "metadata.ownerReferences.uid", &owner.uid);
    if !view.exists(&subject) {
        finding.evidence.push(Fact { object: subject, field: None, value: None });
    }
    let text =
        format!("correct the owner reference of {} {}, or delete the object", kind, object.meta().name_str());
    Some(finding.repair(Repair::person(text, [])))
}

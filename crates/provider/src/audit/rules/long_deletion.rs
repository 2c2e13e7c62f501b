//! An object is being deleted for long.

use capm3_api::{
    ipam::{IpAddress, IpClaim, IpPool},
    neighbours::Machine,
    v1beta2::{
        Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine, Metal3Remediation,
    },
};
use capm3_engine::Object;
use jiff::SignedDuration;

use super::{Finding, Repair, Rule, Severity, Step, View};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C062",
    severity: Severity::Warning,
    title: "object that is being deleted for hours",
    why: "Somebody deleted the object more than three hours ago, and a finalizer holds it. Cleaning a host rarely takes \
          longer than one; so what should end the deletion does not run, waits, or is gone.",
    repair: "`capm3 explain` shows what a machine waits for. Do not remove finalizers by hand: hosts and addresses leak.",
    find,
};

/// Longer than a host is cleaned.
const LONG: SignedDuration = SignedDuration::from_hours(3);

fn find(view: &View<'_>) -> Vec<Finding> {
    [
        long::<Machine>(view),
        long::<Metal3Cluster>(view),
        long::<Metal3Machine>(view),
        long::<Metal3DataTemplate>(view),
        long::<Metal3DataClaim>(view),
        long::<Metal3Data>(view),
        long::<Metal3Remediation>(view),
        long::<IpPool>(view),
        long::<IpClaim>(view),
        long::<IpAddress>(view),
    ]
    .concat()
}

fn long<K: Object>(view: &View<'_>) -> Vec<Finding> {
    let all = view.all::<K>();
    let report = |object: &K| {
        let since = object.meta().deletion_timestamp.as_ref()?.0;
        if view.now.duration_since(since) < LONG {
            return None;
        }
        let finalizers = object.meta().finalizers.clone().unwrap_or_default().join(", ");
        let finding = Finding::on(object, format!("is being deleted since {since}"))
            .fact(object, "metadata.deletionTimestamp", since)
            .fact(object, "metadata.finalizers", finalizers);
        let step = match object.meta().owner_references.is_some() && K::kind(&()) == Metal3Machine::API.kind {
            true => vec![Step::explain("metal3machine", &object.key())],
            false => Vec::new(),
        };
        Some(finding.repair(Repair::person("find out what holds it; check that the manager runs", step)))
    };
    all.iter().filter_map(|object| report(object)).collect()
}

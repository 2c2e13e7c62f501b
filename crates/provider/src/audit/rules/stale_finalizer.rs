//! A deleted object is held by a finalizer whose holder does not exist.

use capm3_api::{
    ipam::{IpAddress, IpClaim},
    metadata::MetadataExt,
    neighbours::IpAddressClaim,
    v1beta2::{GROUP, Metal3Data, Metal3DataClaim, Metal3Machine},
    vocabulary::{finalizer, label},
};
use capm3_engine::{Object, ObjectKey};
use serde_json::json;

use super::{Finding, Repair, Rule, Severity, Step, View, beside, vanished_machine};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C061",
    severity: Severity::Error,
    title: "deleted object held by a finalizer whose holder does not exist",
    why: "The provider puts a finalizer on claims, data and addresses while a machine or data needs them. If the holder went \
          without taking it off, as the Go provider lets it happen, the object is being deleted for ever and keeps its index \
          or address.",
    repair: "That one finalizer is removed.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let claims = held::<Metal3DataClaim>(view, finalizer::MACHINE, |claim| {
        let machine = holder::<Metal3Machine, _>(claim, GROUP).unwrap_or_else(|| claim.key());
        // A host that waits for its release keeps its claim.
        let is_held = vanished_machine::holds(view, &machine);
        (!is_held && view.is_gone::<Metal3Machine>(&machine)).then_some(Absent::Machine(machine))
    });
    let datas = held::<Metal3Data>(view, finalizer::DATA_CLAIM, |data| {
        let claim = beside(&data.metadata, data.spec.claim.as_ref()?.name_str());
        view.is_gone::<Metal3DataClaim>(&claim).then_some(Absent::Claim(claim))
    });
    let ip_claims = held::<IpClaim>(view, finalizer::DATA, |claim| data_of(view, claim));
    let capi_claims = held::<IpAddressClaim>(view, finalizer::DATA, |claim| data_of(view, claim));
    let addresses = held::<IpAddress>(view, finalizer::IP_ADDRESS, |address| {
        let claim = beside(&address.metadata, address.spec.claim.name_str());
        view.is_gone::<IpClaim>(&claim).then_some(Absent::IpClaim(claim))
    });
    [claims, datas, ip_claims, capi_claims, addresses].concat()
}

/// Who should take the finalizer off.
enum Absent {
    Machine(ObjectKey),
    Claim(ObjectKey),
    Data(ObjectKey),
    IpClaim(ObjectKey),
}

/// The data of an address claim: its owner, or the one that its label names.
fn data_of<C: Object>(view: &View<'_>, claim: &C) -> Option<Absent> {
    let labelled = || Some(beside(claim.meta(), claim.meta().label(label::DATA_NAME)?));
    let data = holder::<Metal3Data, _>(claim, GROUP).or_else(labelled)?;
    view.is_gone::<Metal3Data>(&data).then_some(Absent::Data(data))
}

/// The owner of a kind.
fn holder<K: Object, O: Object>(object: &O, group: &str) -> Option<ObjectKey> {
    let owner = object.meta().owner(group, &K::kind(&()))?;
    Some(beside(object.meta(), &owner.name))
}

fn held<K: Object>(view: &View<'_>, finalizer: &str, absent: impl Fn(&K) -> Option<Absent>) -> Vec<Finding> {
    let all = view.all::<K>();
    let held =
        all.iter().filter(|object| object.meta().is_deleting() && object.meta().has_finalizer(finalizer));
    held.filter_map(|object| Some(report(object.as_ref(), finalizer, &absent(object)?))).collect()
}

fn report<K: Object>(object: &K, finalizer: &str, absent: &Absent) -> Finding {
    let finding = |kind: &str, key: &ObjectKey| {
        let message =
            format!("is being deleted and held by {finalizer} of {kind} {key}, which does not exist");
        Finding::on(object, message).fact(object, "metadata.finalizers", finalizer)
    };
    let finding = match absent {
        Absent::Machine(key) => finding("Metal3Machine", key).absent::<Metal3Machine>(key),
        Absent::Claim(key) => finding("Metal3DataClaim", key).absent::<Metal3DataClaim>(key),
        Absent::Data(key) => finding("Metal3Data", key).absent::<Metal3Data>(key),
        Absent::IpClaim(key) => finding("IPClaim", key).absent::<IpClaim>(key),
    };
    let finalizers = object.meta().finalizers.iter().flatten();
    let kept: Vec<&String> = finalizers.filter(|it| *it != finalizer).collect();
    let step = Step::patch(object, json!({"metadata": {"finalizers": kept}}));
    finding.repair(Repair::fix("remove the finalizer", [step]))
}

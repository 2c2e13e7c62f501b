//! A host that a machine, somebody else or nobody has.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine},
    v1beta2::Metal3Machine,
};
use capm3_domain::{
    host::{Eligibility, HostRequest, HostVerdict, eligibility},
    release::{ReleaseRequest, ReleaseStep, release_step},
};
use capm3_engine::{ObjectKey, Reader};
use capm3_provider::baremetalhost::{HostSnapshot, consumer_machine, known_to_another};

use super::{
    Actor, Site,
    advice::Advice,
    host::{HostState, HostSummary},
    host_advice::no_host,
    host_facts::HostFacts,
    relabel::Relabelled,
    releasing::while_deprovisioned,
    reserved::reservation,
};

/// The summary of a host without consumer, going by a machine that asks for nothing special.
pub(super) fn of_unused(host: &BareMetalHost) -> HostSummary {
    let (any, machine) = (Metal3Machine::default(), Machine::default());
    let rejection = match eligibility(&HostRequest::new(&any, &machine, None), host) {
        Eligibility::Rejected(rejection) => rejection,
        Eligibility::Free | Eligibility::Reserved | Eligibility::ReservedLater(_) | Eligibility::Own => {
            return HostSummary::new(HostState::Free, "is free");
        }
    };
    if let Some(owner) = reservation(host) {
        let stands = format!("is reserved for the next machine of {owner}");
        return HostSummary::new(HostState::Booked, stands);
    }
    let summary = HostSummary::new(HostState::Unusable, "is not in use, but no machine can take it");
    let summary = summary.because(rejection.to_string());
    let verdict = HostVerdict { host: host.metadata.name_str().to_owned(), rejection };
    let namespace = host.metadata.namespace_str();
    let ways = no_host(&[verdict], namespace, |_| None, |_| Relabelled::Unknown);
    summary.by(ways.actor, ways.advice)
}

/// The summary of a host that names a consumer and is neither orphaned nor reserved.
pub(super) fn of_consumer(site: &Site, snapshot: &HostSnapshot) -> HostSummary {
    let host = snapshot.host.as_ref();
    let Some(machine) = consumer_machine(host) else { return of_other_consumer(snapshot) };
    let other = known_to_another(&site.objects, host);
    match (site.objects.get::<Metal3Machine>(&machine), other) {
        (_, Some(other)) => {
            let why = format!("its consumerRef names Metal3Machine {machine}, which does not use the host");
            in_use(host, &ObjectKey::new(&machine.namespace, other)).because(why)
        }
        (Some(found), None) if found.metadata.is_deleting() => returning(host, &machine, &found),
        _ => in_use(host, &machine),
    }
}

fn in_use(host: &BareMetalHost, machine: &ObjectKey) -> HostSummary {
    let command =
        format!("capm3 explain metal3machine/{} -n {}", machine.name, host.metadata.namespace_str());
    let advice = Advice::run("nothing; explain its machine for details", command);
    HostSummary::new(HostState::InUse, format!("is in use by Metal3Machine {machine}"))
        .by(Actor::Nobody, [advice])
}

/// A machine that is being deleted gives its host back.
fn returning(host: &BareMetalHost, key: &ObjectKey, machine: &Metal3Machine) -> HostSummary {
    let stands = format!("is given back by Metal3Machine {key}, which is being deleted");
    let summary = HostSummary::new(HostState::Returning, stands);
    let request =
        ReleaseRequest { machine, cluster_name: None, fast_track: host.spec.online, reservation: None };
    match release_step(&request, host) {
        ReleaseStep::Wait(wait) => {
            let (who, advice) = while_deprovisioned(host, wait.blocker.is_some());
            summary.because(wait.to_string()).by(who, [advice])
        }
        _ => {
            let command = format!("capm3 explain metal3machine/{} -n {}", key.name, key.namespace);
            summary.by(Actor::Nobody, [Advice::run("nothing; explain its machine for details", command)])
        }
    }
}

/// The consumer is no machine of this namespace.
fn of_other_consumer(snapshot: &HostSnapshot) -> HostSummary {
    let host = snapshot.host.as_ref();
    let consumer = HostFacts::of(host).consumer.unwrap_or_default();
    let summary = HostSummary::new(HostState::Foreign, format!("is in use by {consumer}"));
    let summary = summary
        .because("the consumer is no Metal3Machine of the host's namespace: no machine touches the host");
    let advice = Advice::text("if that consumer is gone, remove spec.consumerRef of the host");
    summary.by(Actor::PlatformEngineer, [advice])
}

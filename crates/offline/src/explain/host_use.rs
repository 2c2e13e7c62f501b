//! A host that a machine, somebody else or nobody has.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine},
    v1beta2::Metal3Machine,
};
use capm3_domain::{
    host::{HostRequest, HostVerdict, Standing, judge},
    release::{ReleaseRequest, ReleaseStep, release_step},
};
use capm3_engine::{ObjectKey, Reader};
use capm3_provider::baremetalhost::{Snapshot, consumer_machine, known_to_another};

use super::{
    Actor, Site,
    advice::Advice,
    booked::booking,
    host::{HostStanding, HostStory},
    host_facts::HostFacts,
    relabel::Relabelled,
    releasing::while_deprovisioned,
    want_of_hosts::for_want_of_hosts,
};

/// The story of a host without consumer, going by a machine that asks for nothing special.
pub(super) fn of_unused(host: &BareMetalHost) -> HostStory {
    let (any, machine) = (Metal3Machine::default(), Machine::default());
    let rejection = match judge(&HostRequest::new(&any, &machine, None), host) {
        Standing::Rejected(rejection) => rejection,
        Standing::Free | Standing::Reserved | Standing::ReservedLater(_) | Standing::Own => {
            return HostStory::new(HostStanding::Free, "is free");
        }
    };
    if let Some(owner) = booking(host) {
        let stands = format!("is booked for the next machine of {owner}");
        return HostStory::new(HostStanding::Booked, stands);
    }
    let story = HostStory::new(HostStanding::Unusable, "is not in use, but no machine can take it");
    let story = story.because(rejection.to_string());
    let verdict = HostVerdict { host: host.metadata.name_str().to_owned(), rejection };
    let namespace = host.metadata.namespace_str();
    let ways = for_want_of_hosts(&[verdict], namespace, |_| None, |_| Relabelled::Unknown);
    story.by(ways.actor, ways.advice)
}

/// The story of a host that names a consumer and is neither orphaned nor booked.
pub(super) fn of_consumer(site: &Site, snapshot: &Snapshot) -> HostStory {
    let host = snapshot.host.as_ref();
    let Some(machine) = consumer_machine(host) else { return of_stranger(snapshot) };
    let other = known_to_another(&site.objects, host);
    match (site.objects.get::<Metal3Machine>(&machine), other) {
        (_, Some(other)) => {
            let why = format!("its consumerRef names Metal3Machine {machine}, which is not the rightful one");
            in_use(host, &ObjectKey::new(&machine.namespace, other)).because(why)
        }
        (Some(found), None) if found.metadata.is_deleting() => returning(host, &machine, &found),
        _ => in_use(host, &machine),
    }
}

fn in_use(host: &BareMetalHost, machine: &ObjectKey) -> HostStory {
    let command =
        format!("capm3 explain metal3machine/{} -n {}", machine.name, host.metadata.namespace_str());
    let advice = Advice::run("nothing; its machine tells more", command);
    HostStory::new(HostStanding::InUse, format!("is in use by Metal3Machine {machine}"))
        .by(Actor::Nobody, [advice])
}

/// A machine that is being deleted gives its host back.
fn returning(host: &BareMetalHost, key: &ObjectKey, machine: &Metal3Machine) -> HostStory {
    let stands = format!("is given back by Metal3Machine {key}, which is being deleted");
    let story = HostStory::new(HostStanding::Returning, stands);
    let request = ReleaseRequest { machine, cluster_name: None, fast_track: host.spec.online, booking: None };
    match release_step(&request, host) {
        ReleaseStep::Wait(wait) => {
            let (who, advice) = while_deprovisioned(host, wait.hindrance.is_some());
            story.because(wait.to_string()).by(who, [advice])
        }
        _ => {
            let command = format!("capm3 explain metal3machine/{} -n {}", key.name, key.namespace);
            story.by(Actor::Nobody, [Advice::run("nothing; its machine tells more", command)])
        }
    }
}

/// The consumer is no machine of this namespace.
fn of_stranger(snapshot: &Snapshot) -> HostStory {
    let host = snapshot.host.as_ref();
    let consumer = HostFacts::of(host).consumer.unwrap_or_default();
    let story = HostStory::new(HostStanding::Foreign, format!("is in use by {consumer}"));
    let story = story
        .because("the consumer is no Metal3Machine of the host's namespace: no machine touches the host");
    let advice = Advice::say("if that consumer is gone, remove spec.consumerRef of the host");
    story.by(Actor::PlatformEngineer, [advice])
}

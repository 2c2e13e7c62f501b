//! The story of a machine and its host: which one, what is put on its disk, and how it is given back.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, finalizer},
};
use capm3_domain::host::{self, Hindrance, HostOutcome};

use super::{
    advice::{Actor, Advice},
    returning,
    steps::others,
    story::{Known, Story, absent, is_host_gone, missing_bootstrap_secret},
    want_of_hosts::for_want_of_hosts,
};

pub(super) fn choice(known: &Known<'_>) -> Story {
    let Some(choice) = known.choice else { return recorded(known) };
    match &choice.outcome {
        HostOutcome::None => {
            let (actor, advice) = for_want_of_hosts(&choice.verdicts, known.namespace(), |host| {
                returning::comes_back(known.site, known.snapshot(), host)
            });
            Story::new("waits for a host", actor, advice)
        }
        HostOutcome::Wait(_) => {
            let advice = Advice::say("nothing: the host is being cleaned for this machine");
            Story::new("waits for a host that is kept for it", Actor::HostOperator, [advice])
        }
        HostOutcome::Err(_) => {
            let advice = "correct spec.hostSelector of the Metal3MachineTemplate, and delete the Machine";
            Story::new("cannot choose a host", Actor::ClusterAuthor, [Advice::say(advice)])
        }
        HostOutcome::Chosen(chosen) => {
            let why = Some(format!("host {} is free", chosen.host));
            Story { why, ..Story::going_on(format!("is about to take host {}", chosen.host)) }
        }
    }
}

/// The machine has recorded a host that it cannot use.
fn recorded(known: &Known<'_>) -> Story {
    let host = known.machine().metadata.annotation(annotation::HOST).unwrap_or_default();
    let host = host.rsplit('/').next().unwrap_or_default();
    if is_host_gone(known.snapshot()) {
        return gone(known, host);
    }
    let text = format!("look at host {host}; if the machine will not have it again, delete the Machine");
    let advice = Advice::run(text, describe(known, host));
    Story::new("cannot use its host", Actor::PlatformEngineer, [advice])
}

/// The host that the machine has recorded is not there.
fn gone(known: &Known<'_>, host: &str) -> Story {
    let create = Advice::say(format!(
        "if the server still runs, create BareMetalHost {host} again as it was: the machine is its consumer"
    ));
    let delete = replace(known, "if it is lost, delete the Machine, so that its owner makes another one");
    let advice: Vec<Advice> = [create].into_iter().chain(delete).collect();
    Story::new("has lost its host", Actor::PlatformEngineer, advice)
}

/// The host of the machine is being deleted: it will not stay.
fn losing(known: &Known<'_>, host: &str) -> Story {
    let advice = replace(known, "delete the Machine, so that its owner makes another one on another host");
    let stands = format!("is about to lose host {host}");
    Story::new(stands, Actor::PlatformEngineer, Vec::from_iter(advice))
}

/// To delete the Machine, if it is there.
fn replace(known: &Known<'_>, text: &str) -> Option<Advice> {
    let machine = known.snapshot().machine.as_ref()?;
    Some(Advice::run(text, known.kubectl("delete", &format!("machine {}", machine.metadata.name_str()))))
}

pub(super) fn provisioning(known: &Known<'_>) -> Story {
    let Some(host) = known.snapshot().host.as_deref() else {
        return Story::going_on("is being provisioned");
    };
    let name = host.metadata.name_str();
    let (stands, stuck) =
        (format!("is being provisioned on host {name}"), format!("cannot be provisioned on host {name}"));
    if host.metadata.is_deleting() {
        return losing(known, name);
    }
    if let Some(advice) = hindrance(known, host) {
        return Story::new(stuck, Actor::PlatformEngineer, [advice]);
    }
    let waits = known.glance.waits_for();
    if waits.is_some_and(|words| words.starts_with("the installed CRD of BareMetalHost")) {
        let text =
            "install a newer host operator with its CRDs, then restart the provider: it reads them once";
        return Story::new(stuck, Actor::PlatformEngineer, [Advice::say(text)]);
    }
    if waits.is_some_and(|words| !words.contains(" to be provisioned")) {
        let text = "correct the spec of the Metal3Machine and of its Metal3MachineTemplate";
        return Story::new(stuck, Actor::ClusterAuthor, [Advice::say(text)]);
    }
    if let Some(secret) = missing_bootstrap_secret(known) {
        let text = format!("make Secret {secret}, from which the host gets its user data");
        let why = Some(absent(&secret));
        return Story { why, ..Story::new(stuck, Actor::BootstrapProvider, [Advice::say(text)]) };
    }
    let advice = Advice::run("nothing: its operator is at work", describe(known, name));
    Story::new(stands, Actor::HostOperator, [advice])
}

pub(super) fn deletion(known: &Known<'_>) -> Story {
    let stands = "is being deleted";
    let snapshot = known.snapshot();
    let others = others(snapshot);
    if !known.machine().metadata.has_finalizer(finalizer::MACHINE) && !others.is_empty() {
        let why = Some(format!("waiting for others to take their finalizers off: {}", others.join(", ")));
        let advice = Advice::say("ask whoever set them why they stay");
        return Story { why, ..Story::new(stands, Actor::PlatformEngineer, [advice]) };
    }
    let waits = known.glance.waits_for().is_some();
    let Some(host) = snapshot.host.iter().chain(&snapshot.surplus).next().filter(|_| waits) else {
        return Story::going_on(stands);
    };
    if let Some(advice) = hindrance(known, host) {
        return Story::new(stands, Actor::PlatformEngineer, [advice]);
    }
    let advice = Advice::run("nothing: the host is being wiped", describe(known, host.metadata.name_str()));
    Story::new(stands, Actor::HostOperator, [advice])
}

/// What keeps the operator from working on a host, and the way out.
fn hindrance(known: &Known<'_>, host: &BareMetalHost) -> Option<Advice> {
    let name = host.metadata.name_str();
    let annotated = |key: &&str| host.metadata.annotation(key).is_some();
    let key = match host::hindrance(host)? {
        Hindrance::Error(_) => {
            let text = format!("repair host {name}; its operator then tries again by itself");
            return Some(Advice::run(text, describe(known, name)));
        }
        Hindrance::ExternallyProvisioned if known.machine().metadata.is_deleting() => return None,
        Hindrance::ExternallyProvisioned => {
            let text =
                format!("let the operator put the image on host {name}: what is on its disk is lost then");
            let what = format!(
                "baremetalhost {name} --type=merge -p '{{\"spec\":{{\"externallyProvisioned\":false}}}}'"
            );
            return Some(Advice::run(text, known.kubectl("patch", &what)));
        }
        Hindrance::Paused => annotation::HOST_PAUSED,
        Hindrance::Detached => annotation::HOST_DETACHED,
    };
    let text = format!("let the operator work on host {name} again");
    Some(match Some(key).filter(annotated) {
        Some(key) => Advice::run(text, known.kubectl("annotate", &format!("baremetalhost {name} {key}-"))),
        None => Advice::run(text, describe(known, name)),
    })
}

fn describe(known: &Known<'_>, host: &str) -> String {
    known.kubectl("describe", &format!("baremetalhost {host}"))
}

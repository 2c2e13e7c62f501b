//! The summary of a machine and its host: which one, what is put on its disk, and how it is given back.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, finalizer},
};
use capm3_domain::{
    host::{self, Blocker, HostOutcome, HostVerdict, Rejection},
    wait::Wait,
};
use capm3_engine::{Object, ObjectKey, Reader};
use capm3_provider::metal3machine::Stage;

use super::{
    Actor,
    advice::Advice,
    host_advice::{Ways, no_host},
    machine_summary::{Known, Summary, absent, missing_bootstrap_secret},
    paused,
    prerequisites::bootstrap_object,
    relabel::{Relabelled, relabel},
    returning,
    steps::others,
};

pub(super) fn choice(known: &Known<'_>) -> Summary {
    if let Some(summary) = former_host(known) {
        return summary;
    }
    let Some(choice) = known.choice else { return recorded(known) };
    match &choice.outcome {
        HostOutcome::None => {
            let Ways { actor, or_actor, mut advice } = no_host(
                &choice.verdicts,
                known.namespace(),
                |host| returning::comes_back(known.site, known.snapshot(), host),
                |host| relabelled(known, host),
            );
            let is_mismatch = |v: &HostVerdict| matches!(v.rejection, Rejection::LabelMismatch { .. });
            if choice.verdicts.iter().any(is_mismatch) {
                advice.push(ask_otherwise(known, "ask for other labels"));
            }
            Summary { or_actor, ..Summary::new("waits for a host", actor, advice) }
        }
        HostOutcome::Wait(kept) => {
            let name = kept.first().map(|(host, _)| host.as_str()).unwrap_or_default();
            let text = format!(
                "nothing: the Baremetal Operator cleans host {name}, which is reserved for this machine"
            );
            let advice = Advice::run(text, describe(known, name));
            Summary::new("waits for a host that is reserved for it", Actor::HostOperator, [advice])
        }
        HostOutcome::Err(_) => {
            let advice = ask_otherwise(known, "correct the selector");
            Summary::new("cannot choose a host", Actor::ClusterAuthor, [advice])
        }
        HostOutcome::Chosen(chosen) => {
            let why = Some(format!("host {} is free", chosen.host));
            Summary { why, ..Summary::going_on(format!("is about to take host {}", chosen.host)) }
        }
    }
}

/// The machine has no record of a host, but there are signs that it had one.
fn former_host(known: &Known<'_>) -> Option<Summary> {
    let snapshot = known.snapshot();
    let is_recorded = host::known_host(known.machine()).is_ok_and(|host| host.is_some());
    if snapshot.host.is_some() || is_recorded {
        return None;
    }
    if let Some(held) = snapshot.held.first() {
        let (key, name) = (held.key(), known.machine().metadata.name_str());
        let what = format!("metal3machine {name} {}={key}", annotation::HOST);
        let keep = Advice::run(
            format!("to keep what runs on host {}, record the host on the machine", held.metadata.name_str()),
            known.kubectl("annotate", &what),
        );
        let release = replace(known, "to release the host, delete the Machine: the host is then wiped");
        let advice: Vec<Advice> = [keep].into_iter().chain(release).collect();
        return Some(Summary::new(
            "has no record of the host that names it",
            Actor::PlatformEngineer,
            advice,
        ));
    }
    snapshot.claim.as_deref().filter(|_| !snapshot.claim_is_of_former_machine)?;
    let restore = Advice::text("restore the BareMetalHost of this machine, if it is missing after a restore");
    let release =
        replace(known, "to take another host, delete the Machine, so that its owner makes another one");
    let advice: Vec<Advice> = [restore].into_iter().chain(release).collect();
    Some(Summary::new("waits for the host that it had", Actor::PlatformEngineer, advice))
}

/// What labels would do for a host.
fn relabelled(known: &Known<'_>, host: &str) -> Relabelled {
    let host = known.site.objects.get::<BareMetalHost>(&ObjectKey::new(known.namespace(), host));
    match (&known.machine().spec.host_selector, host) {
        (Some(selector), Some(host)) => relabel(selector, &host, |host| known.preview.judge_host(host)),
        _ => Relabelled::Unknown,
    }
}

/// Another selector. The machine has a copy of the one in its template, made when it was cloned.
fn ask_otherwise(known: &Known<'_>, what: &str) -> Advice {
    let text = format!(
        "{what} in spec.template.spec.hostSelector of {}; that holds for new machines only, so delete this Machine afterwards",
        template(known)
    );
    replace(known, &text).unwrap_or_else(|| Advice::text(text))
}

/// The Metal3MachineTemplate that the machine was made from.
fn template(known: &Known<'_>) -> String {
    match known.machine().metadata.annotation(annotation::CLONED_FROM_NAME) {
        Some(name) => format!("Metal3MachineTemplate {name}"),
        None => "the Metal3MachineTemplate".to_owned(),
    }
}

/// The machine has recorded a host that it cannot use.
fn recorded(known: &Known<'_>) -> Summary {
    let host = known.machine().metadata.annotation(annotation::HOST).unwrap_or_default();
    let host = host.rsplit('/').next().unwrap_or_default();
    if known.snapshot().is_host_gone() {
        return gone(known, host);
    }
    let text = format!("inspect host {host}; if the machine cannot use it again, delete the Machine");
    let advice = Advice::run(text, describe(known, host));
    Summary::new("cannot use its host", Actor::PlatformEngineer, [advice])
}

/// The host that the machine has recorded is not there.
fn gone(known: &Known<'_>, host: &str) -> Summary {
    let create = Advice::text(format!(
        "if the server still runs, create BareMetalHost {host} again as it was: the machine is its consumer"
    ));
    let delete = replace(known, "if it is lost, delete the Machine, so that its owner makes another one");
    let advice: Vec<Advice> = [create].into_iter().chain(delete).collect();
    Summary::new("has lost its host", Actor::PlatformEngineer, advice)
}

/// The host of the machine is being deleted: it will not stay.
fn losing(known: &Known<'_>, host: &str) -> Summary {
    let advice = replace(known, "delete the Machine, so that its owner makes another one on another host");
    let stands = format!("is about to lose host {host}");
    Summary::new(stands, Actor::PlatformEngineer, Vec::from_iter(advice))
}

/// To delete the Machine, if it is there.
fn replace(known: &Known<'_>, text: &str) -> Option<Advice> {
    let machine = known.snapshot().machine.as_ref()?;
    Some(Advice::run(text, known.kubectl("delete", &format!("machine {}", machine.metadata.name_str()))))
}

pub(super) fn provisioning(known: &Known<'_>) -> Summary {
    let Some(host) = known.snapshot().host.as_deref() else {
        return Summary::going_on("is being provisioned");
    };
    let name = host.metadata.name_str();
    let (stands, stuck) =
        (format!("is being provisioned on host {name}"), format!("cannot be provisioned on host {name}"));
    if host.metadata.is_deleting() {
        return losing(known, name);
    }
    if let Some((actor, advice)) = blocker(known, host) {
        return match actor {
            Actor::Nobody => {
                Summary { why: Some(paused::sentence(host)), ..Summary::new(stands, actor, [advice]) }
            }
            _ => Summary::new(stuck, actor, [advice]),
        };
    }
    let wait = known.preview.wait();
    if matches!(wait, Some(Wait::HostField(_))) {
        let text =
            "install a newer Baremetal Operator with its CRDs; the provider sees it within two minutes";
        return Summary::new(stuck, Actor::PlatformEngineer, [Advice::text(text)]);
    }
    if matches!(wait, Some(Wait::HostSpec(_))) {
        let text = format!(
            "correct the spec of Metal3Machine {}, and that of {} for the machines to come",
            known.machine().metadata.name_str(),
            template(known)
        );
        return Summary::new(stuck, Actor::ClusterAuthor, [Advice::text(text)]);
    }
    if let Some(secret) = missing_bootstrap_secret(known) {
        return without_bootstrap_secret(known, stuck, &secret);
    }
    let text = format!(
        "nothing: the Baremetal Operator puts the image on host {name}; its events show the progress"
    );
    let advice = Advice::run(text, describe(known, name));
    Summary::new(stands, Actor::HostOperator, [advice])
}

/// The Secret that the host is to get its user data from is not there. Few bootstrap providers make one twice.
fn without_bootstrap_secret(known: &Known<'_>, stuck: String, secret: &str) -> Summary {
    let inspect = match bootstrap_object(known) {
        Some((kind, name)) => Advice::run(
            format!(
                "inspect {kind} {name}: its controller creates Secret {secret}, but may not create it again"
            ),
            known.kubectl("describe", &format!("{} {name}", kind.to_lowercase())),
        ),
        None => Advice::text(format!(
            "create Secret {secret} in namespace {} again, if you made it: spec.bootstrap of the Machine names no configRef",
            known.namespace()
        )),
    };
    let delete = replace(
        known,
        "delete the Machine, so that its owner makes another one with bootstrap data of its own",
    );
    let advice: Vec<Advice> = [inspect].into_iter().chain(delete).collect();
    let summary = Summary::new(stuck, Actor::PlatformEngineer, advice);
    Summary { why: Some(absent(secret)), cause: Some(Stage::Bootstrap), ..summary }
}

pub(super) fn deletion(known: &Known<'_>) -> Summary {
    let stands = "is being deleted";
    let snapshot = known.snapshot();
    let others = others(snapshot);
    if !known.machine().metadata.has_finalizer(finalizer::MACHINE) && !others.is_empty() {
        let why = Some(format!("waiting for others to remove their finalizers: {}", others.join(", ")));
        let advice = Advice::text("ask whoever set them why they stay");
        return Summary { why, ..Summary::new(stands, Actor::PlatformEngineer, [advice]) };
    }
    let waits = known.preview.wait().is_some();
    let Some(host) = snapshot.host.iter().chain(&snapshot.surplus).next().filter(|_| waits) else {
        return Summary::going_on(stands);
    };
    if let Some((actor, advice)) = blocker(known, host) {
        return Summary::new(stands, actor, [advice]);
    }
    let name = host.metadata.name_str();
    let text = format!("nothing: the Baremetal Operator wipes host {name}");
    let advice = Advice::run(text, describe(known, name));
    Summary::new(stands, Actor::HostOperator, [advice])
}

/// What keeps the operator from working on a host: who must act, and the way out.
fn blocker(known: &Known<'_>, host: &BareMetalHost) -> Option<(Actor, Advice)> {
    let name = host.metadata.name_str();
    let advice = match host::blocker(host)? {
        Blocker::Error(_) => {
            let text = format!("repair host {name}; the Baremetal Operator then retries by itself");
            Advice::run(text, describe(known, name))
        }
        Blocker::ExternallyProvisioned if known.machine().metadata.is_deleting() => return None,
        Blocker::ExternallyProvisioned => {
            let text = format!(
                "let the Baremetal Operator put the image on host {name}: the data on its disk is then lost"
            );
            let what = format!(
                "baremetalhost {name} --type=merge -p '{{\"spec\":{{\"externallyProvisioned\":false}}}}'"
            );
            Advice::run(text, known.kubectl("patch", &what))
        }
        Blocker::Paused => return Some(paused::way_out(known, host)),
        Blocker::Detached => {
            let (text, key) =
                (format!("let the Baremetal Operator work on host {name} again"), annotation::HOST_DETACHED);
            match host.metadata.annotation(key) {
                Some(_) => {
                    Advice::run(text, known.kubectl("annotate", &format!("baremetalhost {name} {key}-")))
                }
                None => Advice::run(text, describe(known, name)),
            }
        }
    };
    Some((Actor::PlatformEngineer, advice))
}

fn describe(known: &Known<'_>, host: &str) -> String {
    known.kubectl("describe", &format!("baremetalhost {host}"))
}

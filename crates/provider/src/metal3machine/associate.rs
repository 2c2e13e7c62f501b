//! The host of a machine: choose it, claim it, give it image and data, keep it in line.

use crate::{
    host_patch,
    plan::{End, Plan},
};
use capm3_api::{
    conditions::is_true,
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Machine},
    vocabulary::{condition, event, host_state, label, reason},
};
use capm3_domain::{
    host::{
        self, Blocker, Consumer, Eligibility, HostOutcome, HostRequest, Ownership, is_left_of, known_host,
    },
    pause::unpause,
    provider_id,
    release::ReleaseStep,
    user_data::{has_user_data, user_data_secret},
    wait::{Text, Wait},
};
use capm3_engine::{EventNote, Object, ObjectKey};

use super::{
    MachineSnapshot, Stage, choice, data,
    decide::{Awaits, Pass, Step},
    delete, host_data,
    live_reads::Question,
};

/// Passes with the host claimed and the annotation set in memory.
pub(super) fn take_host(pass: &mut Pass<'_>, machine: &Machine) -> Step {
    let Some(host) = pass.snapshot.host.clone() else {
        data::choose_template(pass)?;
        return match known_host(&pass.snapshot.metal3_machine) {
            Ok(Some(name)) => Err(missing(pass, Some(&name))),
            Ok(None) => Err(match former_host(pass.snapshot) {
                Some(wait) => hold(pass, wait),
                None => claim_a_host(pass, machine),
            }),
            // Taking another host would leave the recorded one behind.
            Err(error) => Err(hold(pass, Wait::HostRecord(error))),
        };
    };
    match pass.snapshot.ownership(&host) {
        Ownership::Ours => {}
        Ownership::Nobody => return Err(claim_recorded(pass, &host, machine)),
        Ownership::Other(consumer) => return Err(consumed_by_other(pass, &host, &consumer)),
    }
    record_host(pass, &host);
    // Not before: the name of the user data distinguishes a host that the machine has from one that an earlier machine of its name had.
    take_user_data(pass, machine);
    pass.status().host_taken();
    label_bmc_secret(pass);
    data::choose_template(pass)
}

/// Why a machine without a record of a host takes none: signs that it had one, which a backup older than the record has
/// lost, or that an earlier machine of this name had one.
fn former_host(snapshot: &MachineSnapshot<'_>) -> Option<Wait> {
    if let Some(host) = snapshot.held.first() {
        let ObjectKey { namespace, name } = host.key();
        return Some(Wait::UnrecordedHost { namespace, host: name });
    }
    // A claim is made after the record.
    let claim = snapshot.claim.as_deref().filter(|_| !snapshot.claim_is_of_former_machine)?;
    Some(Wait::LostHost { claim: claim.metadata.name_str().to_owned() })
}

fn record_host(pass: &mut Pass<'_>, host: &BareMetalHost) {
    let (key, value) = host_patch::host_annotation(host);
    pass.new.metadata.annotations.get_or_insert_default().insert(key, value);
}

/// The Secret of the management controller is labelled with the cluster, so that it is moved with it. A Secret that
/// cannot be written never holds up the machine.
fn label_bmc_secret(pass: &mut Pass<'_>) {
    let Some(secret) = pass.snapshot.bmc_secret.clone() else { return };
    let Some(cluster) = pass.new.metadata.label(label::CLUSTER_NAME) else { return };
    if secret.metadata.label(label::CLUSTER_NAME) == Some(cluster) {
        return;
    }
    let mut new = secret.as_ref().clone();
    new.metadata.labels.get_or_insert_default().insert(label::CLUSTER_NAME.to_owned(), cluster.to_owned());
    pass.last.try_update_object(secret.as_ref(), &new);
}

/// A machine whose Node is known: its host must still be its own, and is kept in line.
pub(super) fn keep_host(pass: &mut Pass<'_>, machine: &Machine) -> Step {
    pass.stage = Stage::Host;
    let Some(host) = pass.snapshot.host.clone() else {
        return match known_host(&pass.snapshot.metal3_machine) {
            Ok(name) => Err(missing(pass, name.as_deref())),
            Err(error) => Err(hold(pass, Wait::HostRecord(error))),
        };
    };
    match pass.snapshot.ownership(&host) {
        Ownership::Ours => record_host(pass, &host),
        Ownership::Nobody => return Err(claim_recorded(pass, &host, machine)),
        Ownership::Other(consumer) => return Err(consumed_by_other(pass, &host, &consumer)),
    }
    pass.status().host_taken();
    label_bmc_secret(pass);
    data::keep_template(pass);
    pass.status().meta_data_good();
    pass.status().node_found();
    let data = data::wait(pass);
    pass.stage = Stage::Provisioning;
    keep_host_reserved(pass)?;
    judge_provisioning(pass, &host)?;
    pass.stage = Stage::Data;
    data
}

/// A host of another consumer is left alone, which is reported on the machine and on the host. What its operator does to it
/// is reported anyway.
fn consumed_by_other(pass: &mut Pass<'_>, host: &BareMetalHost, consumer: &Consumer) -> End {
    if let Some(wait) = leaving(host) {
        host_lost(pass, wait);
    }
    let name = host.metadata.name_str().to_owned();
    let wait = Wait::HostConsumed { host: name, consumer: Box::new(consumer.clone()) };
    if pass.status().is_new_of_host(&wait) {
        let (namespace, machine) = (pass.namespace(), pass.new.metadata.name_str());
        let message = format!(
            "Metal3Machine {namespace}/{machine} records this host as its own, but spec.consumerRef of the host is {consumer}; \
             correct spec.consumerRef, or delete the Machine that must not use the host"
        );
        pass.with_status.push(EventNote::warning(host, event::HOST_DISPUTED, message));
    }
    hold(pass, wait)
}

/// Claims the recorded host again, if it could be taken at all or what is on it is this machine's: whoever took the
/// reference off that did not mean to give the host away.
fn claim_recorded(pass: &mut Pass<'_>, host: &BareMetalHost, machine: &Machine) -> End {
    if is_left_of(&pass.new, host) {
        return write_claim(pass, host, machine);
    }
    let reuse = host::reuse_label(machine, pass.snapshot.machine_set.as_deref());
    let request = HostRequest::new(&pass.snapshot.metal3_machine, machine, reuse);
    match host::eligibility(&request, host) {
        Eligibility::Rejected(rejection) => {
            let host = host.metadata.name_str().to_owned();
            hold(pass, Wait::RecordedHost { host, rejection: Box::new(rejection) })
        }
        _ => write_claim(pass, host, machine),
    }
}

/// Hosts beyond the one in use, claimed in a race or by an answer that was lost, are given back.
pub(super) fn release_surplus(pass: &mut Pass<'_>) {
    for host in &pass.snapshot.surplus {
        match delete::release_step_of_surplus(pass.snapshot, host) {
            ReleaseStep::Clear(patch) => host_patch::push_release(&mut pass.others, host, patch),
            ReleaseStep::Release(patch) => {
                host_patch::push_release(&mut pass.others, host, patch);
                pass.event(
                    event::HOST_RELEASED,
                    format!("surplus host {} is released", host.metadata.name_str()),
                );
            }
            ReleaseStep::Wait(_) | ReleaseStep::NotOurs => {}
        }
    }
}

fn missing(pass: &mut Pass<'_>, name: Option<&str>) -> End {
    let wait = Wait::HostMissing(name.map(str::to_owned));
    let reason = if pass.is_provisioned() { reason::UPDATE_ERROR } else { reason::CREATE_ERROR };
    pass.status().meta_data_fails(reason, &wait);
    host_lost(pass, wait)
}

/// A pause takes the condition back by which the machine knows that it has its host. If the record is lost meanwhile, the
/// user data on the host is all that distinguishes it from that of an earlier machine of this name.
pub(super) fn remember_user_data(pass: &mut Pass<'_>) {
    let machine = pass.snapshot.machine.clone().filter(|_| pass.snapshot.host.is_some());
    if let Some(machine) = machine.filter(|machine| has_user_data(&pass.new, machine)) {
        take_user_data(pass, &machine);
    }
}

fn take_user_data(pass: &mut Pass<'_>, machine: &Machine) {
    if pass.new.status.user_data.is_none() {
        pass.new.status.user_data = user_data_secret(&pass.new, machine);
    }
}

/// The MachineSet shows which hosts are kept for the machine: one that the cache does not show yet must not cost it those.
fn unseen_machine_set(snapshot: &MachineSnapshot<'_>, machine: &Machine) -> Option<Question> {
    let owner =
        machine.metadata.owner(CAPI_GROUP, "MachineSet").filter(|_| snapshot.machine_set.is_none())?;
    Some(Question::MachineSet(owner.name.clone()))
}

fn claim_a_host(pass: &mut Pass<'_>, machine: &Machine) -> End {
    if let Some(question) = unseen_machine_set(pass.snapshot, machine)
        && let Err(end) = pass.prove(question, |status, wait| status.host_failed(wait))
    {
        return end;
    }
    let chosen = choice::choose(pass.snapshot, machine);
    let choice = &chosen.choice;
    pass.awaits = match &choice.outcome {
        HostOutcome::Chosen(_) => Awaits::Nothing,
        HostOutcome::Wait(_) => {
            let reservation = host::reuse_label(machine, pass.snapshot.machine_set.as_deref());
            Awaits::Reservation(reservation.unwrap_or_default())
        }
        HostOutcome::None | HostOutcome::Err(_) => Awaits::AnyHost,
    };
    let best = match &choice.outcome {
        HostOutcome::Chosen(best) => best,
        HostOutcome::None => return pass.wait(Wait::NoHost(choice.counts())),
        HostOutcome::Wait(reserved) => return pass.wait(Wait::ReservedHost(reserved.clone())),
        HostOutcome::Err(error) => return hold(pass, Wait::HostSelector(error.clone())),
    };
    let name = best.host.as_str();
    let Some(host) = chosen.host(name) else { return End::Again };
    if let Some(wanted) = &best.fell_back_from_domain {
        let stands = host.metadata.label(label::FAILURE_DOMAIN).unwrap_or("no failure domain");
        pass.warning(
            event::FAILURE_DOMAIN_FALLBACK,
            format!(
                "no host is available in failure domain {wanted}; the machine takes host {name} in {stands}"
            ),
        );
    }
    if best.via_reuse {
        pass.status().host_taken_via_reuse();
        pass.say_now = true;
    }
    write_claim(pass, &host, machine)
}

/// Takes nothing and reports why.
fn hold(pass: &mut Pass<'_>, wait: Wait) -> End {
    if pass.status().is_new_of_host(&wait) {
        pass.event_with_status(true, event::HOST_REFUSED, wait.to_string());
    }
    pass.wait(wait)
}

/// The claim is a compare-and-swap on the observed version of the host: of two machines one wins, the other chooses again.
fn write_claim(pass: &mut Pass<'_>, host: &BareMetalHost, machine: &Machine) -> End {
    host_patch::push_claim(&mut pass.others, host, &pass.new, &machine.spec.cluster_name);
    pass.event(event::HOST_CLAIMED, format!("host {} is claimed", host.metadata.name_str()));
    End::Again
}

/// Gives the host image, data and power, and passes once the image is on the disk.
pub(super) fn provision_host(pass: &mut Pass<'_>) -> Step {
    let Some(host) = pass.snapshot.host.clone() else { return Ok(()) };
    keep_host_reserved(pass)?;
    judge_provisioning(pass, &host)
}

/// Says that there is no host to rely on, and warns once if a node ran there.
fn host_lost(pass: &mut Pass<'_>, wait: Wait) -> End {
    let ran = is_true(&pass.snapshot.metal3_machine.status.conditions, condition::HOST_PROVISIONED);
    if ran && pass.is_provisioned() {
        pass.event_with_status(
            true,
            event::HOST_LOST,
            format!("{wait}; the node of this machine was provisioned on that host and may be lost"),
        );
    }
    pass.wait(wait)
}

/// Why a host goes that should stay, if it does.
fn leaving(host: &BareMetalHost) -> Option<Wait> {
    let is_deleted = host.metadata.is_deleting();
    if !is_deleted && host.state() != host_state::DEPROVISIONING {
        return None;
    }
    let problem = host.status.error_message.as_deref().filter(|problem| !problem.is_empty());
    let problem = problem.map(str::to_owned);
    Some(Wait::HostLeaving { host: host.metadata.name_str().to_owned(), is_deleted, problem })
}

fn judge_provisioning(pass: &mut Pass<'_>, host: &BareMetalHost) -> Step {
    if let Some(wait) = leaving(host) {
        return Err(host_lost(pass, wait));
    }
    if host.state() == host_state::PROVISIONED {
        pass.status().host_provisioned();
        return Ok(());
    }
    let (name, state) = (host.metadata.name_str().to_owned(), host.state().to_owned());
    Err(pass.wait(match blocked(pass.snapshot, host) {
        Some(by) => Wait::HostBlocked { host: name, state, by },
        None => Wait::Provisioning { host: name, state },
    }))
}

/// Why nothing is put on a host, if its operator cannot do it. The end of our own pause is written in this very pass.
fn blocked(snapshot: &MachineSnapshot<'_>, host: &BareMetalHost) -> Option<Blocker> {
    let cluster = snapshot.cluster.as_ref().map(|cluster| cluster.metadata.name_str()).unwrap_or_default();
    let is_over = |by: &Blocker| *by == Blocker::Paused && unpause(host, cluster).is_some();
    host::blocker(host).filter(|by| !is_over(by))
}

/// A field that the machine fills and that the server would drop; on a host that has its image it is too late to ask.
fn dropped(pass: &Pass<'_>, host: &BareMetalHost) -> Option<&'static str> {
    let status = &pass.new.status;
    let filled = [("metaData", &status.meta_data), ("networkData", &status.network_data)];
    let is_blank = host_patch::is_blank(host);
    let mut dropped = filled
        .into_iter()
        .filter(|(field, secret)| is_blank && secret.is_some() && pass.snapshot.host_lacks.contains(field));
    dropped.next().map(|(field, _)| field)
}

/// Writes what the host still lacks, and what it shows into the status.
pub(super) fn keep_host_reserved(pass: &mut Pass<'_>) -> Step {
    let Some(host) = pass.snapshot.host.clone() else {
        return Ok(());
    };
    if pass.snapshot.ownership(&host) != Ownership::Ours {
        return Ok(());
    }
    if let Some(field) = dropped(pass, &host) {
        return Err(pass.wait(Wait::HostField(field)));
    }
    host_data::confirm(pass)?;
    let mut writes = Plan::done();
    if let Err(error) = host_patch::push_provision(&mut writes, &host, &pass.new, &pass.snapshot.host_data) {
        return Err(pass.wait(Wait::HostSpec(Text::new(error))));
    }
    // What is put on a host that is being deleted would only be taken off again.
    if !host.metadata.is_deleting() {
        pass.others.append(writes);
    }
    let domain = host.metadata.label(label::FAILURE_DOMAIN).map(str::to_owned);
    pass.new.status.failure_domain = domain.or_else(|| pass.new.spec.failure_domain.clone());
    pass.new.status.addresses = provider_id::addresses(&host);
    Ok(())
}

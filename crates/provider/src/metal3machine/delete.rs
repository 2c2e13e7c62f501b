//! The end of a machine: the host is cleaned and given back first, then the claim goes, so that no index or address
//! is handed out while the old node still runs. Needs neither Machine nor Cluster nor template.

use std::sync::Arc;

use crate::{host_patch, plan::End};
use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Cluster},
    v1beta2::Metal3Machine,
    vocabulary::{annotation, event, finalizer, label, reason},
};
use capm3_domain::{
    data_template::machine_template_name,
    host::{
        Ownership, consumer_ref, has_user_data_of, is_left_of, is_on_its_way_back, known_host, reuse_label,
    },
    release::{ReleaseRequest, ReleaseStep, Reservation, is_reservation_lost, release_step, reservation},
    user_data::user_data_secret,
    wait::Wait,
};
use capm3_engine::Object;

use serde_json::json;

use super::{
    MachineSnapshot, Stage, claim_release,
    decide::{Pass, Step},
    live_reads::Question,
    pause,
};
use crate::finalizers::remove_finalizer;

pub(super) fn run(pass: &mut Pass<'_>) -> Step {
    pass.stage = Stage::Deletion;
    if !pass.new.metadata.has_finalizer(finalizer::MACHINE) {
        return Ok(());
    }
    pause_first(pass)?;
    pass.stage = Stage::Deletion;
    release_hosts(pass)?;
    release_claim(pass);
    remove_finalizer(&mut pass.new.metadata, finalizer::MACHINE);
    Ok(())
}

/// A paused machine is not deleted. A record that cannot be read must not hold up the deletion: the claim on the host
/// is what counts. What a pause that is over has left on the host goes when the host is cleared.
fn pause_first(pass: &mut Pass<'_>) -> Step {
    let cluster = pass.snapshot.cluster.clone();
    let paused = cluster.as_deref().is_some_and(Cluster::is_paused)
        || pass.new.metadata.annotation(annotation::PAUSED).is_some();
    pass.stage = Stage::Pause;
    if paused {
        return pause::run(pass, cluster.as_deref());
    }
    pause::clear_pause_conditions(pass);
    Ok(())
}

/// Only the server itself can say that no host is held: a cache may not have seen the claim yet.
fn confirm_that_no_host_is_held(pass: &mut Pass<'_>) -> Step {
    let snapshot = pass.snapshot;
    if hosts(snapshot).any(|host| snapshot.ownership(host) == Ownership::Ours) {
        return Ok(());
    }
    let question = match known_host(&snapshot.metal3_machine) {
        Ok(Some(name)) => Question::Host(name),
        _ => Question::Hosts,
    };
    pass.prove(question, |status, why| status.deleting(reason::DELETION_FAILED, why))
}

/// Every host that names this machine, and the one that it knows as its own.
fn hosts<'s>(snapshot: &'s MachineSnapshot<'_>) -> impl Iterator<Item = &'s Arc<BareMetalHost>> {
    snapshot.host.iter().chain(&snapshot.surplus).chain(&snapshot.held)
}

/// The deletion of the definition of Metal3Machines marks every machine as deleted, though nobody wants the hosts wiped.
/// Before a host is cleared the server must say that the definition stays.
fn confirm_that_the_kind_stays(pass: &mut Pass<'_>) -> Step {
    let question = Question::Definition;
    if !pass.snapshot.live.has_answered(&question) {
        return Err(pass.ask(question));
    }
    if pass.snapshot.live.doubt(&question).is_none() {
        return Ok(());
    }
    let wait = Wait::DefinitionDeleting;
    pass.event_with_status(true, event::HOST_REFUSED, wait.to_string());
    pass.status().deleting(reason::DEFINITION_DELETING, &wait);
    Err(End::WaitFor(wait))
}

/// Whoever would keep the host for the next machine and is not seen must be proven to be gone before the host is given to
/// all. Where a neighbour that is seen rules a reservation out, nothing is asked.
fn confirm_that_nobody_reserves(pass: &mut Pass<'_>) -> Step {
    let snapshot = pass.snapshot;
    let is_ruled_out = snapshot.cluster.as_deref().is_some_and(|cluster| cluster.metadata.is_deleting())
        || snapshot.template.as_deref().is_some_and(|template| template.spec.node_reuse != Some(true));
    if is_ruled_out {
        return Ok(());
    }
    for question in unseen_neighbours(snapshot) {
        pass.prove(question, |status, why| status.deleting(reason::DELETION_FAILED, why))?;
    }
    Ok(())
}

/// The label on the Secret of the management controller must go with the host: nobody takes it off later.
fn confirm_that_credentials_are_seen(pass: &mut Pass<'_>) -> Step {
    let snapshot = pass.snapshot;
    let name = snapshot.host.as_ref().and_then(|host| host.spec.bmc.credentials_name.as_deref());
    match name.filter(|name| !name.is_empty() && snapshot.bmc_secret.is_none()) {
        Some(name) => {
            let question = Question::Credentials(name.to_owned());
            pass.prove(question, |status, why| status.deleting(reason::DELETION_FAILED, why))
        }
        None => Ok(()),
    }
}

/// Those on whom a reservation depends, that are named and not seen.
fn unseen_neighbours(snapshot: &MachineSnapshot<'_>) -> Vec<Question> {
    let machine = &snapshot.metal3_machine.metadata;
    let of_set = snapshot.machine.as_ref().and_then(|m| m.metadata.owner(CAPI_GROUP, "MachineSet"));
    let unseen = |is_seen: bool, name: Option<&str>| name.filter(|_| !is_seen).map(str::to_owned);
    let template = machine_template_name(&snapshot.metal3_machine);
    [
        unseen(snapshot.template.is_some(), template).map(Question::Template),
        unseen(snapshot.cluster.is_some(), machine.label(label::CLUSTER_NAME)).map(Question::Cluster),
        unseen(snapshot.machine.is_some(), snapshot.owner.as_deref()).map(Question::Machine),
        unseen(snapshot.machine_set.is_some(), of_set.map(|owner| owner.name.as_str()))
            .map(Question::MachineSet),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Every host that names this machine must be released before the finalizer is removed.
fn release_hosts(pass: &mut Pass<'_>) -> Step {
    confirm_that_no_host_is_held(pass)?;
    let snapshot = pass.snapshot;
    let steps: Vec<_> = hosts(snapshot).map(|host| (host, release_step_of(snapshot, host))).collect();
    if steps.iter().any(|(_, step)| matches!(step, ReleaseStep::Clear(_))) {
        confirm_that_the_kind_stays(pass)?;
    }
    if steps.iter().any(|(_, step)| matches!(step, ReleaseStep::Release(_))) {
        confirm_that_nobody_reserves(pass)?;
        confirm_that_credentials_are_seen(pass)?;
    }
    unlabel_bmc_secret(pass);
    let mut again = false;
    let (mut waits, mut lost) = (None, None);
    for (host, step) in steps {
        match step {
            ReleaseStep::NotOurs => lost = lost.or_else(|| why_it_stays(snapshot, host)),
            ReleaseStep::Clear(patch) => {
                host_patch::push_release(&mut pass.others, host, patch);
                again = true;
            }
            ReleaseStep::Wait(wait) => waits = Some(wait),
            ReleaseStep::Release(patch) => {
                let reserved = patch.pointer("/spec/consumerRef").is_some_and(|consumer| !consumer.is_null());
                host_patch::push_release(&mut pass.others, host, patch);
                let name = host.metadata.name_str();
                match reserved {
                    true => pass.event(
                        event::HOST_BOOKED,
                        format!("host {name} is released and reserved for the next machine of its owner"),
                    ),
                    false => {
                        pass.event(event::HOST_RELEASED, format!("host {name} is released"));
                        warn_of_lost_reservation(pass, host);
                    }
                }
            }
        }
    }
    match waits {
        _ if again => Err(End::Again),
        Some(wait) => {
            let wait = Wait::Deprovisioning(wait);
            pass.status().deleting(reason::DEPROVISIONING, &wait);
            Err(End::WaitFor(wait))
        }
        None => {
            if let Some(lost) = lost {
                pass.warning(event::HOST_LOST, lost);
            }
            Ok(())
        }
    }
}

/// Says that a host which `nodeReuse` asks to keep is given back to all.
fn warn_of_lost_reservation(pass: &mut Pass<'_>, host: &BareMetalHost) {
    let snapshot = pass.snapshot;
    let machine = snapshot.machine.as_deref();
    let label = machine.and_then(|machine| reuse_label(machine, snapshot.machine_set.as_deref()));
    let (cluster, template) = (snapshot.cluster.as_deref(), snapshot.template.as_deref());
    let in_use = snapshot.host.as_ref().is_some_and(|used| used.key() == host.key());
    if in_use && is_reservation_lost(cluster, template, label.as_deref()) {
        let message = format!(
            "nodeReuse is enabled, but host {} is not reserved for the next machine: the control plane or \
             MachineDeployment that owns the Machine is not found",
            host.metadata.name_str()
        );
        pass.warning(event::HOST_NOT_KEPT, message);
    }
}

/// What is reported of a host of another consumer that still has what this machine has put there.
fn why_it_stays(snapshot: &MachineSnapshot<'_>, host: &BareMetalHost) -> Option<String> {
    let Ownership::Other(consumer) = snapshot.ownership(host) else { return None };
    let name = host.metadata.name_str();
    has_user_data_of(&with_user_data(snapshot), host).then(|| {
        format!(
            "host {name} is consumed by {consumer}, so this machine is deleted without releasing the host; the node of this \
             machine keeps running on it until the host is wiped"
        )
    })
}

/// The next step in giving the host in use back: it may be reserved for the next machine of the same owner.
fn release_step_of(snapshot: &MachineSnapshot<'_>, host: &BareMetalHost) -> ReleaseStep {
    if snapshot.of_others.contains_key(host.metadata.name_str()) {
        return ReleaseStep::NotOurs;
    }
    let machine = snapshot.machine.as_deref();
    let label = machine.and_then(|machine| reuse_label(machine, snapshot.machine_set.as_deref()));
    let reservation = reservation(snapshot.cluster.as_deref(), snapshot.template.as_deref(), label);
    let in_use = snapshot.host.as_ref().is_some_and(|used| used.key() == host.key());
    let reservation = reservation.filter(|_| in_use);
    match has_lost_its_claim(snapshot, host) {
        true => step_after_lost_claim(snapshot, host, reservation),
        false => step(snapshot, host, reservation),
    }
}

/// Whether the machine is still on a host that lost the reference to it, or has not seen it clean yet.
fn has_lost_its_claim(snapshot: &MachineSnapshot<'_>, host: &BareMetalHost) -> bool {
    let machine = with_user_data(snapshot);
    is_left_of(&machine, host) || is_on_its_way_back(&machine, host)
}

/// The machine with its user data: what the status does not have yet is looked up where it comes from.
fn with_user_data(snapshot: &MachineSnapshot<'_>) -> Metal3Machine {
    let mut machine = snapshot.metal3_machine.as_ref().clone();
    if let (None, Some(capi)) = (&machine.status.user_data, snapshot.machine.as_deref()) {
        machine.status.user_data = user_data_secret(&machine, capi);
    }
    machine
}

/// The host is claimed again in the patch that clears it: without what is on it nothing else would tell, until it is
/// wiped, whose it is.
fn step_after_lost_claim(
    snapshot: &MachineSnapshot<'_>,
    host: &BareMetalHost,
    reservation: Option<Reservation>,
) -> ReleaseStep {
    let mut claimed = host.clone();
    let consumer = consumer_ref(&snapshot.metal3_machine);
    claimed.spec.consumer_ref = Some(consumer.clone());
    let claim = json!({"spec": {"consumerRef": consumer}});
    match step(snapshot, &claimed, reservation) {
        ReleaseStep::Clear(mut patch) => {
            json_patch::merge(&mut patch, &claim);
            ReleaseStep::Clear(patch)
        }
        ReleaseStep::Wait(_) => ReleaseStep::Clear(claim),
        done => done,
    }
}

/// The next step in giving a host back that the machine does not use.
pub(super) fn release_step_of_surplus(snapshot: &MachineSnapshot<'_>, host: &BareMetalHost) -> ReleaseStep {
    step(snapshot, host, None)
}

fn step(
    snapshot: &MachineSnapshot<'_>,
    host: &BareMetalHost,
    reservation: Option<Reservation>,
) -> ReleaseStep {
    let request = ReleaseRequest {
        machine: &snapshot.metal3_machine,
        cluster_name: snapshot.metal3_machine.metadata.label(label::CLUSTER_NAME),
        fast_track: snapshot.fast_track,
        reservation,
    };
    release_step(&request, host)
}

/// The label on the Secret of the management controller goes with the host, as far as the Secret can be written.
fn unlabel_bmc_secret(pass: &mut Pass<'_>) {
    let Some(secret) = pass.snapshot.bmc_secret.clone() else { return };
    let cluster = pass.snapshot.metal3_machine.metadata.label(label::CLUSTER_NAME);
    let is_ours = cluster.is_some() && secret.metadata.label(label::CLUSTER_NAME) == cluster;
    if !is_ours || pass.snapshot.bmc_secret_is_shared {
        return;
    }
    let mut new = secret.as_ref().clone();
    if let Some(labels) = &mut new.metadata.labels {
        labels.remove(label::CLUSTER_NAME);
    }
    // Before the host is released: once the machine is gone, nobody does it.
    pass.first.try_update_object(secret.as_ref(), &new);
}

fn release_claim(pass: &mut Pass<'_>) {
    let Some(claim) = pass.snapshot.claim.clone() else {
        return;
    };
    if !claim.metadata.is_owned_by_uid(pass.snapshot.metal3_machine.metadata.uid_str()) {
        return;
    }
    match pass.snapshot.data_to_delete.as_deref() {
        Some(data) => claim_release::release_with_data(&mut pass.others, &claim, data),
        None => claim_release::release(&mut pass.others, &claim),
    }
}

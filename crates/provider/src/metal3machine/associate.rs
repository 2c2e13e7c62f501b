//! The host of a machine: choose it, claim it, give it image and data, keep it in line.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine},
    reference::SecretRef,
    vocabulary::{event, label, reason},
};
use capm3_domain::{
    host::{self, HostChoice, HostOutcome, HostRequest, Ownership, annotated_host, ownership},
    provider_id,
};
use capm3_engine::{End, Object, ResourceKind, Write};

use super::{
    Snapshot, data,
    decide::{Pass, Step},
    host_spec,
};

/// Which host the machine would take, and why not the others. The very choice that the controller acts on.
pub fn choose_host(snapshot: &Snapshot) -> HostChoice {
    let machine = snapshot.machine.as_deref().cloned().unwrap_or_default();
    let reuse = host::reuse_label(&machine, snapshot.machine_set.as_deref());
    let request = HostRequest::new(&snapshot.metal3_machine, &machine, reuse);
    host::choose(&request, snapshot.candidates.iter().map(AsRef::as_ref))
}

/// Passes with the host claimed and the annotation set in memory.
pub(super) fn take_host(pass: &mut Pass<'_>, machine: &Machine) -> Step {
    take_user_data(pass, machine);
    let Some(host) = pass.snapshot.host.clone() else {
        data::choose_template(pass);
        let recorded = annotated_host(&pass.snapshot.metal3_machine);
        return match recorded {
            Ok(Some(name)) => Err(missing(pass, name)),
            Ok(None) => Err(claim_a_host(pass, machine)),
            // Taking another host would leave the recorded one behind.
            Err(error) => Err(no_host(pass, error.to_string())),
        };
    };
    match ownership(&pass.new, &host) {
        Ownership::Ours => {}
        Ownership::Nobody => return Err(write_claim(pass, &host, machine)),
        Ownership::Other(consumer) => {
            let name = host.metadata.name_str();
            return Err(no_host(
                pass,
                format!("host {name} is consumed by {consumer}; it is never taken away"),
            ));
        }
    }
    let (key, value) = host_spec::host_annotation(&host);
    pass.new.metadata.annotations.get_or_insert_default().insert(key, value);
    pass.status().host_taken();
    data::choose_template(pass);
    Ok(())
}

fn missing(pass: &mut Pass<'_>, name: &str) -> End {
    let message = format!("BareMetalHost {name} of this machine is not there");
    pass.status().meta_data_fails(reason::CREATE_ERROR, &message);
    End::WaitFor(message)
}

/// User data comes from the Machine; the machine's own field is used only where the Machine has none.
fn take_user_data(pass: &mut Pass<'_>, machine: &Machine) {
    if pass.new.status.user_data.is_some() {
        return;
    }
    let bootstrap = &machine.spec.bootstrap;
    let of_config = || bootstrap.config_ref.as_ref().and_then(|config| config.name.clone());
    let name = bootstrap.data_secret_name.clone().or_else(of_config);
    pass.new.status.user_data = match name {
        Some(name) => Some(SecretRef::new(machine.metadata.namespace_str(), name)),
        None => pass.new.spec.user_data.clone(),
    };
}

fn claim_a_host(pass: &mut Pass<'_>, machine: &Machine) -> End {
    let choice = choose_host(pass.snapshot);
    let chosen = match &choice.outcome {
        HostOutcome::Chosen(chosen) => chosen,
        HostOutcome::None => return no_host(pass, format!("no host is available: {}", choice.counts())),
        HostOutcome::Wait(booked) => {
            let booked: Vec<_> = booked.iter().map(|(host, state)| format!("{host} ({state})")).collect();
            return no_host(
                pass,
                format!("waiting for a host reserved for this owner: {}", booked.join(", ")),
            );
        }
        HostOutcome::Err(error) => return no_host(pass, error.to_string()),
    };
    let name = chosen.host.as_str();
    let host = pass.snapshot.candidates.iter().find(|h| h.metadata.name_str() == name).cloned();
    let Some(host) = host else { return End::Again };
    if let Some(wanted) = &chosen.fell_back_from_domain {
        let stands = host.metadata.label(label::FAILURE_DOMAIN).unwrap_or("no failure domain");
        pass.event(
            event::FAILURE_DOMAIN_FALLBACK,
            format!("no free host in failure domain {wanted}; host {name} in {stands} is taken instead"),
        );
    }
    write_claim(pass, &host, machine)
}

fn no_host(pass: &mut Pass<'_>, message: String) -> End {
    pass.status().host_failed(&message);
    End::WaitFor(message)
}

/// The claim is a compare-and-swap on the version of the host that was looked at: of two machines one wins, the
/// other looks again.
fn write_claim(pass: &mut Pass<'_>, host: &BareMetalHost, machine: &Machine) -> End {
    let mut claimed = host.clone();
    host_spec::claim(&mut claimed, &pass.new, &machine.spec.cluster_name);
    pass.others.update_object(host, &claimed);
    pass.event(event::HOST_CLAIMED, format!("host {} is taken", host.metadata.name_str()));
    End::Again
}

/// Gives the host image, data and power, and passes once the image is on the disk.
pub(super) fn provision_host(pass: &mut Pass<'_>) -> Step {
    let Some(host) = pass.snapshot.host.clone() else {
        return Ok(());
    };
    keep_host_in_line(pass)?;
    let state = host.state();
    let problem = host.status.error_message.as_deref().filter(|m| !m.is_empty());
    if state == capm3_api::vocabulary::host_state::PROVISIONED {
        pass.status().host_provisioned(reason::HOST_PROVISIONED, "");
        return Ok(());
    }
    let name = host.metadata.name_str();
    match problem {
        Some(problem) => {
            let message = format!("host {name} is {}: {problem}", or_new(state));
            pass.status().host_provisioned(reason::HOST_ERROR, &message);
            Err(End::WaitFor(message))
        }
        None => {
            pass.status()
                .host_provisioned(reason::HOST_PROVISIONING, &format!("host {name} is being provisioned"));
            Err(End::WaitFor(format!("host {name} to be provisioned; it is {}", or_new(state))))
        }
    }
}

fn or_new(state: &str) -> &str {
    if state.is_empty() { "new" } else { state }
}

/// Writes what the host still lacks, and what it tells into the status.
pub(super) fn keep_host_in_line(pass: &mut Pass<'_>) -> Step {
    let Some(host) = pass.snapshot.host.clone() else {
        return Ok(());
    };
    if ownership(&pass.new, &host) != Ownership::Ours {
        return Ok(());
    }
    match host_spec::provision_patch(&host, &pass.new) {
        Ok(None) => {}
        Ok(Some(patch)) => pass.others.writes.push(Write::Patch {
            kind: ResourceKind::of::<BareMetalHost>(),
            key: host.key(),
            subresource: None,
            version: host.metadata.resource_version.clone(),
            patch,
        }),
        Err(error) => {
            let message = error.to_string();
            pass.status().meta_data_fails(reason::CREATE_ERROR, &message);
            return Err(End::WaitFor(message));
        }
    }
    let domain = host.metadata.label(label::FAILURE_DOMAIN).map(str::to_owned);
    pass.new.status.failure_domain = domain.or_else(|| pass.new.spec.failure_domain.clone());
    pass.new.status.addresses = provider_id::addresses(&host);
    Ok(())
}

//! Metadata and network data of a machine: the claim, and the wait for what is rendered for it.

use crate::plan::End;
use capm3_api::{
    conditions::{Condition, find, is_true},
    metadata::MetadataExt,
    reference::{ObjectRef, SecretRef},
    v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataClaimSpec, Metal3Machine},
    vocabulary::{condition, event, finalizer, label, reason},
};
use capm3_domain::{
    data_template::{correction, machine_template_name},
    host::has_image,
    wait::{Text, Wait},
};
use kube::core::ObjectMeta;

use super::{
    decide::{Pass, Step},
    live_reads::Question,
};
use crate::{finalizers::remove_finalizer, owners::controlled_by};

/// Sets the data template by failure domain: before a host is taken by the assigned one, afterwards by the host's.
/// Frozen once a claim exists.
pub(super) fn choose_template(pass: &mut Pass<'_>) -> Step {
    confirm_that_there_is_no_mapping(pass)?;
    correct_template(pass);
    Ok(())
}

/// The same for a machine that runs, where its template maps failure domains: what it claimed stands, whatever others
/// wrote over its spec. Where it claimed
/// nothing there is nothing to keep, and it is too late to choose.
pub(super) fn keep_template(pass: &mut Pass<'_>) {
    if own_claim(pass).is_some() {
        correct_template(pass);
    }
}

fn correct_template(pass: &mut Pass<'_>) {
    let snapshot = pass.snapshot;
    let (host, template) = (snapshot.host.as_deref(), snapshot.template.as_deref());
    if let Some(correction) = correction(&pass.new, host, template, own_claim(pass)) {
        // Before a host is taken the template follows the assigned domain as a matter of course.
        if host.is_some() {
            pass.event(event::DATA_TEMPLATE_CHANGED, correction.to_string());
        }
        pass.new.spec.data_template = correction.to;
    }
}

/// A template that the cache does not show may still map the machine's domain, and after the claim it is too late.
fn confirm_that_there_is_no_mapping(pass: &mut Pass<'_>) -> Step {
    let snapshot = pass.snapshot;
    let is_open = own_claim(pass).is_none() && pass.new.status.rendered_data.is_none();
    let name = machine_template_name(&pass.new).filter(|_| is_open && snapshot.template.is_none());
    match name.map(|name| Question::Template(name.to_owned())) {
        Some(question) => {
            pass.prove(question, |status, wait| status.meta_data_fails(reason::META_DATA_FAILED, wait))
        }
        None => Ok(()),
    }
}

/// The claim of this machine, if it is really its own and not one of a predecessor of the same name.
fn own_claim<'a>(pass: &Pass<'a>) -> Option<&'a Metal3DataClaim> {
    let claim = pass.snapshot.claim.as_deref()?;
    let uid = pass.snapshot.metal3_machine.metadata.uid_str();
    claim.metadata.is_owned_by_uid(uid).then_some(claim)
}

/// Makes the claim if there is a template and no claim yet.
pub(super) fn claim(pass: &mut Pass<'_>) -> Step {
    take_user_secrets(pass)?;
    let Some(template) = pass.new.spec.data_template.clone() else {
        pass.status().meta_data_good();
        return Ok(());
    };
    if let Some(claim) =
        own_claim(pass).filter(|c| c.metadata.is_deleting() && c.status.rendered_data.is_none())
    {
        return Err(release_deleted_claim(pass, claim));
    }
    if own_claim(pass).is_some() || pass.new.status.rendered_data.is_some() {
        pass.status().meta_data_good();
        return Ok(());
    }
    if let Some(foreign) = pass.snapshot.claim.clone() {
        let wait = wait_for_foreign_claim(pass, &foreign);
        return Err(pass.wait(wait));
    }
    let is_held = pass.snapshot.held_data_templates.contains(template.name_str());
    let claim = new_claim(&pass.snapshot.metal3_machine, template, is_held);
    pass.others.create(&claim);
    pass.status().meta_data_good();
    Ok(())
}

/// The claim of an earlier machine of this name is released if the end of that machine was seen and no host of it is left:
/// until then its addresses are in use. Any other claim of this name stays: it may be the machine's own from before a
/// restore, which gives new uids.
fn wait_for_foreign_claim(pass: &mut Pass<'_>, claim: &Metal3DataClaim) -> Wait {
    let snapshot = pass.snapshot;
    let name = claim.metadata.name_str().to_owned();
    if snapshot.claim_is_of_former_machine {
        if snapshot.surplus.is_empty() && snapshot.held.is_empty() {
            super::claim_release::release(&mut pass.others, claim);
        }
        return Wait::FormerClaim(name);
    }
    Wait::ClaimOfOtherUid { claim: name, uid: snapshot.metal3_machine.metadata.uid_str().to_owned() }
}

/// A claim that was deleted before it was served is released, so that a new one can be made.
fn release_deleted_claim(pass: &mut Pass<'_>, claim: &Metal3DataClaim) -> End {
    let mut released = claim.clone();
    remove_finalizer(&mut released.metadata, finalizer::MACHINE);
    pass.others.update_object(claim, &released);
    pass.wait(Wait::DeletedClaim(claim.metadata.name_str().to_owned()))
}

/// The claim of a machine on a template. A template without a namespace is one of the machine's own; that is recorded in the
/// claim, while the machine's spec holds only what its user asked for. If the controller of the template holds it, its
/// finalizer is on the claim from the start: it would put it there first thing, so this saves a write.
pub fn new_claim(machine: &Metal3Machine, mut template: ObjectRef, is_held: bool) -> Metal3DataClaim {
    if template.namespace.as_deref().unwrap_or_default().is_empty() {
        template.namespace = Some(machine.metadata.namespace_str().into());
    }
    let finalizers = [finalizer::MACHINE].into_iter().chain(is_held.then_some(finalizer::DATA_CLAIM));
    Metal3DataClaim {
        metadata: ObjectMeta {
            name: machine.metadata.name.clone(),
            namespace: machine.metadata.namespace.clone(),
            labels: machine.metadata.labels.clone(),
            finalizers: Some(finalizers.map(str::to_owned).collect()),
            owner_references: Some(vec![controlled_by(machine)]),
            ..ObjectMeta::default()
        },
        spec: Metal3DataClaimSpec { template: Some(template) },
        ..Metal3DataClaim::default()
    }
}

/// Secrets given by the user win over rendered ones.
fn take_user_secrets(pass: &mut Pass<'_>) -> Step {
    let home = pass.namespace().to_owned();
    let spec = pass.new.spec.clone();
    for (field, given) in [("metaData", &spec.meta_data), ("networkData", &spec.network_data)] {
        let Some(given) = given else { continue };
        let namespace = given.namespace.as_deref().filter(|n| !n.is_empty()).unwrap_or(&home);
        if namespace != home {
            let found = namespace.to_owned();
            return Err(pass.wait(Wait::SecretNamespace { field, found, expected: home }));
        }
        let slot = match field {
            "metaData" => &mut pass.new.status.meta_data,
            _ => &mut pass.new.status.network_data,
        };
        *slot = Some(given.clone());
    }
    Ok(())
}

/// Waits until the user's Secrets are there and the data is rendered, then takes its Secrets into the status.
pub(super) fn wait(pass: &mut Pass<'_>) -> Step {
    let missing = &pass.snapshot.missing_secrets;
    // A host that has an image has read them.
    if !missing.is_empty() && !pass.snapshot.host.as_deref().is_some_and(has_image) {
        return Err(pass.wait(Wait::Secrets(missing.clone())));
    }
    let Some(template) = pass.new.spec.data_template.clone() else {
        if pass.new.status.rendered_data.is_none() {
            warn_of_stranded_secrets(pass);
            pass.status().data_ready(reason::SECRETS_SET_EXTERNALLY);
            return Ok(());
        }
        return take_data(pass, "");
    };
    let claim = own_claim(pass);
    if let Some(rendered) = claim.and_then(|c| c.status.rendered_data.clone()) {
        // Data that could not be rendered may have been replaced.
        pass.new.status.rendered_data = Some(rendered);
    }
    if pass.new.status.rendered_data.is_none() {
        let status = claim.map(|claim| &claim.status);
        let report = status.and_then(|status| report(status.error_message.as_deref(), &status.conditions));
        let missing = pass.snapshot.missing_data_template.as_ref();
        let missing_in = missing.map(|key| key.namespace.clone());
        let template = template.name_str().to_owned();
        return Err(pass.wait(Wait::DataTemplate { template, missing_in, report }));
    }
    take_data(pass, template.name_str())
}

fn take_data(pass: &mut Pass<'_>, template: &str) -> Step {
    let name = pass.new.status.rendered_data.as_ref().map(|r| r.name_str().to_owned()).unwrap_or_default();
    let Some(data) = pass.snapshot.data.clone() else {
        return Err(pass.wait(Wait::Data { data: name, template: template.to_owned() }));
    };
    if data.status.ready != Some(true) {
        let report = report(data.status.error_message.as_deref(), &data.status.conditions);
        return Err(pass.wait(Wait::Rendering { data: name, report }));
    }
    if !is_true(&pass.new.status.conditions, condition::DATA_READY) {
        pass.log_with_status(event::DATA_READY, format!("Metal3Data {name} is rendered"));
    }
    warn_of_stranded_secrets(pass);
    pass.status().data_ready(reason::DATA_SECRETS_READY);
    let given = |secret: &Option<SecretRef>| secret_of(&data, secret.as_ref());
    if pass.new.status.meta_data.is_none() {
        pass.new.status.meta_data = given(&data.spec.meta_data);
    }
    if pass.new.status.network_data.is_none() {
        pass.new.status.network_data = given(&data.spec.network_data);
    }
    Ok(())
}

/// What data or claim report of why they are not ready: failures at once, and waits that last, so that this costs the
/// machine no write for what is over within a moment.
fn report(error_message: Option<&str>, conditions: &[Condition]) -> Option<Text> {
    let waits = || find(conditions, condition::READY).filter(|ready| ready.status == "False");
    error_message.map(Text::new).or_else(|| waits().map(|ready| Text::new(&ready.message)))
}

/// Says once, when the machine takes them into use, which Secrets of the user a move would leave behind.
fn warn_of_stranded_secrets(pass: &mut Pass<'_>) {
    if is_true(&pass.new.status.conditions, condition::DATA_READY) {
        return;
    }
    for (field, name) in &pass.snapshot.stranded_secrets {
        let message = format!(
            "Secret {name}, which spec.{field} names, has no owner: clusterctl move leaves it behind unless it is \
             labelled {}",
            label::MOVE
        );
        pass.event_with_status(true, event::SECRET_STAYS_BEHIND, message);
    }
}

fn secret_of(data: &Metal3Data, secret: Option<&SecretRef>) -> Option<SecretRef> {
    let name = secret?.name.as_deref().filter(|n| !n.is_empty())?;
    Some(SecretRef::new(data.metadata.namespace_str(), name))
}

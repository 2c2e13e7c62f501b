//! The data template and the index of each machine, as the controllers of machines and templates give them.
//!
//! Takes the machines and the memory; puts the claims that the machines would make into it, lets each template serve its claims,
//! and puts the data there.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{
    metadata::MetadataExt,
    reference::ObjectRef,
    v1beta2::{GROUP, Metal3Data, Metal3DataClaim, Metal3MachineTemplate},
};
use capm3_domain::data_template::{correction, machine_template_name};
use capm3_engine::{Memory, Object, ObjectKey, Reader, manifests::Problem};
use capm3_provider::{
    indexes::DATA_BY_CLAIM,
    metal3datatemplate::{allocated, observe},
    metal3machine::new_claim,
};

use super::{
    case::Case,
    made::{made_time, made_uid},
    site::Site,
};

/// What a template gives to a claim.
type Outcome = Result<Option<Metal3Data>, String>;

/// Gives each machine its data template, and its data with an index.
pub(super) fn allocate<'d>(site: &Site<'d>, memory: &mut Memory, cases: &mut [Case<'d>]) {
    for case in cases.iter_mut().filter(|case| case.problem.is_none()) {
        choose_template(site, memory, case);
    }
    for case in cases.iter().filter(|case| case.problem.is_none() && case.template.is_some()) {
        put_claim(memory, case);
    }
    let mut outcomes = serve(memory, cases);
    for case in cases.iter_mut().filter(|case| case.problem.is_none()) {
        if let Some(template) = case.template.clone() {
            let outcome = outcomes.remove(&case.key()).unwrap_or(Ok(None));
            take(memory, case, &template.document.key(), outcome);
        }
    }
}

/// The template by claim or rack, as the controllers set it.
fn choose_template<'d>(site: &Site<'d>, memory: &mut Memory, case: &mut Case<'d>) {
    let template = machine_template_name(&case.machine).map(|name| case.here(name));
    let template = template.and_then(|key| memory.get::<Metal3MachineTemplate>(&key));
    let claim = memory.get::<Metal3DataClaim>(&case.key());
    let correction = correction(&case.machine, case.host.as_ref(), template.as_deref(), claim.as_deref());
    if let Some(correction) = correction {
        case.machine.spec.data_template = correction.to;
    }
    memory.put(case.machine.clone());
    let Some(reference) = case.machine.spec.data_template.clone() else { return };
    let home = case.machine.metadata.namespace_str();
    let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    if namespace.is_some_and(|namespace| namespace != home) {
        let message = format!("a data template must be in the machine's namespace {home}");
        return case.fail("spec.dataTemplate.namespace", message);
    }
    let key = case.here(reference.name_str());
    match site.get(memory, &key) {
        Some(template) => case.template = Some(template),
        None => case.problem = Some(missing_template(site, memory, case, &key)),
    }
}

/// At the line that names the template: in the machine of the files, else in the template that the machine is made from.
fn missing_template(site: &Site<'_>, memory: &Memory, case: &Case<'_>, key: &ObjectKey) -> Problem {
    let message = format!("machine {}: Metal3DataTemplate {key} is not in the files; add it", case.name());
    let made_from = machine_template_name(&case.machine).map(|name| case.here(name));
    let made_from = made_from.and_then(|key| site.get::<Metal3MachineTemplate>(memory, &key));
    let Some(found) = made_from else { return case.origin.problem("spec.dataTemplate", message) };
    let rows = found.object.spec.failure_domain_data_templates.iter();
    let row = rows.enumerate().find(|(_, row)| row.data_template.name_str() == key.name);
    match row {
        Some((row, _)) => {
            let field = format!("spec.failureDomainDataTemplates[{row}].dataTemplate");
            found.document.problem(&field, message)
        }
        None => found.document.problem("spec.template.spec.dataTemplate", message),
    }
}

/// Puts the claim of a machine into the memory, if the files have none. Data that names the claim knows the uid that it had.
fn put_claim(memory: &mut Memory, case: &Case<'_>) {
    let (key, machine) = (case.key(), &case.machine);
    let Some(template) = machine.spec.data_template.clone().filter(|_| !is_claimed(memory, &key)) else {
        return;
    };
    let mut claim = new_claim(machine, template, false);
    claim.metadata.creation_timestamp = made_time(case.number);
    let datas = memory.by_index(&DATA_BY_CLAIM, &key.to_string());
    let owner = datas.iter().find_map(|data| data.metadata.owner(GROUP, Metal3DataClaim::API.kind));
    claim.metadata.uid = Some(owner.map_or_else(|| made_uid(&key), |owner| owner.uid.clone()));
    claim.status.rendered_data.clone_from(&machine.status.rendered_data);
    memory.put(claim);
}

fn is_claimed(memory: &Memory, machine: &ObjectKey) -> bool {
    memory.get::<Metal3DataClaim>(machine).is_some()
}

/// Lets each template serve its claims, by name. A pause changes nothing about what is rendered.
fn serve(memory: &mut Memory, cases: &[Case<'_>]) -> BTreeMap<ObjectKey, Outcome> {
    let templates = cases.iter().filter_map(|case| Some(case.template.as_ref()?.document.key()));
    let templates: BTreeSet<ObjectKey> = templates.collect();
    let mut outcomes = BTreeMap::new();
    for template in templates {
        let served = observe(memory, &template).map(|mut snapshot| {
            snapshot.paused_clusters.clear();
            allocated(&snapshot)
        });
        for (claim, mut outcome) in served.into_iter().flatten() {
            if let Ok(Some(data)) = &mut outcome {
                if data.metadata.uid_str().is_empty() {
                    data.metadata.uid = Some(made_uid(&data.key()));
                }
                memory.put(data.clone());
            }
            outcomes.insert(claim, outcome);
        }
    }
    outcomes
}

/// Takes what the template gives, or what the claim uses already.
fn take(memory: &Memory, case: &mut Case<'_>, template: &ObjectKey, outcome: Outcome) {
    match outcome {
        Ok(Some(data)) => case.data = Some(data),
        Ok(None) => {
            let claim = memory.get::<Metal3DataClaim>(&case.key());
            let used = case.machine.status.rendered_data.clone();
            let used = used.or_else(|| claim.as_ref().and_then(|claim| claim.status.rendered_data.clone()));
            take_used(memory, case, template, used.as_ref());
        }
        Err(message) => case.fail("", format!("Metal3DataTemplate {template}: {message}")),
    }
}

fn take_used(memory: &Memory, case: &mut Case<'_>, template: &ObjectKey, used: Option<&ObjectRef>) {
    let Some(used) = used.map(|used| case.here(used.name_str())) else {
        let held = "the claim is paused or being deleted; the template gives it no index";
        return case.fail("", format!("Metal3DataTemplate {template}: {held}"));
    };
    match memory.get::<Metal3Data>(&used) {
        Some(data) => case.data = Some(data.as_ref().clone()),
        None => case.fail("", format!("Metal3Data {used}, which it uses, is not in the files; add it")),
    }
}

//! Which machines there are: those of the files, and those that would be made.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, Machine},
    reference::ObjectRef,
    v1beta2::{Metal3DataTemplate, Metal3Machine, Metal3MachineTemplate},
    vocabulary::{MACHINE_TEMPLATE_GROUP_KIND, annotation, label},
};
use capm3_domain::host::reuse_label;
use capm3_engine::{
    ObjectKey,
    manifests::{Document, Problem},
};
use capm3_provider::metal3machine::is_provisioned;

use super::{
    Options,
    case::Case,
    owners,
    site::{Located, Site},
};

/// Every machine, those of the files first, by name; then those to be made, by number.
pub(super) fn cases<'d>(site: &'d Site<'d>, options: &Options, problems: &mut Vec<Problem>) -> Vec<Case<'d>> {
    let given = site.machines.values().filter(|found| !found.object.metadata.is_deleting());
    let mut cases: Vec<Case<'d>> = given.map(|found| case_of(site, found)).collect();
    match options.machines {
        Some(count) => cases.extend(made_up(site, count, options.template.as_deref(), problems)),
        None => cases.extend(owners::missing(site, problems)),
    }
    cases
}

/// A machine of the files. Where its owner is not there, one of the same name is assumed, as Cluster API makes them.
fn case_of<'d>(site: &'d Site<'d>, found: &'d Located<'d, Metal3Machine>) -> Case<'d> {
    let mut machine = found.object.clone();
    let key = found.document.key();
    let owner = machine.metadata.owner(CAPI_GROUP, "Machine").map(|owner| owner.name.clone());
    let owner = owner.unwrap_or_else(|| key.name.clone());
    let owner = site.owners.get(&ObjectKey::new(&key.namespace, owner));
    let owner = owner.map_or_else(|| owner_for(&machine), |owner| owner.object.clone());
    // From a machine that is provisioned Cluster API copies the domain the other way.
    if !is_provisioned(&machine) {
        machine.spec.failure_domain.clone_from(&owner.spec.failure_domain);
    }
    let set =
        owner.metadata.owner(CAPI_GROUP, "MachineSet").map(|set| ObjectKey::new(&key.namespace, &set.name));
    let set = set.and_then(|key| site.machine_sets.get(&key)).map(|found| &found.object);
    let reservation = reuse_label(&owner, set);
    Case { reservation, ..Case::new(found.document, machine, owner) }
}

/// The Machine that Cluster API would have made for a Metal3Machine.
pub(super) fn owner_for(machine: &Metal3Machine) -> Machine {
    let mut owner = Machine::default();
    owner.metadata.name.clone_from(&machine.metadata.name);
    owner.metadata.namespace.clone_from(&machine.metadata.namespace);
    owner.metadata.labels.clone_from(&machine.metadata.labels);
    owner.spec.cluster_name = machine.metadata.label(label::CLUSTER_NAME).unwrap_or_default().to_owned();
    owner.spec.failure_domain.clone_from(&machine.spec.failure_domain);
    owner
}

/// A machine as Cluster API makes it from a template.
pub(super) fn clone_of(
    template: &Metal3MachineTemplate,
    name: String,
    cluster: Option<&str>,
) -> Metal3Machine {
    let mut machine = Metal3Machine { spec: template.spec.template.spec.clone(), ..Metal3Machine::default() };
    let passed_on = template.spec.template.metadata.clone().unwrap_or_default();
    let mut labels = passed_on.labels;
    labels.extend(cluster.map(|cluster| (label::CLUSTER_NAME.to_owned(), cluster.to_owned())));
    let mut annotations = passed_on.annotations;
    let from = template.metadata.name_str().to_owned();
    annotations.insert(annotation::CLONED_FROM_NAME.to_owned(), from);
    annotations.insert(annotation::CLONED_FROM_GROUP_KIND.to_owned(), MACHINE_TEMPLATE_GROUP_KIND.to_owned());
    machine.metadata.name = Some(name);
    machine.metadata.namespace.clone_from(&template.metadata.namespace);
    machine.metadata.labels = Some(labels);
    machine.metadata.annotations = Some(annotations);
    machine
}

/// What made-up machines are made from.
enum Pattern<'d> {
    Machine(&'d Located<'d, Metal3MachineTemplate>),
    Data(&'d Located<'d, Metal3DataTemplate>),
}

fn made_up<'d>(
    site: &'d Site<'d>,
    count: usize,
    template: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Vec<Case<'d>> {
    match pattern(site, template) {
        Ok(pattern) => {
            let is_new = |case: &Case<'_>| !site.machines.contains_key(&case.key());
            (0..).map(|number| made_from(&pattern, number)).filter(is_new).take(count).collect()
        }
        Err(message) => {
            problems.push(Problem { file: "--machines".to_owned(), line: 0, message, code: None });
            Vec::new()
        }
    }
}

fn pattern<'d>(site: &'d Site<'d>, template: Option<&str>) -> Result<Pattern<'d>, String> {
    let Some(name) = template else {
        let first = site.data_templates.values().min_by_key(|found| place(found.document));
        return first.map(Pattern::Data).ok_or_else(|| "the files have no Metal3DataTemplate".to_owned());
    };
    let machine = site.machine_templates.iter().find(|(key, _)| key.name == name);
    let data = site.data_templates.iter().find(|(key, _)| key.name == name);
    match (machine, data) {
        (Some((_, machine)), _) => Ok(Pattern::Machine(machine)),
        (None, Some((_, data))) => Ok(Pattern::Data(data)),
        (None, None) => {
            let keys = site.machine_templates.keys().chain(site.data_templates.keys());
            let names: Vec<&str> = keys.map(|key| key.name.as_str()).collect();
            Err(format!("no template {name} in the files; available: {}", names.join(", ")))
        }
    }
}

fn place(document: &Document) -> (&str, usize) {
    (&document.file, document.line())
}

fn made_from<'d>(pattern: &Pattern<'d>, number: usize) -> Case<'d> {
    match pattern {
        Pattern::Machine(template) => {
            let name = format!("{}-{number}", template.object.metadata.name_str());
            let machine = clone_of(&template.object, name, None);
            let owner = owner_for(&machine);
            Case::new(template.document, machine, owner)
        }
        Pattern::Data(template) => {
            let mut machine = Metal3Machine::default();
            machine.metadata.name = Some(format!("machine-{number}"));
            machine.metadata.namespace.clone_from(&template.object.metadata.namespace);
            let key = template.document.key();
            machine.spec.data_template = Some(ObjectRef::new(key.namespace, key.name));
            let owner = owner_for(&machine);
            Case::new(template.document, machine, owner)
        }
    }
}

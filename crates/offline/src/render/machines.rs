//! Which machines there are: those of the files, and those that would be made.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, Machine},
    reference::ObjectRef,
    v1beta2::{Metal3DataTemplate, Metal3Machine, Metal3MachineTemplate},
    vocabulary::{MACHINE_TEMPLATE_GROUP_KIND, annotation, label},
};
use capm3_engine::{
    Memory, Object, ObjectKey, Reader,
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
pub(super) fn cases<'d>(
    site: &Site<'d>,
    memory: &Memory,
    options: &Options,
    problems: &mut Vec<Problem>,
) -> Vec<Case<'d>> {
    let mut given: Vec<Located<'d, Metal3Machine>> = site.all(memory);
    given.retain(|found| !found.object.metadata.is_deleting());
    let mut cases: Vec<Case<'d>> = given.iter().map(|found| case_of(memory, found)).collect();
    let made = match options.machines {
        Some(count) => made_up(site, memory, count, options.template.as_deref(), problems),
        None => owners::missing(site, memory, problems),
    };
    cases.extend(made.into_iter().enumerate().map(|(number, case)| Case { number: number + 1, ..case }));
    cases
}

/// A machine of the files. Where its owner is not there, one of the same name is assumed, as Cluster API makes them.
fn case_of<'d>(memory: &Memory, found: &Located<'d, Metal3Machine>) -> Case<'d> {
    let mut machine = found.object.as_ref().clone();
    let key = machine.key();
    let owner = machine.metadata.owner(CAPI_GROUP, "Machine").map(|owner| owner.name.clone());
    let owner = owner.unwrap_or_else(|| key.name.clone());
    let owner = memory.get::<Machine>(&ObjectKey::new(&key.namespace, owner));
    let owner = owner.map_or_else(|| owner_for(&machine), |owner| owner.as_ref().clone());
    // From a machine that is provisioned Cluster API copies the domain the other way.
    if !is_provisioned(&machine) {
        machine.spec.failure_domain.clone_from(&owner.spec.failure_domain);
    }
    Case::new(found.document, machine, owner)
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
    Machine(Located<'d, Metal3MachineTemplate>),
    Data(Located<'d, Metal3DataTemplate>),
}

fn made_up<'d>(
    site: &Site<'d>,
    memory: &Memory,
    count: usize,
    template: Option<&str>,
    problems: &mut Vec<Problem>,
) -> Vec<Case<'d>> {
    match pattern(site, memory, template) {
        Ok(pattern) => {
            let is_new = |case: &Case<'_>| memory.get::<Metal3Machine>(&case.key()).is_none();
            (0..).map(|number| made_from(&pattern, number)).filter(is_new).take(count).collect()
        }
        Err(message) => {
            problems.push(Problem { file: "--machines".to_owned(), line: 0, message, code: None });
            Vec::new()
        }
    }
}

fn pattern<'d>(site: &Site<'d>, memory: &Memory, template: Option<&str>) -> Result<Pattern<'d>, String> {
    let machine: Vec<Located<'d, Metal3MachineTemplate>> = site.all(memory);
    let data: Vec<Located<'d, Metal3DataTemplate>> = site.all(memory);
    let Some(name) = template else {
        let first = data.into_iter().min_by_key(|found| place(found.document));
        return first.map(Pattern::Data).ok_or_else(|| "the files have no Metal3DataTemplate".to_owned());
    };
    let of_machines = machine.iter().map(|found| found.object.metadata.name_str());
    let names: Vec<&str> =
        of_machines.chain(data.iter().map(|found| found.object.metadata.name_str())).collect();
    let unknown = format!("no template {name} in the files; available: {}", names.join(", "));
    let machine = machine.into_iter().find(|found| found.object.metadata.name_str() == name);
    let data = data.into_iter().find(|found| found.object.metadata.name_str() == name);
    machine.map(Pattern::Machine).or_else(|| data.map(Pattern::Data)).ok_or(unknown)
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

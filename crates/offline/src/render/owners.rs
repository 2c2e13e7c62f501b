//! Machines that control planes, MachineDeployments and MachineSets of the files ask for and that are not there.

use std::{collections::BTreeSet, sync::Arc};

use capm3_api::{
    metadata::{MetadataExt, group_of},
    neighbours::{CONTROL_PLANE_GROUP, Cluster},
    v1beta2::{Metal3Cluster, Metal3Machine, Metal3MachineTemplate},
    vocabulary::label,
};
use capm3_domain::data_template::machine_template_name;
use capm3_engine::{
    Memory, Object, ObjectKey, Reader,
    manifests::{Document, Problem},
};
use serde_json::Value;

use super::{
    case::Case,
    machines::{clone_of, owner_for},
    site::{Located, Site},
};

/// Where an owner says which template its machines are made from, in the versions of Cluster API.
const TEMPLATES: [&str; 3] = [
    "spec.machineTemplate.spec.infrastructureRef",
    "spec.machineTemplate.infrastructureRef",
    "spec.template.spec.infrastructureRef",
];

/// One case for each machine that is asked for and not there.
pub(super) fn missing<'d>(site: &Site<'d>, memory: &Memory, problems: &mut Vec<Problem>) -> Vec<Case<'d>> {
    let mut cases = Vec::new();
    let machines: Vec<Located<'d, Metal3Machine>> = site.all(memory);
    let mut names: BTreeSet<ObjectKey> = machines.iter().map(|found| found.object.key()).collect();
    for document in site.scalable.iter().copied().filter(|document| !is_owned(document)) {
        match Asked::of(site, memory, document) {
            Ok(Some(asked)) => cases.extend(asked.cases(&machines, &mut names)),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    cases
}

/// A MachineSet of a MachineDeployment asks for nothing of its own.
fn is_owned(document: &Document) -> bool {
    let owners = document.value_at("metadata.ownerReferences").and_then(Value::as_array);
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["kind"] == "MachineDeployment"))
}

/// What an owner asks for.
struct Asked<'d> {
    document: &'d Document,
    template: Arc<Metal3MachineTemplate>,
    replicas: usize,
    cluster: Option<String>,
    /// Failure domains in turn.
    domains: Vec<String>,
    is_control_plane: bool,
}

impl<'d> Asked<'d> {
    /// None for an owner whose machines are not of Metal3.
    fn of(site: &Site<'d>, memory: &Memory, document: &'d Document) -> Result<Option<Self>, Problem> {
        let Some(field) = TEMPLATES.into_iter().find(|field| document.value_at(field).is_some()) else {
            return Ok(None);
        };
        let text = |member: &str| text(document, &format!("{field}.{member}"));
        if text("kind").is_none_or(|kind| kind != "Metal3MachineTemplate") {
            return Ok(None);
        }
        let key = ObjectKey::new(document.key().namespace, text("name").unwrap_or_default());
        let template = memory.get::<Metal3MachineTemplate>(&key).ok_or_else(|| {
            document.problem(field, format!("Metal3MachineTemplate {key} is not in the files; add it"))
        })?;
        let replicas = document.value_at("spec.replicas").and_then(Value::as_u64).unwrap_or(1);
        let cluster = cluster_of(site, memory, document);
        let is_control_plane = group_of(document.api_version()) == CONTROL_PLANE_GROUP;
        let domains = match is_control_plane {
            true => control_plane_domains(memory, document, cluster.as_deref()),
            false => self::text(document, "spec.template.spec.failureDomain").into_iter().collect(),
        };
        Ok(Some(Self {
            document,
            template,
            replicas: usize::try_from(replicas).unwrap_or(usize::MAX),
            cluster,
            domains,
            is_control_plane,
        }))
    }

    /// The machines that are not there yet. A control plane and a deployment may have one name, but no two machines have:
    /// `names` are those in use.
    fn cases(
        &self,
        machines: &[Located<'d, Metal3Machine>],
        names: &mut BTreeSet<ObjectKey>,
    ) -> Vec<Case<'d>> {
        let own = |machine: &Metal3Machine| {
            machine.metadata.namespace == self.template.metadata.namespace
                && machine_template_name(machine) == Some(self.template.metadata.name_str())
        };
        let there = machines.iter().filter(|found| own(&found.object)).count();
        let owner = self.document.key();
        let mut free = (there..).map(|number| format!("{}-{number}", owner.name));
        let mut name = || free.find(|name| names.insert(ObjectKey::new(&owner.namespace, name)));
        (there..self.replicas).filter_map(|number| Some(self.case(number, name()?))).collect()
    }

    fn case(&self, number: usize, name: String) -> Case<'d> {
        let mut machine = clone_of(&self.template, name, self.cluster.as_deref());
        let labels = machine.metadata.labels.get_or_insert_default();
        if self.is_control_plane {
            labels.insert(label::CONTROL_PLANE.to_owned(), String::new());
        }
        let turn = number.checked_rem(self.domains.len()).and_then(|turn| self.domains.get(turn));
        machine.spec.failure_domain = turn.cloned();
        let owner = owner_for(&machine);
        Case::new(self.document, machine, owner)
    }
}

fn text(document: &Document, field: &str) -> Option<String> {
    document.value_at(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The Cluster that the owner names by field or label, or that names the owner as its control plane.
fn cluster_of(site: &Site<'_>, memory: &Memory, document: &Document) -> Option<String> {
    let key = document.key();
    let names_it = |cluster: &&Document| {
        cluster.key().namespace == key.namespace
            && text(cluster, "spec.controlPlaneRef.name").as_ref() == Some(&key.name)
            && text(cluster, "spec.controlPlaneRef.kind").as_deref() == Some(document.kind())
    };
    text(document, "spec.clusterName")
        .or_else(|| text(document, &format!("metadata.labels[{}]", label::CLUSTER_NAME)))
        .or_else(|| {
            let clusters: Vec<Located<'_, Cluster>> = site.all(memory);
            clusters.iter().map(|found| found.document).find(names_it).map(|cluster| cluster.key().name)
        })
}

/// Where machines of the control plane may stand, by name: Cluster API spreads them evenly.
fn control_plane_domains(memory: &Memory, document: &Document, cluster: Option<&str>) -> Vec<String> {
    let here = |name: &str| ObjectKey::new(document.key().namespace, name);
    let cluster = cluster.and_then(|name| memory.get::<Cluster>(&here(name)));
    let name = cluster.and_then(|cluster| cluster.spec.infrastructure_ref.as_ref()?.name.clone());
    let Some(found) = name.and_then(|name| memory.get::<Metal3Cluster>(&here(&name))) else {
        return Vec::new();
    };
    let domains = found.spec.failure_domains.iter();
    let mut names: Vec<String> = domains
        .filter(|domain| domain.control_plane == Some(true))
        .map(|domain| domain.name.clone())
        .collect();
    names.sort();
    names
}

//! What asks for machines: control planes, MachineDeployments and MachineSets.
//!
//! Takes the objects; gives for each owner how many machines it asks for, from which template, and in which failure domains.

use std::collections::BTreeSet;

use capm3_api::{
    neighbours::{CAPI_GROUP, CONTROL_PLANE_GROUP},
    v1beta2::{Metal3Cluster, Metal3DataTemplate, Metal3MachineTemplate},
    vocabulary::label,
};
use serde_json::Value;

use crate::{
    lint::{Manifests, RawObject, Subject},
    validation::node::Node,
};

/// Where an owner names its template, in the versions of Cluster API.
const TEMPLATES: [&[&str]; 3] = [
    &["machineTemplate", "spec", "infrastructureRef"],
    &["machineTemplate", "infrastructureRef"],
    &["template", "spec", "infrastructureRef"],
];

/// Where an owner says how a roll-out goes, likewise.
const STRATEGIES: [&[&str]; 3] = [&["rollout", "strategy"], &["rolloutStrategy"], &["strategy"]];

/// Something that asks for machines.
pub(super) struct Owner<'a> {
    /// The object.
    pub object: &'a RawObject<'a>,
    /// How many machines it asks for.
    pub replicas: u64,
    /// How many more there may be while it rolls out.
    pub surge: u64,
    /// What its machines are made from.
    pub template: &'a Subject<Metal3MachineTemplate>,
    /// The Cluster that it belongs to.
    pub cluster: Option<&'a str>,
    /// The failure domains over which its machines are spread evenly; empty if none is asked for.
    pub domains: BTreeSet<&'a str>,
}

impl<'a> Owner<'a> {
    fn of(manifests: &'a Manifests<'a>, object: &'a RawObject<'a>) -> Option<Self> {
        let is_control_plane = object.group == CONTROL_PLANE_GROUP;
        let is_capi = object.group == CAPI_GROUP && matches!(object.kind, "MachineDeployment" | "MachineSet");
        if !(is_control_plane || is_capi) || is_owned(object) {
            return None;
        }
        let spec = object.root().at("spec");
        let reference = TEMPLATES.iter().map(|path| descend(&spec, path)).find(|it| it.value().is_some())?;
        let template = manifests.machine_templates.get(&object.namespace, reference.at("name").text()?)?;
        let cluster = cluster_of(manifests, object);
        let domains = match is_control_plane {
            true => {
                let cluster = cluster.and_then(|name| metal3_cluster(manifests, &object.namespace, name));
                cluster.map(control_plane_domains).unwrap_or_default()
            }
            false => descend(&spec, &["template", "spec", "failureDomain"]).text().into_iter().collect(),
        };
        let replicas = spec.at("replicas").int().map_or(1, |replicas| u64::try_from(replicas).unwrap_or(0));
        let surge = if object.kind == "MachineSet" { 0 } else { surge(&spec, replicas) };
        Some(Self { object, replicas, surge, template, cluster, domains })
    }

    /// The data templates of its machines, each with how many of them it makes data for at least. Where it depends on the hosts
    /// that are taken, that is not known, and the template is left out.
    pub fn data_templates(
        &self,
        manifests: &'a Manifests<'a>,
    ) -> Vec<(&'a Subject<Metal3DataTemplate>, u64)> {
        let spec = &self.template.object.spec;
        let find = |name: &str| manifests.data_templates.get(&self.object.namespace, name);
        let usual = || spec.template.spec.data_template.as_ref().and_then(|usual| find(usual.name_str()));
        let rows = &spec.failure_domain_data_templates;
        if rows.is_empty() {
            return usual().map(|template| (template, self.replicas)).into_iter().collect();
        }
        let of_domain = |domain: &&str| {
            let row = rows.iter().find(|row| row.failure_domain == **domain);
            let template = row.map_or_else(usual, |row| find(row.data_template.name_str()))?;
            Some((template, self.replicas / self.domains.len() as u64))
        };
        self.domains.iter().filter_map(of_domain).collect()
    }

    /// Every data template that one of its machines may get.
    pub fn possible_data_templates(
        &self,
        manifests: &'a Manifests<'a>,
    ) -> Vec<&'a Subject<Metal3DataTemplate>> {
        let spec = &self.template.object.spec;
        let usual = spec.template.spec.data_template.as_ref().map(|usual| usual.name_str());
        let rows = spec.failure_domain_data_templates.iter().map(|row| row.data_template.name_str());
        let names: BTreeSet<&str> = usual.into_iter().chain(rows).collect();
        let found =
            names.iter().filter_map(|name| manifests.data_templates.get(&self.object.namespace, name));
        found.collect()
    }
}

/// Every owner whose template is there.
pub(super) fn all<'a>(manifests: &'a Manifests<'a>) -> Vec<Owner<'a>> {
    manifests.objects().iter().filter_map(|object| Owner::of(manifests, object)).collect()
}

/// The Metal3Cluster of a Cluster.
pub(super) fn metal3_cluster<'a>(
    manifests: &'a Manifests<'a>,
    namespace: &str,
    cluster: &str,
) -> Option<&'a Subject<Metal3Cluster>> {
    let cluster = manifests.find("Cluster", namespace, cluster)?;
    let reference = cluster.root().at("spec").at("infrastructureRef");
    manifests.metal3_clusters.get(namespace, reference.at("name").text()?)
}

/// The Cluster that the owner names, or that names the owner as its control plane.
pub(super) fn cluster_of<'a>(manifests: &'a Manifests<'a>, owner: &'a RawObject<'a>) -> Option<&'a str> {
    let root = owner.root();
    let named = root.at("spec").at("clusterName").text();
    named.or_else(|| root.at("metadata").at("labels").at(label::CLUSTER_NAME).text()).or_else(|| {
        let names_it = |cluster: &&RawObject<'_>| {
            let reference = cluster.root().at("spec").at("controlPlaneRef");
            reference.at("name").text() == Some(&owner.name)
                && reference.at("kind").text() == Some(owner.kind)
        };
        manifests
            .of_namespace("Cluster", &owner.namespace)
            .find(names_it)
            .map(|cluster| cluster.name.as_str())
    })
}

fn control_plane_domains(cluster: &Subject<Metal3Cluster>) -> BTreeSet<&str> {
    let domains = cluster.object.spec.failure_domains.iter();
    domains.filter(|domain| domain.control_plane == Some(true)).map(|domain| domain.name.as_str()).collect()
}

fn is_owned(object: &RawObject<'_>) -> bool {
    let owners = object.root().at("metadata").at("ownerReferences");
    owners.items().any(|owner| owner.at("kind").text() == Some("MachineDeployment"))
}

pub(super) fn descend<'a>(from: &Node<'a>, path: &[&str]) -> Node<'a> {
    path.iter().fold(from.clone(), |at, member| at.at(member))
}

/// How many machines a roll-out adds before it removes others: 1 unless the owner says otherwise.
fn surge(spec: &Node<'_>, replicas: u64) -> u64 {
    let strategy = STRATEGIES.iter().map(|path| descend(spec, path)).find(|it| it.value().is_some());
    let Some(strategy) = strategy else { return 1 };
    if strategy.at("type").text().is_some_and(|type_| type_ != "RollingUpdate") {
        return 0;
    }
    match strategy.at("rollingUpdate").at("maxSurge").value() {
        Some(Value::Number(number)) => number.as_u64().unwrap_or(0),
        Some(Value::String(text)) => match text.strip_suffix('%') {
            Some(percent) => (replicas * percent.parse::<u64>().unwrap_or(0)).div_ceil(100),
            None => text.parse().unwrap_or(0),
        },
        _ => 1,
    }
}

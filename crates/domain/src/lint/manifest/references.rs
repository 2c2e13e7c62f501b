//! Which fields name other objects, and of which kinds.

use crate::{
    lint::{Manifests, RawObject},
    validation::node::Node,
};

/// A field that names an object.
struct Field {
    /// Kind of the object that has it.
    of: &'static str,
    /// The member that holds name and perhaps kind; `[]` stands for each item of a list.
    path: &'static str,
    /// Kinds that fit.
    kinds: &'static [&'static str],
}

const MACHINE_TEMPLATE: &[&str] = &["Metal3MachineTemplate"];
const DATA_TEMPLATE: &[&str] = &["Metal3DataTemplate"];
const BOOTSTRAP: &[&str] = &[];

const fn field(of: &'static str, path: &'static str, kinds: &'static [&'static str]) -> Field {
    Field { of, path, kinds }
}

/// Bootstrap and control plane providers are many, so there every kind fits.
const FIELDS: &[Field] = &[
    field("Cluster", "spec.infrastructureRef", &["Metal3Cluster"]),
    field("Cluster", "spec.controlPlaneRef", &[]),
    field("KubeadmControlPlane", "spec.machineTemplate.spec.infrastructureRef", MACHINE_TEMPLATE),
    field("KubeadmControlPlane", "spec.machineTemplate.infrastructureRef", MACHINE_TEMPLATE),
    field("MachineDeployment", "spec.template.spec.infrastructureRef", MACHINE_TEMPLATE),
    field("MachineDeployment", "spec.template.spec.bootstrap.configRef", BOOTSTRAP),
    field("MachineSet", "spec.template.spec.infrastructureRef", MACHINE_TEMPLATE),
    field("MachineSet", "spec.template.spec.bootstrap.configRef", BOOTSTRAP),
    field("Machine", "spec.infrastructureRef", &["Metal3Machine"]),
    field("Machine", "spec.bootstrap.configRef", BOOTSTRAP),
    field("Metal3MachineTemplate", "spec.template.spec.dataTemplate", DATA_TEMPLATE),
    field("Metal3MachineTemplate", "spec.failureDomainDataTemplates[].dataTemplate", DATA_TEMPLATE),
    field("Metal3Machine", "spec.dataTemplate", DATA_TEMPLATE),
    field("MachineHealthCheck", "spec.remediationTemplate", &["Metal3RemediationTemplate"]),
    field("MachineHealthCheck", "spec.remediation.templateRef", &["Metal3RemediationTemplate"]),
];

/// A field that names an object, and what it names.
pub(super) struct Reference<'a> {
    /// The object that has the field.
    pub from: &'a RawObject<'a>,
    /// The member that holds the name.
    pub name: Node<'a>,
    /// The member that holds the kind, there or not.
    pub kind: Node<'a>,
    /// Kinds that fit; empty if all do.
    pub kinds: &'static [&'static str],
    /// The namespace of what it names.
    pub namespace: &'a str,
}

impl Reference<'_> {
    /// The kind that is named, or the only one that fits where none is named.
    pub fn named_kind(&self) -> Option<&str> {
        self.kind.text().or(match self.kinds {
            [only] => Some(only),
            _ => None,
        })
    }
}

/// Every reference.
pub(super) fn all<'a>(manifests: &'a Manifests<'a>) -> Vec<Reference<'a>> {
    let mut references = Vec::new();
    for object in manifests.objects() {
        for field in FIELDS.iter().filter(|field| field.of == object.kind) {
            for node in places(object.root(), field.path) {
                if node.at("name").text().is_some() {
                    let namespace = node.at("namespace").text().unwrap_or(&object.namespace);
                    let (name, kind) = (node.at("name"), node.at("kind"));
                    references.push(Reference { from: object, name, kind, kinds: field.kinds, namespace });
                }
            }
        }
    }
    references
}

/// The places that a path stands for.
fn places<'a>(from: Node<'a>, path: &str) -> Vec<Node<'a>> {
    let mut places = vec![from];
    for step in path.split('.') {
        places = match step.strip_suffix("[]") {
            Some(list) => places.iter().flat_map(|place| place.at(list).items()).collect(),
            None => places.iter().map(|place| place.at(step)).collect(),
        };
    }
    places
}

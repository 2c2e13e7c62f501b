//! One machine on its way from manifest to documents.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine},
    v1beta2::{Metal3Data, Metal3DataTemplate, Metal3Machine},
};
use capm3_domain::render::{Address, Objects};
use capm3_engine::{
    Object, ObjectKey,
    manifests::{Document, Problem},
};

use super::site::Located;

/// A machine and what was found for it so far.
#[derive(Debug)]
pub(crate) struct Case<'d> {
    /// The document that says that there is such a machine.
    pub origin: &'d Document,
    /// The machine itself, as the controllers see it when they render.
    pub machine: Metal3Machine,
    /// The Machine that owns it.
    pub owner: Machine,
    /// How many objects are made before its own, as the order of creation decides among claims.
    pub number: usize,
    /// The host, as the machine's.
    pub host: Option<BareMetalHost>,
    /// The data template that applies.
    pub template: Option<Located<'d, Metal3DataTemplate>>,
    /// The data with the index.
    pub data: Option<Metal3Data>,
    /// What each pool gives.
    pub addresses: BTreeMap<String, Address>,
    /// Why the machine cannot be rendered; nothing more is done for it then.
    pub problem: Option<Problem>,
}

impl<'d> Case<'d> {
    /// A machine that nothing was found for yet.
    pub fn new(origin: &'d Document, machine: Metal3Machine, owner: Machine) -> Self {
        Self {
            origin,
            machine,
            owner,
            number: 0,
            host: None,
            template: None,
            data: None,
            addresses: BTreeMap::new(),
            problem: None,
        }
    }

    /// Name of the machine.
    pub fn name(&self) -> &str {
        self.machine.metadata.name_str()
    }

    /// Namespace and name of the machine.
    pub fn key(&self) -> ObjectKey {
        self.machine.key()
    }

    /// Key of an object of the machine's namespace.
    pub fn here(&self, name: &str) -> ObjectKey {
        ObjectKey::new(self.machine.metadata.namespace_str(), name)
    }

    /// Name of the host.
    pub fn host_name(&self) -> Option<&str> {
        self.host.as_ref().map(|host| host.metadata.name_str())
    }

    /// The objects that a template may refer to.
    pub fn objects(&self) -> Objects<'_> {
        Objects { metal3_machine: Some(&self.machine), machine: Some(&self.owner), host: self.host.as_ref() }
    }

    /// Gives the machine up: what is wrong, in the document that brought it up.
    pub fn fail(&mut self, field: &str, message: impl std::fmt::Display) {
        self.problem = Some(self.origin.problem(field, format!("machine {}: {message}", self.name())));
    }
}

//! How objects are named: a name says nothing without its namespace, which is shown where there are several.

use std::collections::BTreeSet;

use capm3_engine::{ObjectKey, manifests::Document};
use capm3_lab::{expected::Expected, report::Report};

/// Namespaces that are known so far.
#[derive(Debug, Clone, Default)]
pub struct Naming(BTreeSet<String>);

impl Naming {
    /// Those of a result: of machines, of hosts, and of whoever asks for machines.
    pub fn of(report: &Report, expected: &Expected) -> Self {
        let owners = expected.owners.iter().map(|owner| owner.key.namespace.clone());
        Self(report.namespaces().into_iter().map(str::to_owned).chain(owners).collect())
    }

    /// Those of the hosts and machines that manifests have, or ask for.
    pub fn of_manifests(documents: &[Document]) -> Self {
        let is_shown = |document: &&Document| {
            document.kind() == "BareMetalHost" || capm3_lab::expected::KINDS.contains(&document.kind())
        };
        Self(documents.iter().filter(is_shown).map(|document| document.key().namespace).collect())
    }

    /// Adds one more.
    pub fn add(&mut self, namespace: &str) {
        if !self.0.contains(namespace) {
            self.0.insert(namespace.to_owned());
        }
    }

    /// Whether a name alone would say too little.
    pub fn shows_namespaces(&self) -> bool {
        self.0.len() > 1
    }

    /// The name, with its namespace if there are several.
    pub fn name(&self, key: &ObjectKey) -> String {
        if self.shows_namespaces() { key.to_string() } else { key.name.clone() }
    }
}

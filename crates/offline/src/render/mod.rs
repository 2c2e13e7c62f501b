//! What the controllers would write into the Secrets of each machine, from files alone.
//!
//! Takes documents; gives for each machine its host, data template, index and the two documents, byte for byte as the
//! controllers render them. Which host a machine takes, which index and which addresses it gets, the controllers' own
//! decisions tell, over the same memory as in the planner. The writes in between are left out: finalizers, conditions and
//! statuses change no document, and thousands of machines must be rendered in a second. What is allocated already (hosts with
//! a consumer, Metal3Data, IPAddress) is kept. What is wrong with one machine is reported with its place and stops no other
//! machine; an object that cannot be read might have a host, an index or an address that another machine would get, so nothing
//! is rendered then.

mod addresses;
mod case;
mod diff;
mod documents;
mod hosts;
mod indexes;
mod machines;
mod made;
mod on_node;
mod overlaps;
mod owners;
mod site;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use capm3_engine::{
    Memory, ObjectKey,
    manifests::{Document, Problem},
};
pub use diff::unified;
pub use on_node::{Node, on_node};
use serde::Serialize;

pub(crate) use self::{case::Case, documents::inspected_nics, on_node::yaml_value, site::Site};
pub(crate) use capm3_provider::metal3data::wanted_spec;

/// What the user wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// How many machines to make up, instead of those that control planes and deployments ask for.
    pub machines: Option<usize>,
    /// The Metal3MachineTemplate or Metal3DataTemplate of made-up machines; without it, the first Metal3DataTemplate.
    pub template: Option<String>,
    /// Only the machine of this name.
    pub machine: Option<String>,
    /// Only the machine on the host of this name.
    pub host: Option<String>,
    /// Only what is in this namespace.
    pub namespace: Option<String>,
}

/// What was rendered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Rendering {
    /// Machines that could be rendered.
    pub machines: Vec<Rendered>,
    /// What is wrong with the others.
    #[serde(skip)]
    pub problems: Vec<Problem>,
    /// What may go wrong with machines that can be rendered.
    #[serde(skip)]
    pub warnings: Vec<Problem>,
    /// How many machines there are, shown or not.
    #[serde(skip)]
    pub count: usize,
}

/// One machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rendered {
    /// Namespace of the Metal3Machine, where there are machines of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the Metal3Machine.
    pub name: String,
    /// The host that it has or would take; none where the files have no hosts.
    pub host: Option<String>,
    /// The Metal3DataTemplate; none where the machine asks for none.
    pub data_template: Option<String>,
    /// Its index in that template.
    pub index: Option<i32>,
    /// The metadata document; none where the template has none or the user gives a Secret instead.
    pub meta_data: Option<String>,
    /// The network data document, likewise.
    pub network_data: Option<String>,
    /// MAC and name of each NIC of the host, as its inspection found them; none where there was no inspection.
    #[serde(skip)]
    pub nics: Option<Vec<(String, String)>>,
    /// Where the controllers store the metadata document.
    #[serde(skip)]
    pub meta_data_secret: ObjectKey,
    /// Where the controllers store the network data document.
    #[serde(skip)]
    pub network_data_secret: ObjectKey,
}

impl Rendered {
    /// The machine as it is printed: its name, and its namespace where there are several.
    pub fn whose(&self) -> String {
        self.namespace.as_ref().map_or_else(|| self.name.clone(), |home| format!("{home}/{}", self.name))
    }
}

/// Whether a document may have a say in rendering, so that a mistake in it must be reported.
pub fn is_relevant(document: &Document) -> bool {
    site::reads(document)
}

/// Renders what the documents ask for.
pub fn render(documents: &[Document], options: &Options) -> Rendering {
    let inside = |document: &&Document| match &options.namespace {
        Some(namespace) => document.key().namespace == *namespace || document.key().namespace.is_empty(),
        None => true,
    };
    let mut rendering = Rendering::default();
    let (site, mut memory) = Site::read(documents.iter().filter(inside), &mut rendering.problems);
    if !rendering.problems.is_empty() {
        return rendering;
    }
    rendering.warnings = overlaps::find(&site, &memory);
    let cases = cases_of(&site, &mut memory, options, &mut rendering.problems);
    rendering.count = cases.len();
    let namespaces: BTreeSet<String> = cases.iter().map(|case| case.key().namespace).collect();
    for case in cases.into_iter().filter(|case| is_wanted(case, options)) {
        match documents::render(case) {
            Ok(rendered) if namespaces.len() > 1 => rendering.machines.push(rendered),
            Ok(rendered) => rendering.machines.push(Rendered { namespace: None, ..rendered }),
            Err(problem) => rendering.problems.push(problem),
        }
    }
    rendering
}

/// Every machine with its host, template, index and addresses.
fn cases_of<'d>(
    site: &Site<'d>,
    memory: &mut Memory,
    options: &Options,
    problems: &mut Vec<Problem>,
) -> Vec<Case<'d>> {
    let mut cases = machines::cases(site, memory, options, problems);
    hosts::choose(memory, &mut cases);
    indexes::allocate(site, memory, &mut cases);
    addresses::allocate(site, memory, &mut cases);
    cases
}

/// The same for who only looks at machines: what keeps one from being rendered is not reported.
pub(crate) fn cases<'d>(site: &Site<'d>, mut memory: Memory, options: &Options) -> Vec<Case<'d>> {
    cases_of(site, &mut memory, options, &mut Vec::new())
}

fn is_wanted(case: &Case<'_>, options: &Options) -> bool {
    let is = |wanted: &Option<String>, name: Option<&str>| match wanted {
        Some(wanted) => name == Some(wanted),
        None => true,
    };
    is(&options.machine, Some(case.name())) && is(&options.host, case.host_name())
}

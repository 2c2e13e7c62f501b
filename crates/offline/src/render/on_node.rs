//! What the nodes make of their network data: [`capm3_domain::cloud_init`] and [`capm3_domain::consumers`] for rendered
//! machines.

use capm3_domain::{
    cloud_init::{Nics, Outcome, configure},
    consumers::{Fault, Reader, nmstate, talos},
};
use serde::Serialize;
use serde_json::Value;

use super::Rendered;

/// One machine and what its node makes of its network data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Namespace of the Metal3Machine, where there are machines of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the Metal3Machine.
    pub name: String,
    /// Its host.
    pub host: Option<String>,
    /// What the image's cloud-init writes, or what reads the document instead.
    pub renderer: &'static str,
    /// Version of the image's cloud-init; none for another reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_init: Option<String>,
    /// Whether the host was inspected; otherwise the names of NICs are stand-ins, and each MAC is taken to be
    /// there.
    pub nics_are_known: bool,
    /// The document on the config drive; none where the machine brings none, so that the image decides.
    pub network_data: Option<Value>,
    /// What is configured and what is lost.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What another reader than cloud-init does not take.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Node {
    /// Why the node gets nothing of the document, if so.
    pub fn refusal(&self) -> Option<String> {
        let fatal = self.faults.iter().find(|fault| fault.is_fatal);
        let refused = self.outcome.refused.first();
        refused.map(ToString::to_string).or_else(|| fatal.map(ToString::to_string))
    }
}

/// What the node of the machine makes of its network data. The error is that of the YAML reader, for a
/// document that no reader takes.
pub fn on_node(machine: &Rendered, reader: Reader) -> Result<Node, String> {
    let network_data = match &machine.network_data {
        Some(document) => Some(yaml_value(document)?),
        None => None,
    };
    let made = network_data.as_ref().map(|document| {
        let nics = machine.nics.clone().map_or_else(|| Nics::assumed(document), Nics::new);
        made(document, &nics, reader)
    });
    let (outcome, faults) = made.unwrap_or_default();
    Ok(Node {
        namespace: machine.namespace.clone(),
        name: machine.name.clone(),
        host: machine.host.clone(),
        renderer: reader.name(),
        cloud_init: reader.version().map(|version| version.to_string()),
        nics_are_known: machine.nics.is_some(),
        network_data,
        outcome,
        faults,
    })
}

/// What is configured, and what a reader other than cloud-init does not take.
fn made(document: &Value, nics: &Nics, reader: Reader) -> (Outcome, Vec<Fault>) {
    let taken = match reader {
        Reader::CloudInit(target) => return (configure(document, nics, target), Vec::new()),
        Reader::Talos => talos::configure(document, nics),
        Reader::Nmstate => nmstate::configure(document, nics),
    };
    let outcome =
        Outcome { devices: taken.devices, configuration: taken.configuration, ..Outcome::default() };
    (outcome, taken.faults)
}

/// The host operator reads YAML 1.1 and stores JSON on the config drive.
pub(crate) fn yaml_value(document: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(document, options).map_err(|error| error.to_string())
}

//! What the nodes make of their network data: [`capm3_domain::cloud_init`] for rendered machines.

use capm3_domain::cloud_init::{Nics, Outcome, Renderer, Target, configure};
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
    /// What the image's cloud-init writes.
    pub renderer: Renderer,
    /// Version of the image's cloud-init.
    pub cloud_init: String,
    /// Whether the host was inspected; otherwise the names of NICs are stand-ins, and each MAC is taken to be
    /// there.
    pub nics_are_known: bool,
    /// The document on the config drive; none where the machine brings none, so that the image decides.
    pub network_data: Option<Value>,
    /// What is configured and what is lost.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What the node of the machine makes of its network data. The error is that of the YAML reader, for a
/// document that no reader takes.
pub fn on_node(machine: &Rendered, target: Target) -> Result<Node, String> {
    let network_data = match &machine.network_data {
        Some(document) => Some(yaml_value(document)?),
        None => None,
    };
    let outcome = network_data.as_ref().map(|document| {
        let nics = machine.nics.clone().map_or_else(|| Nics::assumed(document), Nics::new);
        configure(document, &nics, target)
    });
    Ok(Node {
        namespace: machine.namespace.clone(),
        name: machine.name.clone(),
        host: machine.host.clone(),
        renderer: target.renderer,
        cloud_init: target.version.to_string(),
        nics_are_known: machine.nics.is_some(),
        network_data,
        outcome: outcome.unwrap_or_default(),
    })
}

/// The host operator reads YAML 1.1 and stores JSON on the config drive.
pub(crate) fn yaml_value(document: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(document, options).map_err(|error| error.to_string())
}

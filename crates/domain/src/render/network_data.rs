//! Network data: links, networks and services of a node, in the form that cloud-init and its kin read.

use capm3_api::v1beta2::NetworkData;
use serde_json::{Value, json};

use super::{error::RenderError, links, networks, objects::Inputs, services, yaml::to_yaml};

/// The network data document. Sections that the template leaves out are empty lists.
pub fn render_network_data(network_data: &NetworkData, inputs: &Inputs<'_>) -> Result<String, RenderError> {
    network_data_value(network_data, inputs).map(|document| to_yaml(&document))
}

/// The same before it becomes text.
pub fn network_data_value(network_data: &NetworkData, inputs: &Inputs<'_>) -> Result<Value, RenderError> {
    let links = match &network_data.links {
        Some(section) => links::render(section, inputs.objects)?,
        None => Vec::new(),
    };
    let networks = match &network_data.networks {
        Some(section) => networks::render(section, inputs)?,
        None => Vec::new(),
    };
    let services = services::render(network_data.services.as_ref(), inputs, "spec.networkData.services")?;
    Ok(json!({"links": links, "networks": networks, "services": services}))
}

#[cfg(test)]
mod tests;

//! The resources of hosts in a template.

use capm3_api::v1beta2::{Metal3MachineTemplateStatus, TemplateNodeInfo};

use super::{HostResources, architecture};

const CPU: &str = "cpu";
const MEMORY: &str = "memory";

/// The resources in a status, if they are in the form that [`write_status`] writes.
pub fn read_status(status: &Metal3MachineTemplateStatus) -> Option<HostResources> {
    let node = status.node_info.as_ref().and_then(|node| node.architecture.as_deref());
    Some(HostResources {
        cpus: status.capacity.get(CPU)?.parse().ok()?,
        mebibytes: status.capacity.get(MEMORY)?.strip_suffix("Mi")?.parse().ok()?,
        architecture: node.and_then(architecture),
    })
}

/// Writes the resources to a status, or removes them. Other resources and the operating system are written by others
/// and stay.
pub fn write_status(status: &mut Metal3MachineTemplateStatus, resources: Option<HostResources>) {
    for (resource, amount) in [
        (CPU, resources.map(|resources| resources.cpus.to_string())),
        (MEMORY, resources.map(|resources| format!("{}Mi", resources.mebibytes))),
    ] {
        match amount {
            Some(amount) => status.capacity.insert(resource.to_owned(), amount),
            None => status.capacity.remove(resource),
        };
    }
    let mut node = status.node_info.take().unwrap_or_default();
    node.architecture = resources.and_then(|resources| resources.architecture).map(str::to_owned);
    status.node_info = Some(node).filter(|node| *node != TemplateNodeInfo::default());
}

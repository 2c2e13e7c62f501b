//! The offer as it stands in a template's status.

use capm3_api::v1beta2::{Metal3MachineTemplateStatus, TemplateNodeInfo};

use super::{Offer, architecture};

const CPU: &str = "cpu";
const MEMORY: &str = "memory";

/// What a status says, if it says it as [`say`] does.
pub fn said(status: &Metal3MachineTemplateStatus) -> Option<Offer> {
    let node = status.node_info.as_ref().and_then(|node| node.architecture.as_deref());
    Some(Offer {
        cpus: status.capacity.get(CPU)?.parse().ok()?,
        mebibytes: status.capacity.get(MEMORY)?.strip_suffix("Mi")?.parse().ok()?,
        architecture: node.and_then(architecture),
    })
}

/// Says an offer in a status, or that there is none. Other resources and the operating system are somebody else's words
/// and stay.
pub fn say(status: &mut Metal3MachineTemplateStatus, offer: Option<Offer>) {
    for (resource, amount) in [
        (CPU, offer.map(|offer| offer.cpus.to_string())),
        (MEMORY, offer.map(|offer| format!("{}Mi", offer.mebibytes))),
    ] {
        match amount {
            Some(amount) => status.capacity.insert(resource.to_owned(), amount),
            None => status.capacity.remove(resource),
        };
    }
    let mut node = status.node_info.take().unwrap_or_default();
    node.architecture = offer.and_then(|offer| offer.architecture).map(str::to_owned);
    status.node_info = Some(node).filter(|node| *node != TemplateNodeInfo::default());
}

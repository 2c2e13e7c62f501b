//! What cloud-init makes of a network_data document, on a node whose image has a given version and renderer.
//!
//! Takes the document as it is on the config drive and the NICs of the host; gives what is configured of each
//! interface, what the document asks for and the node does not get, or where cloud-init gives up. It is a
//! model of cloud-init's own steps ([`convert`], [`state`], [`render`]), each of which can lose something:
//! cloud-init takes the document without a check of its own, and every renderer writes only what it knows.
//! What differs between versions is one table, [`behaviour`].
//!
//! The model is kept to what real versions wrote: `tests/golden/cloud-init`. What networkd or the kernel make of the
//! files is not modelled; of netplan it is known which files its parser refuses, of NetworkManager also which keys of a
//! profile it does not take.

mod behaviour;
mod convert;
mod interface;
mod loss;
mod lost;
mod nics;
mod prefix;
mod profile;
mod refusal;
mod render;
mod state;
mod target;
#[cfg(test)]
mod tests;
mod value;
mod version;

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

pub use interface::{Configuration, Interface, Kind as InterfaceKind, Vlan};
pub use loss::{Loss, Lost};
pub use nics::Nics;
pub use profile::ProfileFault;
pub use refusal::{Refusal, Stage};
pub use target::{Renderer, Target};
pub use version::Version;

/// What a node makes of its document.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Why the node gets no network, in the order of the boot; the first one ends it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
    /// The device of each link of the document, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<String>,
    /// What the files ask for; empty where cloud-init fails before they are written.
    #[serde(flatten)]
    pub configuration: Configuration,
    /// What NetworkManager does not take of the files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profile_faults: Vec<ProfileFault>,
    /// What the document asks for and the files lack. Unknown, thus empty, where there are no files or nobody
    /// reads them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Loss>,
}

/// What the target makes of the document.
pub fn configure(document: &Value, nics: &Nics, target: Target) -> Outcome {
    let mut outcome = Outcome::default();
    let converted = match convert::convert(document, nics, target.version) {
        Ok(converted) => converted,
        Err(refusal) => return refused(outcome, refusal),
    };
    let name = |device: &convert::Device| device.name.clone().unwrap_or_else(|| "None".to_owned());
    outcome.devices = converted.devices.iter().map(name).collect();
    let waits = converted.devices.iter().filter(|device| device.kind == convert::Kind::Physical);
    if let Some(mac) = waits.filter_map(|device| device.mac.as_ref()).find(|mac| !nics.have(mac)) {
        let reason = format!("no NIC of the host has the MAC {mac}");
        outcome.refused.push(Refusal { stage: Stage::WaitForNics, reason });
    }
    let state = match state::parse(&converted) {
        Ok(state) => state,
        Err(refusal) => return refused(outcome, refusal),
    };
    match render::render(&state, target) {
        Ok(written) => {
            outcome.configuration = written.configuration;
            outcome.profile_faults = written.profile_faults;
        }
        Err(refusal) => return refused(outcome, refusal),
    }
    for interface in outcome.configuration.interfaces.values_mut() {
        each_once(&mut interface.dns);
        each_once(&mut interface.dns_search);
    }
    if target.renderer == Renderer::Netplan
        && let Err(refusal) = render::accept(&state, &outcome.configuration)
    {
        return refused(outcome, refusal);
    }
    outcome.lost = lost::lost(document, &converted, &outcome.configuration);
    outcome
}

/// Whoever reads the files takes a repeated name server for one.
fn each_once(servers: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    servers.retain(|server| seen.insert(server.clone()));
}

fn refused(mut outcome: Outcome, refusal: Refusal) -> Outcome {
    outcome.refused.push(refusal);
    outcome
}

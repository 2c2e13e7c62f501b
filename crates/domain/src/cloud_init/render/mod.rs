//! The third step: what each renderer writes of the interfaces, as if its files were read back.

mod bond_options;
mod eni;
mod netplan;
mod network_manager;
mod networkd;
mod sysconfig;

use super::{
    interface::Configuration,
    refusal::Refusal,
    state::State,
    target::{Renderer, Target},
};

/// Writes the interfaces.
pub(super) fn render(state: &State, target: Target) -> Result<Configuration, Refusal> {
    let version = target.version;
    match target.renderer {
        Renderer::Netplan => Ok(netplan::render(state, version)),
        Renderer::Networkd => networkd::render(state, version),
        Renderer::NetworkManager => network_manager::render(state, version),
        Renderer::Sysconfig => sysconfig::render(state, version, sysconfig::Flavor::Rhel),
        Renderer::SysconfigSuse => sysconfig::render(state, version, sysconfig::Flavor::Suse),
        Renderer::Eni => eni::render(state, version),
    }
}

pub(super) use netplan::accept;

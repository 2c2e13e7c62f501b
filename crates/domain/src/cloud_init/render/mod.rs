//! The third step: what each renderer writes of the interfaces, as if its files were read back.

mod bond_options;
mod eni;
mod netplan;
mod network_manager;
mod networkd;
mod sysconfig;

use super::{
    interface::Configuration,
    profile::ProfileFault,
    refusal::Refusal,
    state::State,
    target::{Renderer, Target},
};

/// What is written, and what NetworkManager does not take of it.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub configuration: Configuration,
    pub profile_faults: Vec<ProfileFault>,
}

/// Writes the interfaces.
pub(super) fn render(state: &State, target: Target) -> Result<Written, Refusal> {
    let version = target.version;
    let configuration = match target.renderer {
        Renderer::NetworkManager => return network_manager::render(state, version),
        Renderer::Netplan => netplan::render(state, version),
        Renderer::Networkd => networkd::render(state, version)?,
        Renderer::Sysconfig => sysconfig::render(state, version, sysconfig::Flavor::Rhel)?,
        Renderer::SysconfigSuse => sysconfig::render(state, version, sysconfig::Flavor::Suse)?,
        Renderer::Eni => eni::render(state, version)?,
    };
    Ok(Written { configuration, profile_faults: Vec::new() })
}

pub(super) use netplan::accept;

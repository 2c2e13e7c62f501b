//! Which cloud-init reads the document: its version, and the renderer that its image uses.

use std::{fmt, str::FromStr};

use serde::Serialize;

use super::version::Version;

/// What cloud-init writes on an image. The names are those of cloud-init's own setting
/// `system_info.network.renderers`, with one `sysconfig` per distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Renderer {
    /// netplan YAML: Ubuntu, Debian 12 and later cloud images.
    Netplan,
    /// systemd-networkd units: Photon OS, Azure Linux, Flatcar-like images.
    Networkd,
    /// NetworkManager keyfiles: Fedora, RHEL 9 and later.
    NetworkManager,
    /// `ifcfg` files of the RHEL family: RHEL 7 and 8, CentOS, Amazon Linux 2.
    Sysconfig,
    /// `ifcfg` files of SUSE: SLES and openSUSE Leap with wicked.
    SysconfigSuse,
    /// `/etc/network/interfaces`: Debian with ifupdown, Alpine.
    Eni,
}

impl Renderer {
    /// Every renderer.
    pub const ALL: [Self; 6] = [
        Self::Netplan,
        Self::Networkd,
        Self::NetworkManager,
        Self::Sysconfig,
        Self::SysconfigSuse,
        Self::Eni,
    ];

    /// The name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Netplan => "netplan",
            Self::Networkd => "networkd",
            Self::NetworkManager => "network_manager",
            Self::Sysconfig => "sysconfig",
            Self::SysconfigSuse => "sysconfig_suse",
            Self::Eni => "eni",
        }
    }
}

impl fmt::Display for Renderer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A cloud-init of some version with some renderer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// What the image's cloud-init writes.
    pub renderer: Renderer,
    /// Its version.
    pub version: Version,
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "cloud-init {} with {}", self.version, self.renderer)
    }
}

/// `RENDERER[@VERSION]`; the newest known version where none is given.
impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, version.parse()?),
            None => (text, Version::NEWEST),
        };
        let renderer =
            Renderer::ALL.into_iter().find(|renderer| renderer.name() == name).ok_or_else(|| {
                let names: Vec<_> = Renderer::ALL.into_iter().map(Renderer::name).collect();
                format!("{name:?} is no renderer of cloud-init: use one of {}", names.join(", "))
            })?;
        Ok(Self { renderer, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_version_is_the_newest_and_one_that_is_unknown_is_refused() {
        let target: Target = "netplan".parse().unwrap();
        assert_eq!(target.version, Version::NEWEST);
        let target: Target = "sysconfig_suse@22.4.2".parse().unwrap();
        assert_eq!(target.to_string(), "cloud-init 22.4.2 with sysconfig_suse");
        for wrong in ["netplan@", "netplan@24", "netplan@21.4", "ifupdown", "netplan@a.b", "netplan@22.4.2-1"]
        {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}

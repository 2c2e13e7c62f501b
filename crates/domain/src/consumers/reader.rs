//! Who reads the document of a node, as users name it.

use std::{fmt, str::FromStr};

use crate::cloud_init::{Target, Version};

/// A reader whose configuration can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// cloud-init of some version with some renderer.
    CloudInit(Target),
    /// Talos Linux.
    Talos,
    /// nmstate, given the same links, networks and services.
    Nmstate,
}

const TALOS: &str = "talos";
const NMSTATE: &str = "nmstate";

impl Reader {
    /// Its name: of cloud-init the renderer.
    pub fn name(self) -> &'static str {
        match self {
            Self::CloudInit(target) => target.renderer.name(),
            Self::Talos => TALOS,
            Self::Nmstate => NMSTATE,
        }
    }

    /// The version of cloud-init.
    pub fn version(self) -> Option<Version> {
        match self {
            Self::CloudInit(target) => Some(target.version),
            Self::Talos | Self::Nmstate => None,
        }
    }
}

/// For people; a model that was never compared with what it describes says so.
impl fmt::Display for Reader {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CloudInit(target) => target.fmt(out),
            Self::Talos => out.write_str("Talos (unverified)"),
            Self::Nmstate => out.write_str("nmstate (unverified)"),
        }
    }
}

/// `RENDERER[@VERSION]` of cloud-init, or the name of another reader.
impl FromStr for Reader {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            TALOS => Ok(Self::Talos),
            NMSTATE => Ok(Self::Nmstate),
            _ if [TALOS, NMSTATE].iter().any(|name| text.split('@').next() == Some(name)) => {
                Err(format!("{text:?}: only one version of it is known, so write it without @"))
            }
            _ => text
                .parse()
                .map(Self::CloudInit)
                .map_err(|error| format!("{error}; {TALOS} and {NMSTATE} are known too")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_renderers_of_cloud_init_talos_or_nmstate() {
        for (text, shown) in [
            ("talos", "Talos (unverified)"),
            ("nmstate", "nmstate (unverified)"),
            ("eni@24.2", "cloud-init 24.2 with eni"),
        ] {
            assert_eq!(text.parse::<Reader>().map(|reader| reader.to_string()), Ok(shown.to_owned()));
        }
        for wrong in ["talos@1.9", "nmstate@2", "Talos", "glean", ""] {
            assert!(wrong.parse::<Reader>().is_err(), "{wrong}");
        }
    }
}

//! The version of an API server, as `/version` answers it.

use serde::Deserialize;

/// A Kubernetes version. A provider of clusters may add a sign to the numbers, such as `31+`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerVersion {
    /// `1`.
    pub major: String,
    /// `34`, or `34+`.
    pub minor: String,
    /// `v1.34.1`, perhaps with more.
    #[serde(default)]
    pub git_version: String,
}

impl ServerVersion {
    /// Major and minor version as numbers; none if they are none.
    pub fn numbers(&self) -> Option<(u32, u32)> {
        let number = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok();
        Some((number(&self.major)?, number(&self.minor)?))
    }
}

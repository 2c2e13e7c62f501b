//! Where and why cloud-init gives up on a document.

use std::fmt;

use serde::Serialize;

/// A step of the boot, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// The document is turned into cloud-init's own format.
    Convert,
    /// cloud-init waits for the NICs that the document names by MAC.
    WaitForNics,
    /// Addresses, masks and routes are read.
    Parse,
    /// The renderer writes its files.
    Render,
    /// netplan reads the file that was written.
    Generate,
}

/// Why the node gets no network of the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Where it stops.
    pub stage: Stage,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stage, reason } = self;
        match stage {
            Stage::Convert => write!(out, "cloud-init cannot read the document: {reason}"),
            Stage::WaitForNics => write!(out, "cloud-init waits for NICs that are not there: {reason}"),
            Stage::Parse => write!(out, "cloud-init cannot read its networks: {reason}"),
            Stage::Render => write!(out, "cloud-init fails while it writes the configuration: {reason}"),
            Stage::Generate => write!(out, "netplan refuses the file that cloud-init writes: {reason}"),
        }
    }
}

impl Stage {
    /// A refusal in this step.
    pub(super) fn refuses<T>(self, reason: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal { stage: self, reason: reason.into() })
    }
}

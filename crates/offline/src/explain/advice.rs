//! What would help.

use serde::Serialize;

/// Something that would help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    /// In words.
    pub text: String,
    /// The command that does it, or that shows more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Advice {
    /// Words alone.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), command: None }
    }

    /// Words and a command.
    pub(super) fn run(text: impl Into<String>, command: String) -> Self {
        Self { text: text.into(), command: Some(command) }
    }
}

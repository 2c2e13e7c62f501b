//! What NetworkManager does not take of a profile that cloud-init writes.

use std::fmt;

use serde::Serialize;

/// A profile that is refused, or a key of it that is not taken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileFault {
    /// The interface that the profile is for.
    pub interface: String,
    /// `SECTION.KEY`; none where the whole profile is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is not taken, or why the profile is refused.
    pub value: String,
}

impl ProfileFault {
    /// A key that is read as if it were not there.
    pub(super) fn dropped(interface: &str, key: String, value: impl Into<String>) -> Self {
        Self { interface: interface.to_owned(), key: Some(key), value: value.into() }
    }

    /// The interface gets none of its configuration.
    pub(super) fn refused(interface: &str, reason: impl Into<String>) -> Self {
        Self { interface: interface.to_owned(), key: None, value: reason.into() }
    }

    /// Whether the whole profile is refused.
    pub fn is_refusal(&self) -> bool {
        self.key.is_none()
    }
}

/// One sentence for people.
impl fmt::Display for ProfileFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, key, value } = self;
        match key {
            None => write!(out, "NetworkManager refuses the profile of {interface}: {value}"),
            Some(key) => write!(out, "NetworkManager drops {key} of {interface}: {value}"),
        }
    }
}

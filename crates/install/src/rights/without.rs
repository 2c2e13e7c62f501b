//! What does not happen where a right is missing, and how the manager says so. `docs/rbac.md` prints these values, and a test
//! takes each right away and looks for exactly them.

use std::fmt;

/// What a missing right means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Without {
    /// What does not happen.
    pub fails: Fails,
    /// Where the manager says so.
    pub says: Says,
}

/// What does not happen. Kinds and fields are those of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fails {
    /// No controller starts, because this kind cannot be read.
    Controllers,
    /// No object of a kind gets a field.
    Field(&'static str, &'static str),
    /// The object of a kind and of that name gets no field.
    FieldOf(&'static str, &'static str, &'static str),
    /// No object of a kind gets a condition of a type.
    ConditionOf(&'static str, &'static str),
    /// The manager creates no object of a kind.
    Creation(&'static str),
    /// Objects of a kind stay when they are not needed any more.
    Deletion(&'static str),
    /// Objects of a kind stay stored in an older version.
    Migration(&'static str),
    /// Nothing: the manager goes on without it.
    Nothing(&'static str),
    /// No replica leads, so nothing is written.
    Leadership,
    /// The webhooks have no certificate, so the API server refuses what they must judge.
    Certificate,
    /// Nobody is shown diagnostics over HTTPS.
    Diagnostics,
    /// The API server does not trust the certificate of the webhooks once the authority is another.
    Trust,
}

impl fmt::Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Controllers => f.write_str("no controller starts"),
            Self::Field(kind, field) => write!(f, "no {kind} gets `{field}`"),
            Self::FieldOf(kind, name, field) => write!(f, "{kind} `{name}` gets no `{field}`"),
            Self::ConditionOf(kind, type_) => write!(f, "no {kind} gets condition `{type_}`"),
            Self::Creation(kind) => write!(f, "no {kind} is created"),
            Self::Deletion(kind) => write!(f, "{} {kind} that is not needed any more stays", article(kind)),
            Self::Migration(kind) => write!(f, "every {kind} stays in the version in which it is stored"),
            Self::Nothing(what) => write!(f, "nothing fails; {what}"),
            Self::Leadership => f.write_str("no replica leads, so nothing is written"),
            Self::Certificate => f.write_str("the webhooks have no certificate"),
            Self::Diagnostics => f.write_str("diagnostics over HTTPS are refused to everybody"),
            Self::Trust => f.write_str("the API server does not trust a new certificate of the webhooks"),
        }
    }
}

/// The article of a kind: "an IPClaim", "a Secret".
fn article(kind: &str) -> &'static str {
    if kind.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" }
}

/// Where the manager says that a right is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// `/readyz`, and one warning in the log.
    Readyz,
    /// A condition of a kind, with that reason: kind, type, reason.
    Condition(&'static str, &'static str, &'static str),
    /// A line of the log that contains this, at level info or above.
    Log(&'static str),
    /// Nothing above debug.
    Nothing,
}

impl fmt::Display for Says {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Readyz => f.write_str("`/readyz` and a warning: `may not be listed`"),
            Self::Condition(kind, type_, reason) => {
                write!(f, "condition `{type_}` of the {kind}, reason `{reason}`")
            }
            Self::Log(text) => write!(f, "log: `{text}`"),
            Self::Nothing => f.write_str("nothing"),
        }
    }
}

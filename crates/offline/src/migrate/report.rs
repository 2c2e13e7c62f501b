//! What a migration gives: the documents, and what was done to them and why.

use serde::Serialize;
use serde_json::Value;

/// The outcome.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Migration {
    /// The documents in their new form, in the order of the input.
    pub documents: Vec<Value>,
    /// Everything that was changed.
    pub changes: Vec<Change>,
    /// What the user should check or must decide.
    pub problems: Vec<Problem>,
}

impl Migration {
    /// Whether something must be decided before the documents can be used.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }
}

/// Where something was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SourcePlace {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 where none is known.
    pub line: usize,
    /// Kind and name of the object.
    pub object: String,
    /// The field, as it was written.
    pub path: String,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Where.
    #[serde(flatten)]
    pub place: SourcePlace,
    /// What was there.
    pub from: String,
    /// What is there now.
    pub to: String,
    /// Why.
    pub why: String,
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document can be used; a person should check it.
    Warning,
    /// The document cannot be used, or could be meant in two ways.
    Error,
}

/// Something that no rule may decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// Where.
    #[serde(flatten)]
    pub place: SourcePlace,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
}

//! What the rules of one kind found, kept apart by how binding it is.

use super::FieldError;

/// What is wrong with an object, and what its author should know.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Broken rules that always held: they refuse whenever they are broken.
    pub(super) errors: Vec<FieldError>,
    /// Broken rules that the Go provider does not have. They refuse only what a request brings in: an object that was
    /// stored before can still be labelled, finalized and repaired.
    pub(super) newer: Vec<FieldError>,
    /// What is allowed and probably not meant.
    pub(super) warnings: Vec<String>,
}

impl Findings {
    /// Errors that refuse an update, if `before` is what was already wrong with the stored object.
    pub(super) fn since(mut self, before: &Self) -> Self {
        self.newer.retain(|error| !before.newer.contains(error));
        self
    }
}

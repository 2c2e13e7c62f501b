//! The seam for mutating and validating rules: what runs between decoding a write and storing it.

use serde_json::Value;

/// What a write does to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object, by PUT or patch, main endpoint or subresource.
    Update,
    /// A deletion request.
    Delete,
}

/// What an admission rule gets of a write.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest<'a> {
    /// What is done.
    pub operation: Operation,
    /// API group, empty for core.
    pub group: &'a str,
    /// API version of the request.
    pub version: &'a str,
    /// Plural resource name.
    pub resource: &'a str,
    /// Kind of the object.
    pub kind: &'a str,
    /// Such as `status`.
    pub subresource: Option<&'a str>,
    /// Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Empty while a generated name is not known yet.
    pub name: &'a str,
    /// The stored object in the version of the request, for updates and deletions.
    pub old: Option<&'a Value>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
}

/// Why a write is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// HTTP status code, such as 403 or 422.
    pub code: u16,
    /// Status reason, such as `Forbidden` or `Invalid`.
    pub reason: String,
    /// The whole message of the answer.
    pub message: String,
    /// `details` of the status, such as the causes that kubectl lists; null for none.
    pub details: Value,
    /// What the caller should know beside the refusal.
    pub warnings: Vec<String>,
}

/// Rules that may change an object on its way in, or refuse it.
///
/// They are called while the cluster is locked: they must be quick, pure, and must not call the server.
pub trait Admission: Send + Sync {
    /// Changes the object (create and update only) before it is validated.
    ///
    /// # Errors
    /// A [`Denial`] ends the request.
    fn mutate(&self, request: &AdmissionRequest<'_>, object: &mut Value) -> Result<(), Box<Denial>> {
        let _ = (request, object);
        Ok(())
    }

    /// Judges the final object; for a deletion this is the object about to go. Gives what the caller should know
    /// although the request is let pass.
    ///
    /// # Errors
    /// A [`Denial`] ends the request.
    fn validate(&self, request: &AdmissionRequest<'_>, object: &Value) -> Result<Vec<String>, Box<Denial>> {
        let _ = (request, object);
        Ok(Vec::new())
    }
}

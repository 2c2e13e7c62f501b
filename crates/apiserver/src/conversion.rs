//! The seam between the versions of a custom resource.

use serde_json::Value;

/// Turns an object of one version into another version of the same kind.
///
/// It is called while the cluster is locked: it must be quick, pure, and must not call the server.
pub trait Conversion: Send + Sync {
    /// Gives `object` as `api_version`.
    ///
    /// # Errors
    /// A sentence that says why it cannot be done; the request then fails with an internal error.
    fn convert(&self, object: Value, api_version: &str) -> Result<Value, String>;
}

/// Changes nothing but `apiVersion`, as a CRD with `conversion.strategy: None` does.
#[derive(Clone, Copy, Debug, Default)]
pub struct RewriteApiVersion;

impl Conversion for RewriteApiVersion {
    fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, String> {
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), api_version.into());
        }
        Ok(object)
    }
}

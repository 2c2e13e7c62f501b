//! Whether the installed kind of hosts has the fields in which machines hand over their data. An older host operator
//! may come without; the API server then drops what it does not know, and a node would boot without its network.

use std::time::Duration;

use capm3_engine::{ActError, ApiClient, ApiError, ObjectKey, ResourceKind};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;
use tracing::warn;

/// Name of the CRD.
pub const NAME: &str = "baremetalhosts.metal3.io";
/// Version of the kind that is written.
const VERSION: &str = "v1alpha1";
/// Fields that machines fill.
const FIELDS: [&str; 2] = ["metaData", "networkData"];

/// How often a CRD that lacks something is read again: the way out is to install a newer one.
pub(crate) const AGAIN: Duration = Duration::from_secs(60);

/// What the installed CRD of hosts lacks, and when it was read; read once if it is complete.
#[derive(Debug, Default)]
pub(crate) struct HostCrd {
    lacks: Mutex<Option<(Vec<&'static str>, Instant)>>,
}

impl HostCrd {
    /// Fields of a host's spec that the CRD does not have. A CRD that may not be read is taken as complete; one that could
    /// not be read yet is not.
    pub(crate) async fn lacks(&self, client: &ApiClient) -> Result<Vec<&'static str>, ActError> {
        let known = self.lacks.lock().clone();
        if let Some((lacks, at)) = &known
            && (lacks.is_empty() || at.elapsed() < AGAIN)
        {
            return Ok(lacks.clone());
        }
        match (read(client).await, known) {
            (Ok(lacks), _) => {
                *self.lacks.lock() = Some((lacks.clone(), Instant::now()));
                Ok(lacks)
            }
            (Err(_), Some((lacks, _))) => Ok(lacks),
            (Err(source), None) => {
                Err(ActError::reading(format!("read CustomResourceDefinition {NAME}"), source))
            }
        }
    }
}

/// Where definitions of kinds are served.
pub fn definitions() -> ResourceKind {
    ResourceKind {
        group: "apiextensions.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        plural: "customresourcedefinitions".to_owned(),
    }
}

async fn read(client: &ApiClient) -> Result<Vec<&'static str>, ApiError> {
    let crd = match client.get::<Value>(&definitions(), &ObjectKey::new("", NAME)).await {
        // Whoever does not answer, or cannot at the moment, is asked again.
        Err(error @ ApiError::NoAnswer { .. }) => return Err(error),
        Err(error @ ApiError::Refused { code: 429 | 500.., .. }) => return Err(error),
        answer => answer.unwrap_or_default(),
    };
    let lacks = crd.as_ref().map(lacking).unwrap_or_default();
    for field in &lacks {
        warn!(
            crd = NAME,
            "the installed BareMetalHost CRD has no field spec.{field}: machines that need it cannot be provisioned; \
             install a newer Baremetal Operator"
        );
    }
    Ok(lacks)
}

/// Fields that machines fill and that a CRD of hosts does not have.
pub fn lacking(crd: &Value) -> Vec<&'static str> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let version = versions.into_iter().flatten().find(|v| v.pointer("/name").is_some_and(|n| n == VERSION));
    let spec = version.and_then(|v| v.pointer("/schema/openAPIV3Schema/properties/spec"));
    let Some(spec) = spec else { return Vec::new() };
    let takes_anything = spec.pointer("/x-kubernetes-preserve-unknown-fields").is_some_and(|v| v == true);
    let has = |field: &str| takes_anything || spec.pointer(&format!("/properties/{field}")).is_some();
    FIELDS.into_iter().filter(|field| !has(field)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_crd_lacks_is_reported_and_what_cannot_be_seen_is_not() {
        let crd = |spec: Value| {
            json!({"spec": {"versions": [{"name": "v1alpha0"}, {"name": VERSION,
                "schema": {"openAPIV3Schema": {"properties": {"spec": spec}}}}]}})
        };
        let table = [
            (crd(json!({"properties": {"metaData": {}, "networkData": {}}})), vec![]),
            (crd(json!({"properties": {"metaData": {}}})), vec!["networkData"]),
            (crd(json!({"properties": {}})), vec!["metaData", "networkData"]),
            (crd(json!({"x-kubernetes-preserve-unknown-fields": true})), vec![]),
            (json!({}), vec![]),
        ];
        for (crd, expected) in table {
            assert_eq!(lacking(&crd), expected, "{crd}");
        }
    }
}

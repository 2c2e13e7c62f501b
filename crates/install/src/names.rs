//! Names and labels that an existing installation has already.

use serde_json::{Value, json};

/// Namespace of the provider.
pub const NAMESPACE: &str = "capm3-system";
/// ServiceAccount of the manager.
pub const SERVICE_ACCOUNT: &str = "capm3-manager";
/// Deployment of the manager.
pub const DEPLOYMENT: &str = "capm3-controller-manager";
/// ClusterRole for whoever reads the manager's metrics.
pub const METRICS_READER: &str = "capm3-metrics-reader";
/// Label by which clusterctl knows what belongs to the provider.
pub const PROVIDER_LABEL: &str = "cluster.x-k8s.io/provider";
/// Value of that label.
pub const PROVIDER_NAME: &str = "infrastructure-metal3";

pub(crate) const WEBHOOK_SERVICE: &str = "capm3-webhook-service";
pub(crate) const CERTIFICATE_SECRET: &str = "capm3-webhook-service-cert";
/// Where a manager keeps the certificate that it makes itself. Not that of cert-manager, which would write it too.
pub(crate) const SELF_MANAGED_SECRET: &str = "capm3-webhook-self-managed-cert";
pub(crate) const MUTATING: &str = "capm3-mutating-webhook-configuration";
pub(crate) const VALIDATING: &str = "capm3-validating-webhook-configuration";
/// Annotation by which cert-manager finds out whose authority to write into an object.
pub(crate) const INJECT_CA: &str = "cert-manager.io/inject-ca-from";

/// Labels of the manager's pods. The selector of a Deployment cannot be changed, so these are the Go provider's.
pub(crate) fn pod_labels() -> Value {
    json!({
        PROVIDER_LABEL: PROVIDER_NAME,
        "control-plane": "controller-manager",
        "controller-tools.k8s.io": "1.0",
    })
}

/// The object with the label of the provider.
pub(crate) fn with_provider_label(mut object: Value) -> Value {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata
        && let Some(labels) = metadata.entry("labels").or_insert_with(|| json!({})).as_object_mut()
    {
        labels.insert(PROVIDER_LABEL.to_owned(), PROVIDER_NAME.into());
    }
    object
}

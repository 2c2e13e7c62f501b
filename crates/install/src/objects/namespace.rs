//! The namespace of the provider.

use serde_json::{Value, json};

use crate::names::NAMESPACE;

/// It admits only pods that need no privileges.
pub(crate) fn namespace() -> Vec<Value> {
    vec![json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    })]
}

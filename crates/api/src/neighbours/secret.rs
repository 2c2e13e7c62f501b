//! Secrets: watched as metadata only; contents are read when needed and never printed.

use std::{collections::BTreeMap, fmt};

use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

/// What is kept of a Secret in memory: that it exists, and whose it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretMetadata {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
}

crate::kind::kind!(SecretMetadata, "", "v1", "Secret", "secrets");

/// A Secret with its contents, as read when needed. `Debug` never shows them.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Secret {
    /// Object metadata.
    #[serde(deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// Contents, base64.
    pub data: BTreeMap<String, String>,
}

crate::kind::kind!(Secret, "", "v1", "Secret", "secrets");

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("namespace", &self.metadata.namespace)
            .field("name", &self.metadata.name)
            .field("keys", &self.data.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_of_a_secret_shows_keys_but_no_values() {
        let secret: Secret =
            serde_json::from_value(serde_json::json!({"metadata": {"name": "s"}, "data": {"k": "c2VjcmV0"}}))
                .unwrap();
        let text = format!("{secret:?}");
        assert!(text.contains("\"k\""));
        assert!(!text.contains("c2VjcmV0"));
    }
}

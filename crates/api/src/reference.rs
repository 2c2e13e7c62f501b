//! References between objects, as the provider's kinds write them. Caches hold several of them an object, so their
//! texts take no room to grow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reference by name to an object, normally in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ObjectRef {
    /// Name of the referenced object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<Box<str>>,
    /// Namespace of the referenced object; empty means the namespace of the referring object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub namespace: Option<Box<str>>,
}

impl ObjectRef {
    /// A reference with both parts.
    pub fn new(namespace: impl Into<Box<str>>, name: impl Into<Box<str>>) -> Self {
        Self { name: Some(name.into()), namespace: Some(namespace.into()) }
    }

    /// The name, empty when there is none.
    pub fn name_str(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

/// A reference to a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct SecretRef {
    /// Name of the Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// Namespace of the Secret; empty means the namespace of the referring object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Box<str>>,
}

impl SecretRef {
    /// A reference with both parts.
    pub fn new(namespace: impl Into<Box<str>>, name: impl Into<Box<str>>) -> Self {
        Self { name: Some(name.into()), namespace: Some(namespace.into()) }
    }

    /// The name, empty when there is none.
    pub fn name_str(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

/// The wide reference of the core API (`ObjectReference`), of which the address kinds use name and namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct WideRef {
    /// API version of the referent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<Box<str>>,
    /// Path into the referent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_path: Option<Box<str>>,
    /// Kind of the referent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Box<str>>,
    /// Name of the referent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// Namespace of the referent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Box<str>>,
    /// Version of the referent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<Box<str>>,
    /// Uid of the referent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<Box<str>>,
}

impl WideRef {
    /// A reference with name and namespace only.
    pub fn new(namespace: impl Into<Box<str>>, name: impl Into<Box<str>>) -> Self {
        Self { name: Some(name.into()), namespace: Some(namespace.into()), ..Self::default() }
    }

    /// The name, empty when there is none.
    pub fn name_str(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

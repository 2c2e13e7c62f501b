//! How stored objects are shown to one caller: in the version and the shape that were asked for.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    env::Env,
    meta,
    negotiate::Shape,
    resource::Version,
    status::{ApiError, ApiResult},
    store::object::Stored,
};

/// Kind and version under which metadata alone is shown.
const METADATA_API: &str = "meta.k8s.io/v1";

/// A way of showing objects.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) version: Arc<Version>,
    pub(crate) shape: Shape,
    kind: String,
    list_kind: String,
}

impl View {
    pub(crate) fn new(kind: &str, list_kind: &str, version: Arc<Version>, shape: Shape) -> Self {
        let (kind, list_kind) = match shape {
            Shape::Full => (kind, list_kind),
            Shape::Metadata => ("PartialObjectMetadata", "PartialObjectMetadataList"),
        };
        Self { version, shape, kind: kind.to_owned(), list_kind: list_kind.to_owned() }
    }

    fn api_version(&self) -> &str {
        match self.shape {
            Shape::Full => &self.version.api_version,
            Shape::Metadata => METADATA_API,
        }
    }

    /// An object as bytes; shared ones if it is shown as it is stored.
    pub(crate) fn object(&self, env: &Env, stored: &Stored) -> ApiResult<Bytes> {
        if self.shape == Shape::Metadata {
            let metadata = meta::of(&stored.head);
            return Ok(bytes(&json!({"kind": self.kind, "apiVersion": METADATA_API, "metadata": metadata})));
        }
        if meta::str_at(&stored.head, "apiVersion") == self.version.api_version {
            return Ok(stored.json.clone());
        }
        let converted = env.conversion().convert(stored.value(), &self.version.api_version);
        converted.map(|object| bytes(&object)).map_err(ApiError::Internal)
    }

    /// A list as bytes.
    pub(crate) fn list(&self, env: &Env, metadata: &Value, objects: &[Arc<Stored>]) -> ApiResult<Bytes> {
        let head = json!({"apiVersion": self.api_version(), "kind": self.list_kind, "metadata": metadata})
            .to_string();
        let mut list = head.into_bytes();
        list.pop();
        list.extend_from_slice(b",\"items\":[");
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                list.push(b',');
            }
            list.extend_from_slice(&self.object(env, object)?);
        }
        list.extend_from_slice(b"]}");
        Ok(list.into())
    }

    /// The object of a bookmark: nothing but a revision.
    pub(crate) fn bookmark(&self, revision: u64, ends_initial_events: bool) -> Value {
        let mut metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if ends_initial_events && let Some(fields) = metadata.as_object_mut() {
            fields.insert("annotations".to_owned(), json!({"k8s.io/initial-events-end": "true"}));
        }
        json!({"kind": self.kind, "apiVersion": self.api_version(), "metadata": metadata})
    }
}

/// JSON text of a value.
pub(crate) fn bytes(value: &Value) -> Bytes {
    value.to_string().into()
}

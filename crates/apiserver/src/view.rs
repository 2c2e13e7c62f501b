//! How stored objects are shown to one caller: in the version and the shape that were asked for.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    meta,
    negotiate::Shape,
    resource::{Resource, Version},
    server_context::Env,
    status::{ApiError, ApiResult},
    store::object::Stored,
    table::{self, Include},
};

/// Kind and version under which metadata alone is shown.
const METADATA_API: &str = "meta.k8s.io/v1";

/// A way of showing objects.
#[derive(Clone)]
pub(crate) struct View {
    resource: Arc<Resource>,
    version: Arc<Version>,
    shape: Shape,
    include: Include,
    /// Whether the next table says what its columns mean.
    headers: bool,
}

impl View {
    pub(crate) fn new(
        resource: Arc<Resource>,
        version: Arc<Version>,
        shape: Shape,
        include: Include,
    ) -> Self {
        Self { resource, version, shape, include, headers: true }
    }

    /// A watch repeats everything but the headers.
    pub(crate) fn without_headers(&mut self) {
        self.headers = false;
    }

    /// An object as bytes; shared ones if it is shown as it is stored.
    pub(crate) fn object(&self, env: &Env, stored: &Stored) -> ApiResult<Bytes> {
        match self.shape {
            Shape::Full if self.is_stored_so(stored) => Ok(stored.json.clone()),
            Shape::Full => self.value(env, stored).map(|object| bytes(&object)),
            Shape::Metadata => {
                let start =
                    format!(r#"{{"kind":"PartialObjectMetadata","apiVersion":"{METADATA_API}","metadata":"#);
                Ok([start.as_bytes(), stored.metadata(), b"}"].concat().into())
            }
            Shape::Table => {
                let metadata =
                    json!({"resourceVersion": meta::text(&stored.metadata_value(), "resourceVersion")});
                let row = self.row(env, stored)?;
                Ok(bytes(&self.table(&metadata, vec![row])))
            }
        }
    }

    fn is_stored_so(&self, stored: &Stored) -> bool {
        *stored.head.api_version == *self.version.api_version
    }

    fn value(&self, env: &Env, stored: &Stored) -> ApiResult<Value> {
        if self.is_stored_so(stored) {
            return Ok(stored.value());
        }
        env.convert(stored.value(), &self.version.api_version).map_err(ApiError::Internal)
    }

    fn row(&self, env: &Env, stored: &Stored) -> ApiResult<Value> {
        let object = self.value(env, stored)?;
        Ok(table::row(&self.version.columns, object, self.include, env.timestamp()))
    }

    fn table(&self, metadata: &Value, rows: Vec<Value>) -> Value {
        let columns = self.headers.then_some(self.version.columns.as_slice());
        table::table(metadata, columns, rows)
    }

    /// A list as bytes.
    pub(crate) fn list(&self, env: &Env, metadata: &Value, objects: &[Arc<Stored>]) -> ApiResult<Bytes> {
        let (kind, api_version) = match self.shape {
            Shape::Full => (self.resource.list_kind.as_str(), self.version.api_version.as_str()),
            Shape::Metadata => ("PartialObjectMetadataList", METADATA_API),
            Shape::Table => {
                let rows =
                    objects.iter().map(|object| self.row(env, object)).collect::<ApiResult<Vec<_>>>()?;
                return Ok(bytes(&self.table(metadata, rows)));
            }
        };
        // A real server sorts the members of custom kinds by name, not those of its own.
        let sorted = self.resource.is_custom() && self.shape == Shape::Full;
        let (head, tail) = if sorted {
            (
                format!(r#"{{"apiVersion":"{api_version}","items":["#),
                format!("],\"kind\":\"{kind}\",\"metadata\":{metadata}}}\n"),
            )
        } else {
            let head =
                format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata},"items":["#);
            (head, "]}\n".to_owned())
        };
        let mut list = head.into_bytes();
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                list.push(b',');
            }
            list.extend_from_slice(&self.object(env, object)?);
        }
        list.extend_from_slice(tail.as_bytes());
        Ok(list.into())
    }

    /// The object of a bookmark: nothing but a revision.
    pub(crate) fn bookmark(&self, revision: u64, ends_initial_events: bool) -> Value {
        let mut metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if ends_initial_events && let Some(fields) = metadata.as_object_mut() {
            fields.insert("annotations".to_owned(), json!({"k8s.io/initial-events-end": "true"}));
        }
        let (kind, api_version) = match self.shape {
            Shape::Full => (self.resource.kind.as_str(), self.version.api_version.as_str()),
            Shape::Metadata => ("PartialObjectMetadata", METADATA_API),
            Shape::Table => return self.table(&metadata, Vec::new()),
        };
        json!({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    }
}

/// JSON text of a value.
pub(crate) fn bytes(value: &Value) -> Bytes {
    value.to_string().into()
}

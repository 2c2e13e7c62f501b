//! OpenAPI v2, which `kubectl` still downloads before it applies a `List`. The document says nothing about any kind,
//! so clients check nothing with it and leave that to the server, which does.

use serde_json::{Value, json};

/// How `kubectl` asks for the binary form, the only one it reads.
pub(crate) const ASKED_TYPE: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// What the answer calls itself: what is asked for is not a media type that clients can parse.
pub(crate) const BINARY_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The document in binary form: the fields `swagger`, and `info` with `title` and `version`.
pub(crate) const BINARY: &[u8] = b"\x0a\x032.0\x12\x15\x0a\x0aKubernetes\x12\x07v1.36.0";

/// The document.
pub(crate) fn document() -> Value {
    json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.36.0"}, "paths": {}, "definitions": {}})
}

//! A document as the object that the controllers read.

use capm3_api::{conversion, metadata::group_of, v1beta2};
use capm3_engine::{
    Object,
    manifests::{Document, Problem},
};
use serde_json::Value;

/// The object in the version in which the controllers read it, with the namespace that it lives in.
pub fn object<K: Object>(document: &Document) -> Result<K, Problem> {
    let mut value = stored(document)?;
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("namespace".to_owned(), Value::String(document.key().namespace));
    }
    let object = serde_json::from_value(value);
    object.map_err(|error| document.problem("", format!("cannot be read: {error}")))
}

/// What is wrong with a document whose object another one has brought already.
pub fn twice(document: &Document, first: &Document) -> Problem {
    let place = format!("{}:{}", first.file, first.line());
    document.problem("", format!("is there twice: also at {place}; remove one of them"))
}

fn stored(document: &Document) -> Result<Value, Problem> {
    let value = document.value.clone();
    if group_of(document.api_version()) != v1beta2::GROUP {
        return Ok(value);
    }
    let converted = conversion::convert(value, v1beta2::API_VERSION);
    converted.map_err(|error| {
        document.problem("apiVersion", format!("{error}; `capm3 migrate` brings older documents to v1beta2"))
    })
}

//! The annotation that carries the stored object through a reader of the older version.

use serde_json::Value;

use super::{
    ConversionError,
    json::{Object, child, drop_empty, ensured, sorted, take},
};
use crate::vocabulary::annotation::CONVERSION_DATA;

/// Writes `hub`, which has no metadata, into the annotation.
pub(super) fn put(object: &mut Object, hub: Object) -> Result<(), ConversionError> {
    let text = sorted(&Value::Object(hub)).to_string();
    let annotations = ensured(object, "metadata").and_then(|it| ensured(it, "annotations"));
    annotations.ok_or(ConversionError::Metadata)?.insert(CONVERSION_DATA.to_owned(), Value::String(text));
    Ok(())
}

/// Takes the annotation off and reads it.
pub(super) fn take_off(object: &mut Object) -> Result<Option<Object>, ConversionError> {
    let Some(metadata) = child(object, "metadata") else { return Ok(None) };
    let text = child(metadata, "annotations").and_then(|it| take(it, CONVERSION_DATA));
    drop_empty(metadata, "annotations");
    let Some(text) = text else { return Ok(None) };
    let text = text.as_str().unwrap_or_default();
    let mut stored: Object =
        serde_json::from_str(text).map_err(|source| ConversionError::StoredData { source })?;
    take(&mut stored, "metadata");
    Ok(Some(stored))
}

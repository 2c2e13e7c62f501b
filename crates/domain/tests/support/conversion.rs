//! Judges conversion cases: an object in the other version, and back again.
//!
//! Stands beside the golden reader and not within it, because crates that share the reader need not know versions.

use capm3_api::{v1beta1, v1beta2, vocabulary::annotation::CONVERSION_DATA};
use serde_json::Value;

use crate::support::{Case, same};

/// Compares what `convert` makes of the object of a case with what is expected. An expected failure is judged by `failed`,
/// which is given the object and the message. Gives the converted object, or none after a failure.
pub fn judge(
    case: &Case,
    convert: impl Fn(&Value, &str) -> Result<Value, String>,
    failed: impl Fn(&Value, &str) -> Result<(), String>,
) -> Result<Option<Value>, String> {
    let object = &case.input["object"];
    let (here, there) = match object["apiVersion"].as_str() {
        Some(v1beta1::API_VERSION) => (v1beta1::API_VERSION, v1beta2::API_VERSION),
        _ => (v1beta2::API_VERSION, v1beta1::API_VERSION),
    };
    let converted = match (convert(object, there), case.expected.get("error")) {
        (Err(message), Some(_)) => return failed(object, &message).map(|()| None),
        (Ok(converted), None) => converted,
        (Ok(converted), Some(_)) => return Err(format!("no error but {converted}")),
        (Err(error), None) => return Err(error),
    };
    same("converted", &readable(&converted), &readable(&case.expected["converted"]))?;
    let back = convert(&converted, here).map_err(|error| format!("back: {error}"))?;
    same("back", &readable(&back), &readable(&case.expected["back"]))?;
    Ok(Some(readable(&converted)))
}

/// With the annotation as JSON instead of text.
fn readable(object: &Value) -> Value {
    let mut object = object.clone();
    let path = ["metadata", "annotations", CONVERSION_DATA];
    let stored = path.iter().try_fold(&mut object, |value, name| value.get_mut(*name));
    if let Some(stored) = stored {
        *stored = serde_json::from_str(stored.as_str().unwrap_or_default()).unwrap_or(Value::Null);
    }
    object
}

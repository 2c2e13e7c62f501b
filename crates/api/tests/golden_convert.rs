//! Conversion between the versions, against the answers of the reference.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use base64::{Engine, engine::general_purpose::STANDARD};
use capm3_api::{conversion::convert, v1beta1, v1beta2, vocabulary::annotation::CONVERSION_DATA};
use serde_json::Value;

#[allow(unused_imports)]
#[path = "../../domain/tests/support/mod.rs"]
mod support;

#[test]
fn golden_convert() {
    support::run("convert", judge);
}

fn judge(case: &support::Case) -> Result<(), String> {
    let object = &case.input["object"];
    let (here, there) = match object["apiVersion"].as_str() {
        Some(v1beta1::API_VERSION) => (v1beta1::API_VERSION, v1beta2::API_VERSION),
        _ => (v1beta2::API_VERSION, v1beta1::API_VERSION),
    };
    let converted = match (convert(object.clone(), there), case.expected.get("error")) {
        (Err(_), Some(_)) => return Ok(()),
        (Ok(converted), None) => converted,
        (Ok(converted), Some(_)) => return Err(format!("no error but {converted}")),
        (Err(error), None) => return Err(error.to_string()),
    };
    support::same("converted", &readable(&converted), &readable(&case.expected["converted"]))?;
    if let Some(bytes) = case.expected.get("conversion_data_b64").and_then(Value::as_str) {
        let expected: Value = serde_json::from_slice(&STANDARD.decode(bytes).unwrap()).unwrap();
        support::same(
            "stored",
            &readable(&converted)["metadata"]["annotations"][CONVERSION_DATA],
            &expected,
        )?;
    }
    let back = convert(converted, here).map_err(|error| format!("back: {error}"))?;
    support::same("back", &readable(&back), &readable(&case.expected["back"]))
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

//! Golden vectors of conversion, asked by the reviews that an API server sends.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

// The reader offers more than this test uses.
#[allow(unused_imports)]
#[path = "../../domain/tests/support/mod.rs"]
mod support;

use capm3_admission::review::{self, Route};
use capm3_api::{v1beta1, v1beta2, vocabulary::annotation::CONVERSION_DATA};
use serde_json::{Value, json};

#[test]
fn golden_convert_by_reviews() {
    support::run("convert", judge);
}

fn judge(case: &support::Case) -> Result<(), String> {
    let object = &case.input["object"];
    let (here, there) = match object["apiVersion"].as_str() {
        Some(v1beta1::API_VERSION) => (v1beta1::API_VERSION, v1beta2::API_VERSION),
        _ => (v1beta2::API_VERSION, v1beta1::API_VERSION),
    };
    let converted = match (convert(object, there), case.expected.get("error")) {
        (Err(message), Some(_)) => return named(object, &message),
        (Ok(converted), None) => converted,
        (Ok(converted), Some(_)) => return Err(format!("no error but {converted}")),
        (Err(error), None) => return Err(error),
    };
    support::same("converted", &readable(&converted), &readable(&case.expected["converted"]))?;
    let back = convert(&converted, here).map_err(|error| format!("back: {error}"))?;
    support::same("back", &readable(&back), &readable(&case.expected["back"]))
}

/// A failure says which object it is.
fn named(object: &Value, message: &str) -> Result<(), String> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if message.contains(name) { Ok(()) } else { Err(format!("{name} is not named: {message}")) }
}

fn convert(object: &Value, desired: &str) -> Result<Value, String> {
    let request = json!({"uid": "u", "desiredAPIVersion": desired, "objects": [object]});
    let review =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request});
    let reply = review::answer(Route::Convert, review.to_string().as_bytes());
    assert_eq!(reply.code, 200, "{}", String::from_utf8_lossy(&reply.body));
    let mut answer: Value = serde_json::from_slice(&reply.body).unwrap();
    let response = answer["response"].take();
    match response["result"]["status"].as_str() {
        Some("Success") => Ok(response["convertedObjects"][0].clone()),
        _ => Err(response["result"]["message"].as_str().unwrap().to_owned()),
    }
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

//! Golden vectors of conversion, asked by the reviews that an API server sends.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../../domain/tests/support/conversion.rs"]
mod conversion;
// The reader has more than this test uses.
#[allow(unused_imports)]
#[path = "../../domain/tests/support/mod.rs"]
mod support;

use capm3_admission::review::{self, Route};
use serde_json::{Value, json};

#[test]
fn golden_convert_by_reviews() {
    support::run("convert", judge);
}

fn judge(case: &support::Case) -> Result<(), String> {
    conversion::judge(case, convert, named).map(drop)
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

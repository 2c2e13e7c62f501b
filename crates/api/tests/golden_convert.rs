//! Conversion between the versions, against the answers of the reference.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use base64::{Engine, engine::general_purpose::STANDARD};
use capm3_api::{conversion::convert, vocabulary::annotation::CONVERSION_DATA};
use serde_json::Value;

#[path = "../../domain/tests/support/conversion.rs"]
mod conversion;
#[allow(unused_imports)]
#[path = "../../domain/tests/support/mod.rs"]
mod support;

#[test]
fn golden_convert() {
    support::run("convert", judge);
}

fn judge(case: &support::Case) -> Result<(), String> {
    let convert = |object: &Value, to: &str| convert(object.clone(), to).map_err(|error| error.to_string());
    let Some(converted) = conversion::judge(case, convert, |_, _| Ok(()))? else {
        return Ok(());
    };
    let Some(bytes) = case.expected.get("conversion_data_b64").and_then(Value::as_str) else {
        return Ok(());
    };
    let expected: Value = serde_json::from_slice(&STANDARD.decode(bytes).unwrap()).unwrap();
    support::same("stored", &converted["metadata"]["annotations"][CONVERSION_DATA], &expected)
}

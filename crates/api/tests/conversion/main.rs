//! Conversion between the versions: nothing is lost either way, edits made in v1beta1 count, and no input makes it
//! panic. `CAPM3_PROPERTY_CASES` says how many cases each property gets (1,000 if unset).
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod examples;
mod hub;
mod meaning;
mod noise;
mod objects;
mod spoke;

use capm3_api::{conversion::convert, v1beta1, v1beta2};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;

/// The nine kinds.
const KINDS: [&str; 9] = [
    "Metal3Cluster",
    "Metal3ClusterTemplate",
    "Metal3Machine",
    "Metal3MachineTemplate",
    "Metal3DataTemplate",
    "Metal3DataClaim",
    "Metal3Data",
    "Metal3Remediation",
    "Metal3RemediationTemplate",
];

/// How many cases a property gets.
fn cases() -> u32 {
    std::env::var("CAPM3_PROPERTY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000)
}

/// Judges many objects of a kind; more cases continue where fewer end.
fn check(kind: &str, version: &str, newer: bool, judge: impl Fn(&Value) -> Result<(), String>) {
    let config =
        Config { cases: cases(), failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let objects = objects::of_kind(kind, version, newer);
    let result = runner.run(&objects, |object| {
        judge(&object).map_err(|difference| TestCaseError::fail(format!("{difference}\nof {object:#}")))
    });
    if let Err(error) = result {
        panic!("{kind}: {error}");
    }
}

fn to_hub(object: &Value) -> Result<Value, String> {
    convert(object.clone(), v1beta2::API_VERSION).map_err(|error| error.to_string())
}

fn to_spoke(object: &Value) -> Result<Value, String> {
    convert(object.clone(), v1beta1::API_VERSION).map_err(|error| error.to_string())
}

fn same(ours: &Value, expected: &Value) -> Result<(), String> {
    if ours == expected { Ok(()) } else { Err(format!("came back as {ours:#}\ninstead of {expected:#}\n")) }
}

//! Golden vectors of provider IDs, machine addresses and paused hosts.
#![allow(clippy::indexing_slicing, reason = "a test may panic")]

// The reader has more than this test uses.
#[allow(unused_imports)]
mod support;

use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::{
    host::annotated_host,
    pause::pause,
    provider_id::{addresses, expected_id},
};
use serde_json::{Value, json};
use support::Case;

#[test]
fn golden_provider_id_addresses() {
    support::run("provider-id-addresses", |case| match case.input["op"].as_str().unwrap_or_default() {
        "addresses" => {
            let host: BareMetalHost = case.input("host")?;
            support::same("addresses", &json!(addresses(&host)), &case.expected["addresses"])
        }
        "providerID" => {
            let machine: Metal3Machine = case.input("metal3Machine")?;
            let ours = match expected_id(&machine) {
                Ok(id) => json!({"providerID": id.to_string()}),
                Err(_) => json!({"error": {"class": "plain"}}),
            };
            let mut expected = case.expected.clone();
            if let Some(error) = expected["error"].as_object_mut() {
                error.retain(|member, _| member == "class");
            }
            support::same("provider ID", &ours, &expected)
        }
        "pause" => support::same(
            "annotations",
            &paused(case)?,
            case.expected.get("annotations").unwrap_or(&Value::Null),
        ),
        other => Err(format!("nothing answers op \"{other}\" yet")),
    });
}

/// The annotations of the host after it was paused.
fn paused(case: &Case) -> Result<Value, String> {
    let machine: Metal3Machine = case.input("metal3Machine")?;
    let host: BareMetalHost = case.input("host")?;
    let mut annotations = json!(host.metadata.annotations.clone().unwrap_or_default());
    if annotated_host(&machine).map_err(|error| error.to_string())?.is_none() {
        return Ok(annotations);
    }
    let patch = pause(host.metadata.annotations.as_ref(), &case.input["host"]["status"]);
    for (key, value) in patch.into_iter().flatten() {
        annotations[key] = value;
    }
    Ok(annotations)
}

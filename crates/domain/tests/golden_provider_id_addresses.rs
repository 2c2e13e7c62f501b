//! Golden vectors of provider IDs and machine addresses.

// The reader offers more than this test uses.
#[allow(unused_imports)]
mod support;

use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::provider_id::{addresses, expected_id};
use serde_json::json;

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
        other => Err(format!("nothing answers op \"{other}\" yet")),
    });
}

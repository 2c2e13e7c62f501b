//! Judges render cases: the pools that are needed, then the document, byte for byte.
//!
//! Stands beside the golden reader and not within it, because crates that share the reader need not know rendering.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use capm3_api::{
    neighbours::{BareMetalHost, Machine},
    v1beta2::{Metal3Data, Metal3DataTemplateSpec, Metal3Machine},
};
use capm3_domain::render::{Address, Inputs, Objects, RenderError, referenced_pools};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Case, parse_yaml, same};

/// What a case says that a pool gave.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    #[serde(default)]
    address: String,
    #[serde(default)]
    prefix: Option<i32>,
    #[serde(default)]
    gateway: String,
    #[serde(default)]
    dns_servers: Vec<String>,
}

impl From<Given> for Address {
    fn from(given: Given) -> Self {
        Self {
            address: given.address,
            prefix: given.prefix,
            gateway: given.gateway,
            dns_servers: given.dns_servers,
        }
    }
}

/// Judges one case; `member` is where `expected` holds the document, `render` makes it.
pub fn judge(
    case: &Case,
    member: &str,
    spec: &Metal3DataTemplateSpec,
    render: impl Fn(&Inputs<'_>) -> Option<Result<String, RenderError>>,
) -> Result<(), String> {
    let data: Metal3Data = case.input("data")?;
    let metal3_machine: Option<Metal3Machine> = case.optional_input("metal3Machine")?;
    let machine: Option<Machine> = case.optional_input("machine")?;
    let host: Option<BareMetalHost> = case.optional_input("host")?;
    let given: BTreeMap<String, Given> = case.input("pools")?;
    let addresses = given.into_iter().map(|(pool, given)| (pool, given.into())).collect();
    let objects =
        Objects { metal3_machine: metal3_machine.as_ref(), machine: machine.as_ref(), host: host.as_ref() };
    judge_pools(&case.expected, spec, objects)?;
    let inputs = Inputs { data: &data, objects, addresses: &addresses };
    match render(&inputs) {
        None => same("rendered", &json!(false), expected(case, "rendered")),
        Some(Err(error)) => judge_error("render", expected(case, "error"), &error),
        Some(Ok(text)) => judge_document(case, member, &text),
    }
}

fn expected<'a>(case: &'a Case, member: &str) -> &'a Value {
    case.expected.get(member).unwrap_or(&Value::Null)
}

fn judge_pools(expected: &Value, spec: &Metal3DataTemplateSpec, objects: Objects<'_>) -> Result<(), String> {
    match referenced_pools(spec, objects) {
        Err(error) => judge_error("claims", expected.get("claims_error").unwrap_or(&Value::Null), &error),
        Ok(_) if expected.get("claims_error").is_some() => Err("claims: an error was expected".to_owned()),
        Ok(pools) => {
            let ours: Vec<_> = pools
                .values()
                .map(|pool| json!({"pool": pool.name, "apiGroup": pool.api_group, "kind": pool.kind}))
                .collect();
            let none = json!([]);
            same("claims", &ours.into(), expected.get("claims").unwrap_or(&none))
        }
    }
}

/// Our text holds the expected one and says more.
fn judge_error(what: &str, expected: &Value, error: &RenderError) -> Result<(), String> {
    match expected.get("text").and_then(Value::as_str) {
        None => Err(format!("{what}: no error was expected, ours is {error}")),
        Some(text) if error.to_string().contains(text) => Ok(()),
        Some(text) => Err(format!("{what}: error {text:?} was expected, ours is {error}")),
    }
}

fn judge_document(case: &Case, member: &str, ours: &str) -> Result<(), String> {
    if let Some(parsed) = case.expected.get("parsed") {
        return same("parsed", &parse_yaml(ours)?, parsed);
    }
    let theirs = match (case.expected.get("expected_b64"), case.expected.get(member)) {
        (Some(Value::String(encoded)), _) => STANDARD.decode(encoded).map_err(|error| error.to_string())?,
        (_, Some(Value::String(text))) => text.clone().into_bytes(),
        _ => return Err(format!("no document was expected, ours is\n{ours}")),
    };
    if theirs == ours.as_bytes() {
        return Ok(());
    }
    Err(difference(&String::from_utf8_lossy(&theirs), ours))
}

/// The first line that differs.
fn difference(theirs: &str, ours: &str) -> String {
    let pairs = theirs.lines().zip(ours.lines());
    match pairs.into_iter().find(|(theirs, ours)| theirs != ours) {
        Some((theirs, ours)) => format!("ours {ours:?}, expected {theirs:?}"),
        None => format!("ours {ours:?}, expected {theirs:?}"),
    }
}

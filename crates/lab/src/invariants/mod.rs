//! What must hold whatever happens to the provider, looked at from outside: only objects, none of its rules.
//!
//! [`mix_ups`] and [`losses`] read every revision that the server remembers, [`leaks`] what is there at the end.

mod leaks;
mod losses;
mod mix_ups;

use serde_json::Value;

pub use leaks::{DELETED_WITH_A_CLUSTER, leaks};
pub use losses::{judge as judge_losses, losses};
pub(crate) use mix_ups::{SecondHost, mix_ups_among};
pub use mix_ups::{judge, mix_ups};

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Namespace and name.
fn key(object: &Value) -> String {
    format!("{}/{}", text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// A name in the namespace of an object.
fn beside(object: &Value, name: &str) -> String {
    format!("{}/{name}", text(object, "/metadata/namespace"))
}

/// The host that a machine has recorded.
fn recorded_host(machine: &Value) -> Option<String> {
    let value = machine.pointer("/metadata/annotations/metal3.io~1BareMetalHost")?.as_str()?;
    let name = value.split_once('/').map_or(value, |(_, name)| name);
    Some(beside(machine, name))
}

/// The machine that a host names as its consumer.
fn consuming_machine(host: &Value) -> Option<String> {
    let is_machine = text(host, "/spec/consumerRef/kind") == "Metal3Machine";
    is_machine.then(|| beside(host, text(host, "/spec/consumerRef/name")))
}

/// Objects as a server remembers them, one revision after the other; one with the member `gone` is removed by its revision.
#[cfg(test)]
fn history_of(objects: &[Value]) -> Vec<capm3_apiserver::Revision> {
    let number = |(at, object): (usize, &Value)| capm3_apiserver::Revision {
        number: at as u64 + 1,
        removed: object.pointer("/gone").is_some(),
        object: object.clone(),
    };
    objects.iter().enumerate().map(number).collect()
}

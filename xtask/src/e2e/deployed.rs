//! The arguments of the manager in the Deployment of a release, as a process of this machine can have them.

use anyhow::{Context, Result};
use capm3_install::{Install, NAMESPACE, variables};
use serde_json::Value;

/// Those of a release with the built-in address manager, whose webhooks are served on this port.
pub fn arguments(webhook_port: u16) -> Result<Vec<String>> {
    let install = Install { ipam: true, ..Install::default() };
    let objects = install.objects();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
    let given = deployment.and_then(|it| it.pointer("/spec/template/spec/containers/0/args"));
    let given = given.and_then(Value::as_array).context("a Deployment without arguments")?;
    let given = given.iter().filter_map(Value::as_str);
    Ok(given.flat_map(|argument| here(&variables::with_defaults(argument), webhook_port)).collect())
}

/// An argument with what differs outside a pod: ports of this machine, and the namespace, which a pod knows by itself.
fn here(argument: &str, webhook_port: u16) -> Vec<String> {
    match argument.split('=').next().unwrap_or_default() {
        "--webhook-port" => vec![format!("--webhook-port={webhook_port}")],
        // Whoever starts the process chooses the port.
        "--diagnostics-address" => Vec::new(),
        "--leader-elect" => vec![argument.to_owned(), format!("--leader-elect-namespace={NAMESPACE}")],
        _ => vec![argument.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_the_arguments_of_the_deployment_but_for_its_ports() {
        let expected = [
            "--leader-elect",
            "--leader-elect-namespace=capm3-system",
            "--webhook-port=7",
            "--enable-bmh-name-based-preallocation=false",
            "--insecure-diagnostics=false",
            "--enable-ipam",
        ];
        assert_eq!(arguments(7).unwrap(), expected);
    }
}

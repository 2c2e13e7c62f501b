//! What both servers are given before the script.

use std::{fs, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::kubectl::Kubectl;
use crate::real::wait;

/// How long a server may take to serve a new kind and to describe it.
const LIMIT: Duration = Duration::from_secs(60);

/// Installs every CRD and waits until the kinds are served and described.
pub fn install_crds(kubectl: &Kubectl) -> Result<()> {
    let crds: Vec<Value> = capm3_lab::crds().into_iter().map(|crd| crd.object).collect();
    let file = kubectl.home().join("crds.json");
    fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": crds}).to_string())?;
    must(kubectl, &format!("kubectl create -f '{}'", file.display()))?;
    must(kubectl, "kubectl wait --for=condition=Established crd --all --timeout=60s")?;
    for crd in &crds {
        let (path, kind) = description(crd).context("a CRD without names")?;
        // The description of a group comes after its service, and grows kind by kind.
        let described = wait::until(LIMIT, || {
            let output = kubectl.output(&format!("kubectl get --raw {path}"))?;
            Ok(String::from_utf8_lossy(&output.stdout).contains(&kind).then_some(()))
        })?;
        ensure!(described.is_some(), "{path} does not describe {kind}");
    }
    Ok(())
}

/// Where a server describes a kind, and how it writes the kind there.
fn description(crd: &Value) -> Option<(String, String)> {
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str);
    let (group, version) = (text("/spec/group")?, text("/spec/versions/0/name")?);
    Some((
        format!("/openapi/v3/apis/{group}/{version}"),
        format!("\"kind\":\"{}\"", text("/spec/names/kind")?),
    ))
}

fn must(kubectl: &Kubectl, command: &str) -> Result<()> {
    let output = kubectl.output(command)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{command}` failed: {stderr}");
    Ok(())
}

//! `clusterctl move` to another management cluster and back: machines, data and addresses stay, and no host is provisioned again.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use capm3_lab::report::MachineRow;
use serde_json::{Map, Value};

use super::{clusterctl, management::Management, repository::Repository, say, watched::Watched};
use crate::e2e::{self, NAMESPACE, Stage, text};

/// What a host is booted with.
const BOOTED_WITH: [&str; 6] = ["image", "customDeploy", "userData", "metaData", "networkData", "online"];

/// What may not change by a move.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    machines: Vec<MachineRow>,
    /// By host.
    booted_with: BTreeMap<String, Map<String, Value>>,
    /// Contents of the rendered Secrets.
    rendered: BTreeMap<String, Value>,
}

/// Moves the racks there, scales them, and moves them back.
pub async fn there_and_back(repository: &Repository, here: &Management, there: &Management) -> Result<()> {
    one_way(repository, here, there).await?;
    let stage = there.stage()?;
    stage.scale_workers(3).await?;
    stage.until_ready(3, 3).await?;
    e2e::racks(&stage.report().await?, 6)?;
    say(&format!("{}: a third worker is ready", there.name()));
    one_way(repository, there, here).await
}

/// Moves the racks to another management cluster, and nothing else changes.
pub async fn one_way(repository: &Repository, from: &Management, to: &Management) -> Result<()> {
    let before = kept(from.stage()?).await?;
    ensure!(before.machines.len() >= 5 && before.rendered.len() >= 5, "too little to move: {before:?}");
    let watched = Watched::follow(to.client()?).await?;
    clusterctl::move_to(repository, &from.kubeconfig(), &to.kubeconfig(), NAMESPACE)?;
    let workers = before.machines.len() - 3;
    to.stage()?.until_ready(3, workers.try_into()?).await?;
    to.stage()?.until_still().await?;
    let after = kept(to.stage()?).await?;
    ensure!(after == before, "changed by the move: {before:#?}\n{after:#?}");
    let provisioned = watched.provisionings()?;
    ensure!(provisioned.len() == 12, "{} hosts were moved", provisioned.len());
    ensure!(provisioned.values().all(|count| *count == 0), "provisioned again: {provisioned:?}");
    watched.judge(NAMESPACE)?;
    let left = left(from.stage()?).await?;
    ensure!(left.is_empty(), "left behind by the move: {left:?}");
    say(&format!(
        "moved from {} to {}: {} machines and {} Secrets are as before, no host was provisioned again",
        from.name(),
        to.name(),
        after.machines.len(),
        after.rendered.len()
    ));
    Ok(())
}

async fn kept(stage: &Stage) -> Result<Kept> {
    let is_booted = |spec: &Value| spec.get("image").is_some_and(|it| !it.is_null());
    let booted = stage.host_specs().await?.into_iter().filter(|(_, spec)| is_booted(spec));
    let with = |spec: Value| {
        BOOTED_WITH.iter().filter_map(|it| Some(((*it).to_owned(), spec.get(it)?.clone()))).collect()
    };
    let secrets = stage.list("Secret").await?;
    let rendered = secrets.iter().filter(|it| text(it, "/type") == "infrastructure.cluster.x-k8s.io/secret");
    Ok(Kept {
        machines: stage.report().await?.machines,
        booted_with: booted.map(|(host, spec)| (host, with(spec))).collect(),
        rendered: rendered
            .map(|it| (text(it, "/metadata/name").to_owned(), it.get("data").cloned().unwrap_or_default()))
            .collect(),
    })
}

/// Kinds of which nothing may stay behind.
const MOVED: [&str; 19] = [
    "Cluster",
    "KubeadmControlPlane",
    "MachineDeployment",
    "MachineSet",
    "MachineHealthCheck",
    "Machine",
    "KubeadmConfig",
    "KubeadmConfigTemplate",
    "Metal3Cluster",
    "Metal3Machine",
    "Metal3MachineTemplate",
    "Metal3RemediationTemplate",
    "Metal3DataTemplate",
    "Metal3DataClaim",
    "Metal3Data",
    "IPPool",
    "IPClaim",
    "IPAddress",
    "BareMetalHost",
];

/// Kinds of which what belongs to nobody stays: Secrets of users, and a remediation without a Machine.
const MOVED_WITH_OWNER: [&str; 2] = ["Secret", "Metal3Remediation"];

/// What is still on a management cluster that everything was moved from.
async fn left(stage: &Stage) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for kind in MOVED.into_iter().chain(MOVED_WITH_OWNER) {
        let found = stage.list(kind).await?;
        left.extend(found.iter().filter(|it| must_move(kind, it)).map(|it| title(kind, it)));
    }
    Ok(left)
}

fn title(kind: &str, object: &Value) -> String {
    format!("{kind} {}", text(object, "/metadata/name"))
}

/// Whether an object of a kind must not stay on a management cluster that everything was moved from.
fn must_move(kind: &str, object: &Value) -> bool {
    let is_here = text(object, "/metadata/namespace") == NAMESPACE;
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let is_owned = owners.is_some_and(|owners| !owners.is_empty());
    is_here && (is_owned || !MOVED_WITH_OWNER.contains(&kind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_belongs_to_nobody_may_stay_behind() {
        let object = |namespace: &str, owners: Value| json!({"metadata": {"name": "it", "namespace": namespace, "ownerReferences": owners}});
        let owned = json!([{"kind": "Cluster", "name": "my-cluster"}]);
        for (kind, owners, expected) in [
            ("Secret", json!(null), false),
            ("Secret", owned.clone(), true),
            ("Metal3Remediation", json!([]), false),
            ("Metal3Remediation", owned, true),
            ("KubeadmControlPlane", json!(null), true),
            ("Metal3MachineTemplate", json!(null), true),
        ] {
            assert_eq!(must_move(kind, &object(NAMESPACE, owners.clone())), expected, "{kind} {owners}");
            assert!(!must_move(kind, &object("kube-system", owners)), "{kind}");
        }
    }
}

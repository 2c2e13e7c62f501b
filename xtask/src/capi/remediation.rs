//! Nodes that fail under a real Cluster API: its MachineHealthChecks create the remediations and end them, and the owners of the
//! Machines that are given up, a MachineSet and a control plane, replace them on other hosts.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use capm3_api::vocabulary::annotation::{POWER_OFF_PREFIX, UNHEALTHY};
use capm3_engine::{ApiClient, Detail, ObjectKey, ResourceKind};
use serde_json::{Value, json};

use super::{management::Management, racks::Racks, say, watched::Watched};
use crate::{
    e2e::{NAMESPACE, Stage, text},
    repo,
};

/// Where the health checks and their template are.
const EXAMPLE: &str = "examples/remediation/60-remediation.yaml";
const FAIL: &str = "capm3.example/fail";
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
const OF_WORKERS: &str = "/metadata/labels/cluster.x-k8s.io~1deployment-name";
const OF_PLANES: &str = "/metadata/labels/cluster.x-k8s.io~1control-plane";
/// Attempts of the example before a Machine is given up.
const ATTEMPTS: usize = 2;

/// A Machine whose Node fails.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Victim {
    machine: String,
    uid: String,
    node: String,
    host: String,
}

/// Creates the health checks of the example, which stay: they and their template are moved along with the cluster.
pub async fn begin(management: &Management) -> Result<()> {
    let stage = management.stage()?;
    stage.apply(&capm3_lab::manifests::read(&repo::root().join(EXAMPLE))?).await?;
    stage
        .until("two MachineHealthChecks find every Machine healthy", async || {
            let checks = stage.list("MachineHealthCheck").await?;
            let count = |check: &Value, member: &str| check.pointer(&format!("/status/{member}")).cloned();
            let is_healthy = |check: &&Value| {
                count(check, "currentHealthy").is_some_and(|it| Some(it) == count(check, "expectedMachines"))
            };
            Ok(checks.iter().filter(is_healthy).count() == 2)
        })
        .await
}

/// A worker hangs: its host is powered off and on once, and the Machine stays.
pub async fn power_cycle(management: &Management, racks: &Racks) -> Result<()> {
    let (stage, nodes) = (management.stage()?, racks.nodes().await?);
    let watched = Watched::follow(stage.client()).await?;
    let victim = victim(stage, OF_WORKERS).await?;
    fail(&nodes, &victim.node, "hang").await?;
    stage
        .until("the MachineHealthCheck has created a Metal3Remediation", async || {
            Ok(watched.names_of("Metal3Remediation")?.contains(&victim.machine))
        })
        .await?;
    let is_made = watched.any("Metal3Remediation", |it| is_of(it, &victim))?;
    ensure!(is_made, "the Metal3Remediation of {} does not belong to its Machine", victim.machine);
    stage
        .until("the node is back and the Metal3Remediation is deleted", async || {
            Ok(is_ready(&node(&nodes, &victim.node).await?)
                && stage.list("Metal3Remediation").await?.is_empty())
        })
        .await?;
    let now = self::victim(stage, OF_WORKERS).await?;
    ensure!(now == victim, "the Machine was replaced: {victim:?}, then {now:?}");
    let cycles = watched.power_cycles()?;
    ensure!(cycles == BTreeMap::from([(victim.host.clone(), 1)]), "power cycles: {cycles:?}");
    nothing_is_left(stage, &nodes).await?;
    stage.until_still().await?;
    watched.judge(NAMESPACE)?;
    say(&format!("a node that hung is back: {} was power-cycled once, its Machine stays", victim.host));
    Ok(())
}

/// A worker and a control-plane machine are dead: each is given up and replaced on another host.
pub async fn replace(management: &Management, racks: &Racks) -> Result<()> {
    let (stage, nodes) = (management.stage()?, racks.nodes().await?);
    let watched = Watched::follow(stage.client()).await?;
    let before = watched.provisionings()?;
    let victims = [victim(stage, OF_WORKERS).await?, victim(stage, OF_PLANES).await?];
    for victim in &victims {
        fail(&nodes, &victim.node, "dead").await?;
    }
    // Each attempt takes its whole timeout, which is nearly the limit of one wait.
    let retried = |it: &Value| it.pointer("/status/retryCount").is_some_and(|count| *count == 1);
    stage
        .until("the second attempts begin", async || {
            let remediations = stage.list("Metal3Remediation").await?;
            Ok(remediations.iter().filter(|it| retried(it)).count() == victims.len())
        })
        .await?;
    stage
        .until("both hosts are marked as unhealthy", async || {
            let hosts = stage.list("BareMetalHost").await?;
            Ok(victims
                .iter()
                .all(|victim| hosts.iter().any(|host| is_marked(host) && name(host) == victim.host)))
        })
        .await?;
    stage
        .until("both Machines are gone", async || {
            let machines = stage.list("Machine").await?;
            Ok(!machines
                .iter()
                .any(|it| victims.iter().any(|victim| text(it, "/metadata/uid") == victim.uid)))
        })
        .await?;
    stage.until_machines(5).await?;
    stage.until_ready(3, 2).await?;
    stage.until_still().await?;
    for victim in &victims {
        let requested = watched.any("Machine", |it| name(it) == victim.machine && is_given_up(it))?;
        ensure!(
            requested,
            "{} was replaced and not given up in both generations of conditions",
            victim.machine
        );
        let cycles = watched.power_cycles()?.get(&victim.host).copied().unwrap_or_default();
        ensure!(cycles == ATTEMPTS, "{} was power-cycled {cycles} times", victim.host);
        ensure!(stage.machine_on(&victim.host).await.is_err(), "{} is in use again", victim.host);
    }
    let now = watched.provisionings()?;
    let provisioned: usize = now.iter().map(|(host, count)| count - before.get(host).unwrap_or(&0)).sum();
    ensure!(
        provisioned == victims.len(),
        "{provisioned} hosts were provisioned for {} Machines",
        victims.len()
    );
    nothing_is_left(stage, &nodes).await?;
    watched.judge(NAMESPACE)?;
    // The hosts are repaired.
    for victim in &victims {
        let repaired = json!({"metadata": {"annotations": {UNHEALTHY: null}}});
        stage.patch("BareMetalHost", &victim.host, &repaired).await?;
    }
    let [worker, plane] = victims.map(|victim| victim.host);
    say(&format!(
        "two dead nodes are replaced on other hosts: {worker} (MachineSet), {plane} (control plane)"
    ));
    Ok(())
}

/// The first Machine with a label.
async fn victim(stage: &Stage, label: &str) -> Result<Victim> {
    let mut machines = stage.list("Machine").await?;
    machines.retain(|machine| machine.pointer(label).is_some());
    machines.sort_by(|one, other| name(one).cmp(name(other)));
    let machine = machines.first().with_context(|| format!("no Machine with label {label}"))?;
    let of_machine = stage.list("Metal3Machine").await?;
    let infrastructure = text(machine, "/spec/infrastructureRef/name");
    let host = of_machine.iter().find(|it| name(it) == infrastructure).map(|it| text(it, HOST));
    let host = host.and_then(|it| it.rsplit('/').next()).context("a Machine without host")?;
    let victim = Victim {
        machine: name(machine).to_owned(),
        uid: text(machine, "/metadata/uid").to_owned(),
        node: text(machine, "/status/nodeRef/name").to_owned(),
        host: host.to_owned(),
    };
    ensure!(!victim.node.is_empty(), "a Machine without Node: {victim:?}");
    Ok(victim)
}

const HOST: &str = "/metadata/annotations/metal3.io~1BareMetalHost";

async fn fail(nodes: &ApiClient, node: &str, how: &str) -> Result<()> {
    let change = json!({"metadata": {"annotations": {FAIL: how}}});
    let answer = nodes.merge_patch(&node_kind(), &ObjectKey::new("", node), None, &change).await;
    answer.with_context(|| format!("annotating Node {node}")).map(drop)
}

async fn node(nodes: &ApiClient, name: &str) -> Result<Value> {
    let found = nodes.get::<Value>(&node_kind(), &ObjectKey::new("", name)).await?;
    found.with_context(|| format!("no Node {name}"))
}

fn node_kind() -> ResourceKind {
    let (group, version) = (String::new(), "v1".to_owned());
    ResourceKind { group, version, kind: "Node".to_owned(), plural: "nodes".to_owned() }
}

/// No host is kept off, no Node is out of service, and no remediation is there.
async fn nothing_is_left(stage: &Stage, nodes: &ApiClient) -> Result<()> {
    let hosts = stage.list("BareMetalHost").await?;
    let nodes = nodes.list_page::<Value>(&node_kind(), "", Detail::Whole, None).await?.items;
    ensure!(!hosts.is_empty() && !nodes.is_empty(), "{} hosts, {} Nodes", hosts.len(), nodes.len());
    let is_off = |host: &&Value| {
        let annotations = host.pointer("/metadata/annotations").and_then(Value::as_object);
        let is_used = host.pointer("/spec/consumerRef").is_some();
        annotations.into_iter().flatten().any(|(key, _)| key.starts_with(POWER_OFF_PREFIX))
            || (is_used && host.pointer("/status/poweredOn") != Some(&json!(true)))
    };
    let is_out = |node: &&Value| {
        let taints = node.pointer("/spec/taints").and_then(Value::as_array);
        taints.into_iter().flatten().any(|taint| text(taint, "/key") == OUT_OF_SERVICE)
    };
    let left: Vec<&str> = hosts.iter().filter(is_off).chain(nodes.iter().filter(is_out)).map(name).collect();
    ensure!(left.is_empty(), "left off or out of service: {left:?}");
    let remediations = stage.list("Metal3Remediation").await?;
    ensure!(remediations.is_empty(), "left: {remediations:?}");
    Ok(())
}

/// Whether the Machine owns the Metal3Remediation.
fn is_of(remediation: &Value, victim: &Victim) -> bool {
    let owners = remediation.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    name(remediation) == victim.machine
        && owners
            .into_iter()
            .flatten()
            .any(|it| text(it, "/kind") == "Machine" && text(it, "/uid") == victim.uid)
}

fn is_ready(node: &Value) -> bool {
    condition(node, "/status/conditions", "Ready") == Some("True")
}

fn is_marked(host: &Value) -> bool {
    host.pointer("/metadata/annotations").is_some_and(|it| it.get(UNHEALTHY).is_some())
}

/// Whether the owner of a Machine is asked to replace it, in both generations of conditions.
fn is_given_up(machine: &Value) -> bool {
    let paths = ["/status/conditions", "/status/deprecated/v1beta1/conditions"];
    paths.iter().all(|path| condition(machine, path, "OwnerRemediated") == Some("False"))
}

fn condition<'a>(object: &'a Value, path: &str, type_: &str) -> Option<&'a str> {
    let conditions = object.pointer(path).and_then(Value::as_array);
    conditions.into_iter().flatten().find(|it| text(it, "/type") == type_).map(|it| text(it, "/status"))
}

fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_given_up_only_if_both_generations_of_conditions_say_so() {
        let given_up = json!([{"type": "OwnerRemediated", "status": "False"}]);
        for (new, old, expected) in [
            (given_up.clone(), given_up.clone(), true),
            (given_up.clone(), json!(null), false),
            (json!([]), given_up.clone(), false),
            (json!([{"type": "OwnerRemediated", "status": "True"}]), given_up, false),
        ] {
            let machine =
                json!({"status": {"conditions": new, "deprecated": {"v1beta1": {"conditions": old}}}});
            assert_eq!(is_given_up(&machine), expected, "{machine}");
        }
    }

    #[test]
    fn a_remediation_belongs_to_the_machine_of_its_name_and_owner() {
        let victim = Victim { machine: "m".into(), uid: "u".into(), node: "n".into(), host: "h".into() };
        for (name, uid, expected) in [("m", "u", true), ("m", "v", false), ("other", "u", false)] {
            let owners = json!([{"kind": "Machine", "name": "m", "uid": uid}]);
            let remediation = json!({"metadata": {"name": name, "ownerReferences": owners}});
            assert_eq!(is_of(&remediation, &victim), expected, "{name} {uid}");
        }
    }
}

//! `clusterctl generate cluster` with our templates: what it prints comes up as it is, but that its control plane needs no pods
//! that run, and goes again. One namespace, its hosts and a workload cluster for each template, all at the same time.

use anyhow::{Context, Result, ensure};
use capm3_engine::{ApiClient, ObjectKey, ResourceKind};
use capm3_lab::manifests::Manifest;
use serde_json::{Value, json};

use super::{
    clusterctl,
    management::Management,
    repository::{Repository, documents},
    say,
    watched::Watched,
    workload,
};
use crate::{
    e2e::{Stage, text},
    real::Workload,
};

/// A template of our release and how many machines it is asked for.
struct Flavour {
    /// Name of the Cluster; the name of its namespace is the same.
    cluster: &'static str,
    flavour: Option<&'static str>,
    control_plane: usize,
    workers: usize,
}

const FLAVOURS: [Flavour; 3] = [
    Flavour { cluster: "plain", flavour: None, control_plane: 1, workers: 1 },
    Flavour { cluster: "racks", flavour: Some("three-racks"), control_plane: 3, workers: 2 },
    Flavour { cluster: "classy", flavour: Some("topology"), control_plane: 1, workers: 1 },
];
const VERSION: &str = "v1.31.0";
/// What no template of ours sets and a webhook of Cluster API adds to a MachineDeployment.
const DEFAULTED: &str = "/spec/rollout/strategy/type";

/// Generates, applies and deletes.
pub async fn play(
    repository: &Repository,
    management: &mut Management,
    workloads: &workload::Workloads,
) -> Result<()> {
    let mut started = Vec::new();
    for flavour in &FLAVOURS {
        started.push(workload::start(management, workloads, flavour.cluster).await?);
    }
    let stage = management.stage()?;
    let watched = Watched::follow(stage.client()).await?;
    for (flavour, workload) in FLAVOURS.iter().zip(&started) {
        let generated = generate(repository, management, flavour, workload)?;
        stage.apply(&surroundings(flavour, workload)?).await?;
        stage.apply(&generated).await.with_context(|| flavour.cluster.to_owned())?;
    }
    for flavour in &FLAVOURS {
        until_up(stage, flavour).await?;
        check(stage, flavour).await?;
    }
    stage.until_still().await?;
    for flavour in &FLAVOURS {
        watched.judge(flavour.cluster)?;
        delete(stage.client(), flavour.cluster).await?;
    }
    stage.until_nothing_is_left().await?;
    say(&format!("{} generated clusters are deleted, nothing is left", FLAVOURS.len()));
    started.iter().try_for_each(|workload| workload::end(management, workloads, workload))
}

/// What clusterctl prints for a template.
fn generate(
    repository: &Repository,
    management: &Management,
    flavour: &Flavour,
    workload: &Workload,
) -> Result<Vec<Manifest>> {
    let (kubeconfig, port) = (management.kubeconfig(), workload.port().to_string());
    let [planes, workers] = [flavour.control_plane, flavour.workers].map(|it| it.to_string());
    let mut arguments = vec!["generate", "cluster", flavour.cluster, "--infrastructure=metal3"];
    arguments.extend(["--kubeconfig", kubeconfig.to_str().context("a path that is not text")?]);
    arguments.extend(["--target-namespace", flavour.cluster, "--kubernetes-version", VERSION]);
    arguments.extend(["--control-plane-machine-count", &planes, "--worker-machine-count", &workers]);
    arguments.extend(flavour.flavour.iter().flat_map(|it| ["--flavor", it]));
    let mut variables = repository.variables()?;
    for (name, value) in &mut variables {
        match name.as_str() {
            "CLUSTER_APIENDPOINT_HOST" => "127.0.0.1".clone_into(value),
            "CLUSTER_APIENDPOINT_PORT" => value.clone_from(&port),
            _ => {}
        }
    }
    let printed = clusterctl::run(repository, &arguments, &variables)?;
    let mut objects = documents(&printed)?;
    objects.iter_mut().try_for_each(workload::without_running_pods)?;
    say(&format!("generate cluster {}: {} objects", arguments.get(2).unwrap_or(&""), objects.len()));
    let manifest = |object| Manifest { file: format!("generated {}", flavour.cluster), object };
    Ok(objects.into_iter().map(manifest).collect())
}

/// The namespace, its hosts, and the Secrets of the cluster.
fn surroundings(flavour: &Flavour, workload: &Workload) -> Result<Vec<Manifest>> {
    let manifest = |object| Manifest { file: "given by the user".to_owned(), object };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": flavour.cluster}});
    let mut all = vec![manifest(namespace)];
    all.extend(workload.secrets(flavour.cluster).into_iter().map(manifest));
    let example = capm3_lab::manifests::read(&crate::repo::root().join("examples/three-racks"))?;
    for mut given in example {
        if given.kind() == "BareMetalHost" || given.kind() == "Secret" {
            let namespace = given.object.pointer_mut("/metadata/namespace").context("no namespace")?;
            *namespace = flavour.cluster.into();
            all.push(given);
        }
    }
    Ok(all)
}

async fn until_up(stage: &Stage, flavour: &Flavour) -> Result<()> {
    let ready = |object: &Value| object.pointer("/status/readyReplicas").and_then(Value::as_u64).unwrap_or(0);
    let namespace = flavour.cluster;
    stage
        .until(&format!("cluster {namespace} is up"), async || {
            let planes = of(stage, "KubeadmControlPlane", namespace).await?;
            let deployments = of(stage, "MachineDeployment", namespace).await?;
            Ok(planes.iter().map(ready).sum::<u64>() == flavour.control_plane as u64
                && deployments.iter().map(ready).sum::<u64>() == flavour.workers as u64)
        })
        .await
}

/// Every machine has a host and an identity of its own, and the webhooks of Cluster API were asked.
async fn check(stage: &Stage, flavour: &Flavour) -> Result<()> {
    let namespace = flavour.cluster;
    let report = stage.report().await?;
    let twice = report.duplicates();
    ensure!(twice.is_empty(), "used twice: {twice:?}");
    let machines: Vec<_> = report.machines.iter().filter(|it| it.namespace == namespace).collect();
    ensure!(machines.len() == flavour.control_plane + flavour.workers, "{machines:?}");
    for machine in &machines {
        let host = machine.host.as_deref().unwrap_or_default();
        let id = format!("metal3://{namespace}/{host}/{}", machine.name);
        ensure!(machine.ready && machine.provider_id.as_deref() == Some(&id), "{machine:?}");
    }
    if flavour.flavour == Some("three-racks") {
        let racks: std::collections::BTreeSet<_> = machines.iter().map(|it| &it.failure_domain).collect();
        ensure!(racks.len() == 3, "{machines:?}");
        let rack_of = |id: Option<&str>| {
            id.and_then(|it| it.strip_prefix("rack")).and_then(|it| it.parse::<i64>().ok())
        };
        let fits = |it: &&&capm3_lab::report::MachineRow| {
            rack_of(it.failure_domain.as_deref()).is_some_and(|rack| it.vlans == [rack * 100])
        };
        ensure!(machines.iter().filter(fits).count() == machines.len(), "{machines:?}");
    }
    for deployment in of(stage, "MachineDeployment", namespace).await? {
        ensure!(deployment.pointer(DEFAULTED).is_some(), "not filled in by a webhook: {deployment}");
    }
    say(&format!("{namespace}: {} machines are ready", machines.len()));
    Ok(())
}

async fn of(stage: &Stage, kind: &str, namespace: &str) -> Result<Vec<Value>> {
    let all = stage.list(kind).await?;
    Ok(all.into_iter().filter(|it| text(it, "/metadata/namespace") == namespace).collect())
}

async fn delete(client: &ApiClient, cluster: &str) -> Result<()> {
    let kind = ResourceKind {
        group: "cluster.x-k8s.io".to_owned(),
        version: "v1beta2".to_owned(),
        kind: "Cluster".to_owned(),
        plural: "clusters".to_owned(),
    };
    client.delete(&kind, &ObjectKey::new(cluster, cluster), None).await?;
    Ok(())
}

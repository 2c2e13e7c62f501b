//! How long `capm3 plan` takes in a fleet that runs: one MachineDeployment of a hundred machines gets another version, ten machines
//! at a time; everything else stays.
//!
//! The fleet consists of copies of one cluster that was brought up in a lab, each in a namespace of its own. Measured are the
//! processor time of one core, from documents to the plan, and the most memory that this process has had, the documents included.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use anyhow::{Result, anyhow, ensure};
use capm3_engine::manifests::Document;
use capm3_lab::{Lab, Options as LabOptions, Settled, fleet};
use capm3_offline::plan::{Durations, Options, plan};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{memory, processor};

/// Seconds of processor time, and megabytes, for [`FULL`] machines.
const SECONDS: f64 = 10.0;
const MEGABYTES: u64 = 700;
const FULL: usize = 10_000;

/// Workers of a cluster.
const WORKERS: usize = 100;
const NAMESPACE: &str = "fleet";

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    ensure!(size >= WORKERS, "--size must be at least {WORKERS}");
    let (cluster, now) = cluster()?;
    let uids = uids(&cluster);
    let state: Vec<Document> = (0..size / WORKERS).flat_map(|copy| copies(&cluster, &uids, copy)).collect();
    drop(cluster);
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let durations = Durations { provision: minutes(20), clean: minutes(30) };
    let options = Options { durations, ..Options::default() };
    let start = processor::used()?;
    let planned = plan(&state, &[change()], &options, now).map_err(|error| anyhow!("{error}"))?;
    let seconds = (processor::used()? - start).as_secs_f64();
    let (megabytes, plan) = (memory::peak_mb("self")?, planned.plan);
    let steps = plan.steps.len();
    if as_json {
        let rounded = (seconds * 1000.0).round() / 1000.0;
        println!(
            "{}",
            json!({"bench": "plan", "size": size, "seconds": rounded, "megabytes": megabytes, "steps": steps,
                "budget": {"seconds": SECONDS, "megabytes": MEGABYTES, "size": FULL}})
        );
    } else {
        println!(
            "{steps} steps among {size} machines in {seconds:.2} s, {megabytes} MB at most   budget {SECONDS} s and {MEGABYTES} MB for {FULL}"
        );
    }
    ensure!(planned.problems.is_empty(), "not every object was read: {:?}", planned.problems.first());
    ensure!(plan.finishes, "the roll-out stops: {:?}", plan.stops.first());
    ensure!(steps >= 4 * WORKERS, "not every machine is replaced: {steps} steps");
    ensure!(seconds * FULL as f64 <= SECONDS * size.max(FULL) as f64, "slower than the budget");
    ensure!(megabytes <= MEGABYTES || size > FULL, "more memory than the budget");
    Ok(())
}

/// The objects of one cluster that runs, and the time there.
fn cluster() -> Result<(Vec<Arc<Value>>, Timestamp)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(async {
        let lab = Lab::start(&LabOptions::default()).await?;
        lab.apply(&fleet::full_fleet(WORKERS)).await?;
        ensure!(lab.settle(Duration::from_secs(3600)).await == Settled::Quiet, "the fleet does not come up");
        Ok((lab.server().objects(None), lab.now()))
    })
}

fn uids(objects: &[Arc<Value>]) -> BTreeSet<String> {
    let uid =
        |object: &Arc<Value>| object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
    objects.iter().filter_map(uid).collect()
}

/// The cluster in another namespace, with uids of its own. Like a live list it has no contents of Secrets.
fn copies(objects: &[Arc<Value>], uids: &BTreeSet<String>, copy: usize) -> Vec<Document> {
    let namespaced = objects.iter().filter(|object| object.pointer("/metadata/namespace").is_some());
    let one = |object: &Arc<Value>| {
        let mut object = object.as_ref().clone();
        rename(&mut object, uids, copy);
        if let Some(members) =
            object.as_object_mut().filter(|members| members.get("kind") == Some(&json!("Secret")))
        {
            members.remove("data");
        }
        Document::made("fleet", object)
    };
    namespaced.map(one).collect()
}

fn rename(value: &mut Value, uids: &BTreeSet<String>, copy: usize) {
    match value {
        Value::String(text) if uids.contains(text) => {
            let kept: String = text.chars().skip(4).collect();
            *text = format!("{copy:04x}{kept}");
        }
        Value::String(text) => {
            let own = format!("{NAMESPACE}-{copy:04}");
            if text == NAMESPACE {
                *text = own;
            } else if let Some(rest) = text.strip_prefix(&format!("{NAMESPACE}/")) {
                *text = format!("{own}/{rest}");
            } else if let Some(rest) = text.strip_prefix(&format!("metal3://{NAMESPACE}/")) {
                *text = format!("metal3://{own}/{rest}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, uids, copy)),
        Value::Object(members) => members.values_mut().for_each(|member| rename(member, uids, copy)),
        _ => {}
    }
}

/// Another version of the workers of the first cluster.
fn change() -> Document {
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}});
    let object = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
        "metadata": {"name": "workers", "namespace": format!("{NAMESPACE}-0000")},
        "spec": {"rollout": {"strategy": rolling}, "template": {"spec": {"version": "v9.9.9"}}}});
    Document::made("change", object)
}

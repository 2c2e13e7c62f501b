//! `capm3 plan` as a person calls it: files, a running cluster with changed manifests, hosts that fail, every form of output.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "not every test needs all that is shared")]

mod common;

use std::{collections::BTreeSet, fs};

use common::{Run, Up, capm3, repository};
use serde_json::{Value, json};

fn steps(run: &Run) -> Vec<Value> {
    let steps = run.json()["steps"].as_array().unwrap().clone();
    assert!(!steps.is_empty(), "there are steps: {}", run.text());
    steps
}

fn of(steps: &[Value], event: &str) -> Vec<Value> {
    steps.iter().filter(|step| step["event"] == event).cloned().collect()
}

#[test]
fn a_new_cluster_is_planned_machine_by_machine_with_times() {
    let run = capm3(&["plan", "-f", "examples/three-racks", "-o", "json"], "");
    assert_eq!(run.code, 0, "{}", run.text());
    let (plan, steps) = (run.json(), steps(&run));
    assert_eq!(
        (&plan["finishes"], &plan["seconds"]),
        (&json!(true), &json!(3600)),
        "three machines, one after the other"
    );
    let taken = of(&steps, "machineTakesHost");
    assert_eq!(taken.len(), 6);
    let leaders: Vec<&Value> =
        taken.iter().filter(|step| step["owner"] == "KubeadmControlPlane/my-cluster-cp").collect();
    let places: BTreeSet<String> = leaders.iter().map(|step| step["racks"].to_string()).collect();
    assert_eq!(places.len(), 3, "one per rack: {leaders:#?}");
    let first = leaders[0];
    assert_eq!(first["addresses"], json!(["10.0.1.10"]));
    assert_eq!((&first["indexes"], &first["dataTemplates"]), (&json!([0]), &json!(["m3dt-rack1"])));
    let worker = taken.iter().find(|step| step["owner"] == "MachineDeployment/my-cluster-workers").unwrap();
    assert!(worker["possibleHosts"].as_array().unwrap().len() > 1, "its uid decides: {worker}");
    assert!(worker["indexes"].is_null(), "its index depends on its rack: {worker}");
}

#[test]
fn the_minutes_of_a_step_are_those_that_are_given() {
    let run = capm3(&["plan", "-f", "examples/three-racks", "--minutes-provision", "5", "-o", "json"], "");
    assert_eq!(run.json()["seconds"], json!(900), "{}", run.text());
}

#[test]
fn without_enough_hosts_it_stops_and_says_why_and_what_would_help() {
    let run = capm3(&["plan", "-f", "examples/troubles/too-few-hosts"], "");
    assert_eq!(run.code, 1, "{}", run.text());
    assert!(run.stdout.contains("stops after 40 min: 2 of 3 machines are ready"), "{}", run.text());
    assert!(run.stderr.contains("KubeadmControlPlane metal3/my-cluster-cp: 2 of 3"), "{}", run.text());
    assert!(
        run.stderr.contains("machine my-cluster-cp-new-3 (CAPM3-W020): no host is available"),
        "{}",
        run.text()
    );
    assert!(run.stderr.contains("what to do: add hosts"), "{}", run.text());
}

#[test]
fn without_enough_addresses_it_stops_with_the_code_of_the_pool() {
    let run = capm3(&["plan", "-f", "examples/troubles/pool-too-small"], "");
    assert_eq!(run.code, 1, "{}", run.text());
    assert!(run.stderr.contains("has no free address"), "{}", run.text());
}

#[test]
fn yaml_and_html_tell_the_same_and_the_page_loads_nothing() {
    let yaml = capm3(&["plan", "-f", "examples/three-racks", "-o", "yaml"], "");
    let read: Value = serde_saphyr::from_str(&yaml.stdout).unwrap();
    assert_eq!(read["finishes"], json!(true), "{}", yaml.text());
    let page = capm3(&["plan", "-f", "examples/three-racks", "-o", "html"], "").stdout;
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</body></html>\n"), "{page}");
    assert!(page.contains("<svg") && page.contains("rack2-host-1"), "{page}");
    let linked = ["src=", "href=", "url(", "<script", "<link", "@import"];
    assert!(linked.iter().all(|word| !page.contains(word)), "{page}");
    let opened = page.matches("<rect").count();
    assert!(opened > 6 && page.matches("<g>").count() == page.matches("</g>").count());
}

#[test]
fn a_host_or_a_failure_domain_that_is_not_there_is_named_with_a_guess() {
    for (arguments, words) in [
        (["--fail-host", "rack1-host-l"], "there is no BareMetalHost rack1-host-l; did you mean rack1-host-"),
        (["--fail-domain", "rack22"], "with the value rack22; did you mean rack2?"),
    ] {
        let run = capm3(&[&["plan", "-f", "examples/three-racks"], &arguments[..]].concat(), "");
        assert_eq!(run.code, 1, "{}", run.text());
        assert!(run.stderr.contains(words), "{}", run.text());
    }
    let usage = capm3(&["plan"], "");
    assert_eq!(usage.code, 2, "{}", usage.text());
}

#[test]
fn a_change_in_a_running_cluster_is_planned_and_a_failed_host_is_replaced() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let folder = tempfile::tempdir().unwrap();
    let change = folder.path().join("change.yaml");
    let more = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment\n\
        metadata: {name: my-cluster-workers, namespace: metal3}\nspec: {replicas: 4}\n";
    fs::write(&change, more).unwrap();
    let live = ["plan", "--kubeconfig", &up.kubeconfig, "-n", "metal3", "-o", "json"];
    let quiet = capm3(&live, "");
    assert_eq!(
        (quiet.code, quiet.json()["steps"].as_array().map(Vec::len)),
        (0, Some(0)),
        "{}",
        quiet.text()
    );
    let run = capm3(&[&live[..], &["-f", change.to_str().unwrap()]].concat(), "");
    assert_eq!(run.code, 0, "{}", run.text());
    let events: Vec<Value> = steps(&run).iter().map(|step| step["event"].clone()).collect();
    assert_eq!(events, ["machineTakesHost", "machineReady"], "one more, and nobody goes");
    let worker = quiet.json()["machines"].as_array().unwrap().iter().find_map(|machine| {
        machine["owner"]
            .as_str()?
            .starts_with("MachineDeployment")
            .then(|| machine["host"].as_str().unwrap().to_owned())
    });
    let failed = capm3(&[&live[..], &["--fail-host", &worker.clone().unwrap()]].concat(), "");
    assert_eq!(failed.code, 0, "{}", failed.text());
    let steps = steps(&failed);
    let taken = of(&steps, "machineTakesHost");
    assert_eq!(
        (of(&steps, "hostFails").len(), of(&steps, "machineGone").len(), taken.len()),
        (1, 1, 1),
        "{steps:#?}"
    );
    assert_ne!(taken[0]["host"].as_str(), worker.as_deref(), "nobody takes the failed host");
}

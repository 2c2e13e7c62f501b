//! `--fix` on a server in this process: what is safe is repaired, what is in use is left, and then there is silence.

use std::{collections::BTreeSet, fs};

use capm3_apiserver::{
    ApiServer,
    https::{self, ListenOptions, Listener},
};
use capm3_engine::{ApiClient, ObjectKey, ResourceKind};
use capm3_lab::{Lab, StoredAs, manifests::Manifest};
use capm3_provider::audit::{Inventory, RULES, Step, audit};
use serde_json::Value;

use crate::{
    common::{Run, capm3},
    planted::{End, PLANTED, Planted},
    site::{Site, options},
};

const MACHINES: usize = 80;

/// A server with objects on which nobody works.
struct Stage {
    runtime: tokio::runtime::Runtime,
    server: ApiServer,
    kubeconfig: tempfile::NamedTempFile,
    _listener: Listener,
}

impl Stage {
    fn of(site: &Site) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let known: BTreeSet<String> =
            site.0.iter().filter_map(|it| it["metadata"]["uid"].as_str()).map(str::to_owned).collect();
        let manifests: Vec<Manifest> = site.0.iter().map(|object| manifest(object.clone(), &known)).collect();
        let (server, listener) = runtime.block_on(async {
            let server = Lab::server_on(&manifests, StoredAs::V1Beta2).await.unwrap();
            let listener = https::serve(server.clone(), ListenOptions::default()).unwrap();
            (server, listener)
        });
        let kubeconfig = tempfile::NamedTempFile::new().unwrap();
        fs::write(kubeconfig.path(), listener.kubeconfig()).unwrap();
        Self { runtime, server, kubeconfig, _listener: listener }
    }

    fn client(&self) -> ApiClient {
        let _on_it = self.runtime.enter();
        ApiClient::new(kube::Client::new(self.server.clone(), "default"), "test")
    }

    fn audit(&self, more: &[&str]) -> Run {
        let kubeconfig = self.kubeconfig.path().to_str().unwrap();
        let usual = ["audit", "-n", "metal3", "--grace", "0s", "--settle", "0s", "--kubeconfig", kubeconfig];
        capm3(&[&usual[..], more].concat(), "")
    }

    /// Codes and names that are found, as scripts see them.
    fn found(&self) -> BTreeSet<String> {
        let run = self.audit(&["-o", "json"]);
        let findings = run.json()["findings"].as_array().unwrap().clone();
        let text = |finding: &Value| {
            let object = &finding["object"];
            let part = |name: &str| object[name].as_str().unwrap().to_owned();
            format!(
                "{} {} {}/{}",
                finding["code"].as_str().unwrap(),
                part("kind"),
                part("namespace"),
                part("name")
            )
        };
        findings.iter().map(text).collect()
    }

    /// Does what a person does with the first printed way out of each finding.
    fn decide(&self) {
        let mut inventory = Inventory::default();
        self.server.objects(None).iter().for_each(|object| inventory.add(object).unwrap());
        for (kind, _) in Inventory::kinds() {
            inventory.mark_complete(&kind.group, &kind.kind);
        }
        let client = self.client();
        for finding in audit(&inventory, &options()).findings {
            match finding.repair.steps.first() {
                Some(Step::Patch { target, status, patch }) => {
                    let part = status.then_some("status");
                    self.runtime
                        .block_on(client.merge_patch(&target.kind, &target.key, part, patch))
                        .unwrap();
                }
                Some(Step::Delete(target)) => {
                    self.runtime.block_on(client.delete(&target.kind, &target.key, None)).unwrap();
                }
                _ => {}
            }
        }
    }
}

/// What is to be stored: the server gives uids and versions, and the uid of what is gone belongs to nobody.
fn manifest(mut object: Value, known: &BTreeSet<String>) -> Manifest {
    let owners = object["metadata"].get_mut("ownerReferences").and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten() {
        if !known.contains(owner["uid"].as_str().unwrap()) {
            owner["uid"] = Value::from("dead");
        }
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("uid");
    metadata.remove("resourceVersion");
    Manifest { file: "planted".to_owned(), object }
}

fn planted(ends: &[End]) -> Vec<&'static Planted> {
    PLANTED.iter().filter(|planted| ends.contains(&planted.end)).collect()
}

fn stage(all: &[&Planted]) -> (Stage, BTreeSet<String>) {
    let mut site = Site::healthy(MACHINES);
    let mut expected = BTreeSet::new();
    for (at, planted) in all.iter().enumerate() {
        planted.plant(&mut site, at + 2);
        expected.insert(format!("{} {}", planted.code, planted.names(at + 2)));
    }
    (Stage::of(&site), expected)
}

#[test]
fn what_is_planted_is_repaired_by_fix_or_by_the_printed_command_and_then_there_is_silence() {
    let all = planted(&[End::Fix, End::Command, End::Decision, End::Release]);
    assert!(all.len() >= 25);
    let (stage, expected) = stage(&all);
    assert_eq!(stage.found(), expected);

    let run = stage.audit(&["--fix", "--yes"]);
    assert_eq!(run.code, 1, "hosts in use are left: {}", run.text());
    // What was deleted is still counted by the status of its template or pool.
    stage.audit(&["--fix", "--yes"]);
    let left = stage.found();
    let by_fix = |planted: &&&Planted| planted.end == End::Fix;
    for (at, planted) in all.iter().enumerate().filter(|(_, planted)| by_fix(planted)) {
        let name = format!("{} {}", planted.code, planted.names(at + 2));
        assert!(!left.contains(&name), "{name} is repaired: {}", run.text());
    }
    let release = all.iter().position(|planted| planted.end == End::Release).unwrap() + 2;
    let printed = format!("capm3 release host/h-{release} -n metal3");
    assert!(run.stdout.contains(&printed), "{}", run.text());

    // A decision may uncover another one: the claim of an address that was deleted has none.
    for _ in 0..2 {
        stage.decide();
        stage.audit(&["--fix", "--yes"]);
    }
    let kubeconfig = stage.kubeconfig.path().to_str().unwrap();
    let host = format!("host/h-{release}");
    let run =
        capm3(&["release", &host, "-n", "metal3", "--yes", "--no-wait", "--kubeconfig", kubeconfig], "");
    assert_eq!(run.code, 0, "the printed command is accepted: {}", run.text());
    let of_release: BTreeSet<String> = [format!("CAPM3-C001 BareMetalHost metal3/h-{release}")].into();
    assert_eq!(stage.found(), of_release, "only the release, which takes a manager, is left");
}

#[test]
fn fix_never_writes_a_host_in_use() {
    let all = planted(&[End::Command, End::Decision, End::Release, End::Unknown]);
    let (stage, _) = stage(&all);
    let hosts = || -> Vec<Value> {
        let all = stage.server.objects_of(&["BareMetalHost"]);
        all.iter()
            .filter(|host| host["spec"]["consumerRef"].is_object())
            .map(|host| host.as_ref().clone())
            .collect()
    };
    let before = hosts();
    assert!(before.len() > 50);
    stage.audit(&["--fix", "--yes"]);
    assert_eq!(hosts(), before);
}

#[test]
fn without_a_terminal_nothing_is_written_and_the_preview_is_printed() {
    let (stage, _) = stage(&planted(&[End::Fix])[..3]);
    let before = stage.found();
    let run = stage.audit(&["--fix"]);
    assert_eq!(run.code, 2, "{}", run.text());
    assert!(run.stdout.contains("Repair (--fix)") && run.stderr.contains("add --yes"), "{}", run.text());
    assert_eq!(stage.found(), before);
}

#[test]
fn a_repair_is_guarded_by_the_version_that_was_judged() {
    let (stage, _) = stage(&[]);
    let client = stage.client();
    let kind = ResourceKind::of::<capm3_api::ipam::IpAddress>();
    let key = ObjectKey::new("metal3", "p-10-0-0-10");
    let deleted = stage.runtime.block_on(client.delete_version(&kind, &key, None, "1"));
    assert!(deleted.is_err_and(|error| matches!(error, capm3_engine::ApiError::Conflict { .. })));
    assert!(stage.runtime.block_on(client.get::<Value>(&kind, &key)).unwrap().is_some());
}

#[test]
fn a_healthy_cluster_is_silent_for_every_rule() {
    let (stage, _) = stage(&[]);
    let run = stage.audit(&[]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.text());
    assert!(run.stdout.starts_with("no contradictions among "), "{}", run.text());
    assert!(RULES.len() > 25);
}

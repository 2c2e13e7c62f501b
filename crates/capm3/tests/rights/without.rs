//! Each right is taken away once: what the table says does not happen, the manager says so as the table says, nothing is lost
//! or mixed up, and everything is done once the right is granted.
//!
//! `CAPM3_PROPERTY_CASES` says how many rights; without it some of them are tried, each run the same. `CAPM3_RIGHT` says which
//! alone, such as `patch metal3machines`.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use capm3_install::rights::{Fails, Right, Says, TABLE, Without};
use capm3_lab::{
    Lab,
    faults::{Access, Authorizer, Faults},
    invariants::{leaks, losses, mix_ups},
};
use serde_json::Value;
use tracing::{Level, subscriber::set_default};

use crate::{
    life::{self, STAGES, Stage},
    log::Log,
};

/// Rights that are tried unless more are asked for.
const SAMPLE: usize = 10;

/// As long as it is waited for what does not happen. A migration is tried again after ten minutes.
const STALL: Duration = Duration::from_secs(1200);

/// As long as everything may take afterwards.
const LIMIT: Duration = Duration::from_secs(7200);

/// Whether a right is what a request needs.
fn covers(right: &Right, access: &Access) -> bool {
    (right.group, right.resource) == (access.group.as_str(), access.resource.as_str())
        && right.verbs.contains(&access.verb.as_str())
        && (right.names.is_empty() || right.names.contains(&access.name.as_str()))
}

/// The part of a life in which it shows that something does not happen.
fn stage(fails: Fails) -> Option<Stage> {
    match fails {
        Fails::ConditionOf(..) | Fails::Field("Metal3Remediation", _) => Some(Stage::Remediation),
        Fails::Controllers | Fails::Field(..) | Fails::Creation(_) | Fails::Nothing(_) => {
            Some(Stage::RollOut)
        }
        Fails::FieldOf("CustomResourceDefinition", ..) | Fails::Migration(_) => Some(Stage::Migration),
        Fails::FieldOf(..) => Some(Stage::RollOut),
        Fails::Deletion(_) => Some(Stage::Deletion),
        // Those are rights of the process, not of its controllers: see the tests of the manager (rights, diagnostics).
        Fails::Leadership | Fails::Certificate | Fails::Trust | Fails::Diagnostics => None,
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a field, given with dots, is there. The key of an annotation has dots itself.
fn has(object: &Value, field: &str) -> bool {
    let value = match field.strip_prefix("metadata.annotations.") {
        Some(key) => object["metadata"]["annotations"].get(key),
        None => object.pointer(&format!("/{}", field.replace('.', "/"))),
    };
    value.is_some_and(|value| !value.is_null() && *value != Value::Bool(false))
}

/// How many objects a kind's creations by the provider have come to.
fn created(lab: &Lab, right: &Right) -> u64 {
    let resource = format!("{}/{}", right.group, right.resource);
    let requests = lab.server().requests();
    let is_it = |it: &&capm3_apiserver::RequestCount| {
        it.user_agent == "capm3" && it.verb == "create" && it.resource == resource
    };
    requests.iter().filter(is_it).map(|it| it.count).sum()
}

/// Whether what the table names has not happened.
fn has_failed(fails: Fails, right: &Right, lab: &Lab) -> bool {
    match fails {
        Fails::Controllers => {
            let requests = lab.server().requests();
            let is_write = |verb: &str| ["create", "update", "patch", "delete"].contains(&verb);
            let ours = requests.iter().filter(|it| it.user_agent == "capm3" && is_write(&it.verb));
            // The migration needs no cache.
            ours.into_iter().all(|it| it.resource.ends_with("customresourcedefinitions"))
        }
        Fails::Field(kind, field) => {
            let objects = lab.objects(kind);
            assert!(!objects.is_empty(), "there are objects of kind {kind}");
            objects.iter().all(|object| !has(object, field))
        }
        Fails::ConditionOf(kind, type_) => {
            let objects = lab.objects(kind);
            assert!(!objects.is_empty(), "there are objects of kind {kind}");
            let conditions = objects.iter().filter_map(|it| it.pointer("/status/conditions")?.as_array());
            conditions.flatten().all(|it| it["type"] != type_)
        }
        Fails::FieldOf(kind, name, field) => !has(&lab.object(kind, name).unwrap(), field),
        Fails::Creation(_) => created(lab, right) == 0,
        // Two groups have addresses.
        Fails::Deletion(kind) => lab
            .objects(kind)
            .iter()
            .any(|it| !right.group.starts_with("ipam.") || text(it, "/apiVersion").starts_with(right.group)),
        Fails::Migration(kind) => {
            let crds = lab.objects("CustomResourceDefinition");
            let crd = crds.iter().find(|it| text(it, "/spec/names/kind") == kind).unwrap();
            crd["status"]["storedVersions"].as_array().unwrap().len() > 1
        }
        Fails::Nothing(_) => Stage::RollOut.left(lab).is_empty(),
        Fails::Leadership | Fails::Certificate | Fails::Trust | Fails::Diagnostics => false,
    }
}

/// Whether it was reported.
fn is_reported(says: Says, right: &Right, lab: &Lab, log: &str) -> bool {
    match says {
        Says::Readyz => {
            let line = format!("): grant list on {} in ", right.resource);
            let caches = lab.provider().unwrap().caches();
            let lines: Vec<String> = caches.health().filter_map(|it| it.unready()).collect();
            let warned = log.lines().filter(|it| it.contains(" WARN ") && it.contains(&line)).count();
            lines.iter().any(|it| it.contains(" may not be listed (403 Forbidden: ") && it.contains(&line))
                && warned == 1
        }
        Says::Condition(kind, type_, reason) => lab.objects(kind).iter().any(|object| {
            let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
            conditions.into_iter().flatten().any(|it| it["type"] == type_ && it["reason"] == reason)
        }),
        Says::Log(text) => log.lines().any(|line| line.contains(text)),
        Says::Nothing => true,
    }
}

/// A life in which one right is missing until it shows, in each part again; what is not as the table says.
async fn live_without(right: &'static Right) -> Vec<String> {
    let is_granted = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&is_granted);
    let authorizer = Authorizer::new(move |it| asked.load(Ordering::SeqCst) || !covers(right, it));
    let log = Log::default();
    let writer = log.clone();
    let to_log = tracing_subscriber::fmt().with_ansi(false).with_max_level(Level::INFO);
    let _logs = set_default(to_log.with_writer(move || writer.clone()).finish());
    let lab = life::lab(Arc::clone(&authorizer) as Arc<dyn Faults>).await;
    let Without { fails, says } = right.without;
    let mut wrong = Vec::new();
    for stage_now in STAGES {
        is_granted.store(false, Ordering::SeqCst);
        stage_now.begin(&lab).await;
        stage_now.rest(&lab, STALL).await;
        let refused = authorizer.take_refused().len();
        let logged = log.take();
        if stage(fails) == Some(stage_now) {
            if refused == 0 {
                wrong.push("it is not asked for".to_owned());
            }
            if !has_failed(fails, right, &lab) {
                wrong.push(format!("it happens all the same: {fails}"));
            }
            if !is_reported(says, right, &lab, &logged) {
                wrong.push(format!("it is not reported: {says}\n{}", reported(&lab, &logged)));
            }
        }
        is_granted.store(true, Ordering::SeqCst);
        // Not everything that is tried again is seen by those who ask whether the lab is quiet.
        tokio::time::sleep(Duration::from_secs(60)).await;
        stage_now.rest(&lab, LIMIT).await;
        let left = stage_now.left(&lab);
        if !left.is_empty() {
            wrong.push(format!("{stage_now:?}: not done after the right is granted: {left:?}"));
        }
        if logged.contains("panicked") {
            wrong.push(format!("{stage_now:?}: {logged}"));
        }
    }
    wrong.extend(mix_ups(lab.server()));
    wrong.extend(losses(lab.server()));
    let given = ["bmc-credentials", "my-cluster-kubeconfig"].map(str::to_owned);
    wrong.extend(leaks(&lab.server().objects(None), &BTreeSet::from(given)));
    wrong
}

/// What was reported instead.
fn reported(lab: &Lab, log: &str) -> String {
    let mut lines: Vec<String> = log
        .lines()
        .filter(|line| !line.contains(" INFO ") || line.contains("cannot"))
        .map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest).to_owned())
        .collect();
    lines.sort();
    lines.dedup();
    lines.truncate(5);
    for machine in lab.objects("Metal3Machine").iter().take(2) {
        let conditions = machine.pointer("/status/conditions").and_then(Value::as_array);
        let bad = conditions.into_iter().flatten().filter(|it| it["status"] != "True");
        lines.extend(bad.map(|it| format!("{} {}: {}", it["type"], it["reason"], it["message"])));
    }
    lines.join("\n")
}

/// The rights that are tried: all, or some from everywhere in the table.
fn chosen() -> Vec<&'static Right> {
    let all: Vec<&Right> = TABLE.iter().filter(|right| stage(right.without.fails).is_some()).collect();
    if let Ok(only) = std::env::var("CAPM3_RIGHT") {
        let is_it = |right: &&Right| format!("{} {}", right.verbs.join(","), right.resource).contains(&only);
        return all.into_iter().filter(is_it).collect();
    }
    let cases =
        std::env::var("CAPM3_PROPERTY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(SAMPLE);
    let step = all.len().div_ceil(cases.max(1));
    all.into_iter().step_by(step).collect()
}

#[test]
fn without_a_right_only_what_the_table_names_fails_and_it_is_reported_and_done_once_it_is_granted() {
    let rights = chosen();
    assert!(!rights.is_empty());
    let next = Mutex::new(rights.iter());
    let wrong = Mutex::new(Vec::new());
    // Each life has a runtime and a log of its own.
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(right) = { next.lock().unwrap().next() } {
                    let mut runtime = tokio::runtime::Builder::new_current_thread();
                    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
                    let found = runtime.block_on(live_without(right));
                    let Right { verbs, group, resource, why, .. } = right;
                    println!("without {verbs:?} {resource} of {group:?} ({why}): {found:?}");
                    let found =
                        found.into_iter().map(|it| format!("{verbs:?} {resource} {group} ({why}): {it}"));
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

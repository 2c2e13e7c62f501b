//! What nine versions of cloud-init wrote of 258 documents, with six renderers each.
//!
//! The vectors lie in `tests/golden/cloud-init`, or in the folder that `CAPM3_CLOUD_INIT` names. Compared are
//! where it stops, which device each link gets, what is lost, and what is configured of each interface. Known
//! disagreements stand in `open.txt` beside the vectors; that list may only shrink.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::{Path, PathBuf},
};

use capm3_domain::cloud_init::{Nics, Outcome, Renderer, Stage, Target, configure};
use serde_json::{Map, Value, json};

/// Members of an interface that the vectors have and that are not compared.
const NOT_COMPARED: [&str; 1] = ["other"];

#[test]
fn golden_cloud_init() {
    let elsewhere = std::env::var_os("CAPM3_CLOUD_INIT").map(PathBuf::from);
    let own = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/cloud-init"));
    let vectors = Vectors::read(elsewhere.as_ref().unwrap_or(&own));
    let mut open = if elsewhere.is_some() { BTreeSet::new() } else { open_cases(&own) };
    let (mut complaints, mut lines) = (Vec::new(), String::new());
    for (version, results) in &vectors.results {
        for renderer in Renderer::ALL {
            let target: Target =
                format!("{renderer}@{version}").parse().expect("a vector's version is known");
            let mut agreed = 0;
            for (name, document) in &vectors.documents {
                let Err(difference) = vectors.judge(document, &results[name], target) else {
                    agreed += 1;
                    continue;
                };
                let case = format!("{version} {renderer} {name}");
                if !open.remove(&case) {
                    complaints.push(format!("{case}: {difference}"));
                }
            }
            lines += &format!("cloud-init {version} {renderer}: {agreed} of {}\n", vectors.documents.len());
        }
    }
    // Past the test harness' capture, so that the counts of a passing test are seen too.
    std::io::stdout().write_all(lines.as_bytes()).expect("standard output is writable");
    assert!(!vectors.documents.is_empty() && !vectors.results.is_empty(), "no vectors");
    complaints.extend(open.iter().map(|case| format!("{case}: agrees now: remove it from open.txt")));
    assert!(complaints.is_empty(), "{} disagreements\n{}", complaints.len(), complaints.join("\n"));
}

struct Vectors {
    nics: Nics,
    /// Documents by name.
    documents: BTreeMap<String, Value>,
    /// Results by version, then by document.
    results: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Vectors {
    fn read(folder: &Path) -> Self {
        let documents = yaml(&folder.join("documents.yaml"));
        let nics = nics(&documents["host_nics"]);
        let mut files: BTreeMap<String, Value> = BTreeMap::new();
        for entry in std::fs::read_dir(folder).expect("the folder of vectors is readable") {
            let path = entry.expect("an entry of the folder is readable").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let version = name.strip_prefix("results-").and_then(|name| name.strip_suffix(".yaml"));
            if let Some(version) = version {
                files.insert(version.to_owned(), yaml(&path));
            }
        }
        let documents: BTreeMap<String, Value> =
            documents["documents"].as_object().expect("documents").clone().into_iter().collect();
        let results = files
            .iter()
            .map(|(version, file)| {
                let base = file["base"].as_str().map(|base| &files[base]);
                let of = |name: &String| {
                    (
                        name.clone(),
                        completed(base.map(|base| &base["documents"][name]), &file["documents"][name]),
                    )
                };
                (version.clone(), documents.keys().map(of).collect())
            })
            .collect();
        Self { nics, documents, results }
    }

    fn judge(&self, document: &Value, result: &Value, target: Target) -> Result<(), String> {
        let own_nics = document.get("host").map(nics);
        let outcome = configure(&document["network_data"], own_nics.as_ref().unwrap_or(&self.nics), target);
        let (ours, expected) = (seen(&outcome), expected(result, target.renderer));
        let differing: Vec<_> = ["refused", "devices", "lost", "interfaces"]
            .into_iter()
            .filter(|member| ours[*member] != expected[*member])
            .map(|member| {
                format!("\n  {member}: ours     {}\n  {member}: expected {}", ours[member], expected[member])
            })
            .collect();
        if differing.is_empty() { Ok(()) } else { Err(differing.concat()) }
    }
}

/// A result of an older version holds only the members that differ from its base; null removes one.
fn completed(base: Option<&Value>, changes: &Value) -> Value {
    let mut members = base.and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, change) in changes.as_object().into_iter().flatten() {
        if change.is_null() {
            members.remove(key);
        } else {
            members.insert(key.clone(), change.clone());
        }
    }
    Value::Object(members)
}

/// Our outcome in the words of the vectors.
fn seen(outcome: &Outcome) -> Value {
    let stages: Vec<_> = outcome.refused.iter().map(|refusal| refusal.stage).collect();
    let lost: BTreeSet<String> = outcome.lost.iter().map(|loss| loss.what.to_string()).collect();
    json!({ "refused": stages, "devices": outcome.devices, "lost": lost, "interfaces": outcome.configuration.interfaces })
}

/// The vector's result: where it stops, what is lost, and the interfaces.
fn expected(result: &Value, renderer: Renderer) -> Value {
    let mut stages = Vec::new();
    let result_of = &result[renderer.name()];
    if !result["convert"]["error"].is_null() {
        stages.push(Stage::Convert);
    }
    if !result["physdevs"].is_null() {
        stages.push(Stage::WaitForNics);
    }
    match result_of["error"]["stage"].as_str() {
        Some("parse") => stages.push(Stage::Parse),
        Some("render") => stages.push(Stage::Render),
        Some(other) => unreachable!("unknown stage {other}"),
        None => {}
    }
    if result_of["netplan"].as_str().is_some_and(|judgement| judgement.starts_with("refused")) {
        stages.push(Stage::Generate);
    }
    let mut interfaces = result_of["interfaces"].as_object().cloned().unwrap_or_default();
    for interface in interfaces.values_mut().filter_map(Value::as_object_mut) {
        interface.retain(|key, member| !member.is_null() && !NOT_COMPARED.contains(&key.as_str()));
    }
    let lost = result_of.get("lost").cloned().unwrap_or_else(|| json!([]));
    let devices = result.get("devices").cloned().unwrap_or_else(|| json!([]));
    json!({ "refused": stages, "devices": devices, "lost": lost, "interfaces": Value::Object(interfaces) })
}

fn nics(table: &Value) -> Nics {
    let table: Map<String, Value> = table.as_object().expect("NICs are a table of MACs and names").clone();
    Nics::new(table.into_iter().map(|(mac, name)| (mac, name.as_str().unwrap_or_default().to_owned())))
}

fn yaml(path: &Path) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| unreachable!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| unreachable!("{}: {error}", path.display()))
}

/// Disagreements that are known, `VERSION RENDERER DOCUMENT # reason` a line.
fn open_cases(folder: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(folder.join("open.txt")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split('#').next());
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

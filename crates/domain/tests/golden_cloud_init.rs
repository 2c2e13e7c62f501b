//! What nine versions of cloud-init wrote of 258 documents, with six renderers each.
//!
//! Compared are where it stops, which device each link gets, what is lost, and what is configured of each interface. Known
//! disagreements stand in `open.txt` beside the vectors; that list may only shrink.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

mod cloud_init_vectors;

use std::{collections::BTreeSet, io::Write, path::Path};

use capm3_domain::cloud_init::{Outcome, Renderer, Stage, Target, configure};
use cloud_init_vectors::{Vectors, elsewhere, own};
use serde_json::{Value, json};

/// Members of an interface that the vectors have and that are not compared.
const NOT_COMPARED: [&str; 1] = ["other"];

#[test]
fn golden_cloud_init() {
    let vectors = Vectors::find();
    let mut open = if elsewhere().is_some() { BTreeSet::new() } else { open_cases(&own()) };
    let (mut complaints, mut lines) = (Vec::new(), String::new());
    for (version, results) in &vectors.results {
        for renderer in Renderer::ALL {
            let target: Target =
                format!("{renderer}@{version}").parse().expect("a vector's version is known");
            let mut agreed = 0;
            for (name, document) in &vectors.documents {
                let Err(difference) = judge(&vectors, document, &results[name], target) else {
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
    lines += &format!("disagreements {}\n", complaints.len());
    // Past the test harness' capture, so that the counts of a passing test are seen too.
    std::io::stdout().write_all(lines.as_bytes()).expect("standard output is writable");
    assert!(!vectors.documents.is_empty() && !vectors.results.is_empty(), "no vectors");
    complaints.extend(open.iter().map(|case| format!("{case}: agrees now: remove it from open.txt")));
    assert!(complaints.is_empty(), "{} disagreements\n{}", complaints.len(), complaints.join("\n"));
}

fn judge(vectors: &Vectors, document: &Value, result: &Value, target: Target) -> Result<(), String> {
    let outcome = configure(&document["network_data"], &vectors.nics_of(document), target);
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

/// Disagreements that are known, `VERSION RENDERER DOCUMENT # reason` a line.
fn open_cases(folder: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(folder.join("open.txt")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split('#').next());
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

//! Bad manifests and what a person reads about them: each `bad/NAME.yaml` has its answer in `bad/NAME.txt`. Two
//! documents are an update, the stored object first. `CAPM3_BLESS=1` writes the answers anew.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{fmt::Write, fs, path::Path};

use serde_json::Value;

/// What kubectl prints of an answer.
fn told(documents: &[Value]) -> String {
    let mut objects = documents.to_vec();
    for object in &mut objects {
        capm3_admission::fill_in(object).unwrap();
    }
    let (new, old) = objects.split_last().unwrap();
    let answer = capm3_admission::judge(old.first(), new);
    let mut text = String::new();
    for warning in &answer.warnings {
        writeln!(text, "Warning: {warning}").unwrap();
    }
    let Some(denial) = answer.denial else { return text };
    match denial.details["causes"].as_array() {
        None => writeln!(text, "Error from server ({}): {}", denial.reason, denial.message).unwrap(),
        Some(causes) => {
            let (kind, name) = (denial.details["kind"].as_str().unwrap(), &denial.details["name"]);
            writeln!(text, "The {kind} {name} is invalid:").unwrap();
            for cause in causes {
                let (field, message) = (cause["field"].as_str().unwrap(), cause["message"].as_str().unwrap());
                writeln!(text, "* {field}: {message}").unwrap();
            }
        }
    }
    text
}

#[test]
fn every_bad_manifest_is_answered_with_the_field_and_the_way_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    assert!(paths.len() > 50, "only {} manifests found", paths.len());
    let mut differences = String::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let (ours, expected) = (told(&documents), path.with_extension("txt"));
        assert!(!ours.is_empty(), "{}: nothing is said about it", path.display());
        if std::env::var_os("CAPM3_BLESS").is_some() {
            fs::write(&expected, &ours).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        if ours != expected {
            let name = path.file_stem().unwrap().to_string_lossy();
            write!(differences, "\n{name}\n--- expected\n{expected}+++ ours\n{ours}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

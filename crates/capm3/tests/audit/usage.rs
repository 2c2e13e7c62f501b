//! What people and scripts see of `audit`.

use std::fs;

use serde_json::Value;

use crate::{
    common::{capm3, is_expected},
    planted::PLANTED,
    site::Site,
};

fn files(site: &Site) -> String {
    let documents: Vec<String> = site.0.iter().map(Value::to_string).collect();
    documents.join("\n---\n")
}

fn with(codes: &[&str]) -> Site {
    let mut site = Site::healthy(8);
    for (at, code) in codes.iter().enumerate() {
        let planted = PLANTED.iter().find(|planted| planted.code == *code).unwrap();
        planted.plant(&mut site, at + 2);
    }
    site
}

#[test]
fn findings_in_files_are_printed_with_facts_and_repairs() {
    let site = with(&["CAPM3-C001", "CAPM3-C014", "CAPM3-C050", "CAPM3-C017"]);
    let run = is_expected("audit/findings", capm3(&["audit", "-f", "-"], &files(&site)));
    assert_eq!(run.code, 1);
}

#[test]
fn scripts_get_json_yaml_and_names() {
    let text = files(&with(&["CAPM3-C014"]));
    let run = is_expected("audit/json", capm3(&["audit", "-f", "-", "-o", "json"], &text));
    assert_eq!(
        (run.code, &run.json()["findings"][0]["code"]),
        (0, &Value::from("CAPM3-C014")),
        "a warning is no error"
    );
    let yaml = capm3(&["audit", "-f", "-", "-o", "yaml"], &text);
    assert!(yaml.stdout.contains("code: CAPM3-C014\n"), "{}", yaml.text());
    let names = capm3(&["audit", "-f", "-", "-o", "name"], &text);
    assert_eq!(names.stdout, "baremetalhost.metal3.io/x-2\n");
}

#[test]
fn a_code_is_explained_and_an_unknown_one_is_wrong_usage() {
    is_expected("audit/explain", capm3(&["audit", "--explain", "capm3-c001"], ""));
    let run = capm3(&["audit", "--explain", "CAPM3-C999"], "");
    assert_eq!(run.code, 2, "{}", run.text());
}

#[test]
fn files_are_not_repaired() {
    let run = capm3(&["audit", "-f", "-", "--fix", "--yes"], "");
    assert_eq!(run.code, 2, "{}", run.text());
    assert!(run.stderr.contains("--fix needs a cluster: files are not written"), "{}", run.text());
}

#[test]
fn broken_input_is_reported_and_the_rest_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.yaml"), files(&with(&["CAPM3-C014"]))).unwrap();
    fs::write(folder.path().join("bad.yaml"), "apiVersion: v1\nkind: [").unwrap();
    let run = capm3(&["audit", "-f", folder.path().to_str().unwrap(), "-o", "name"], "");
    assert_eq!((run.code, run.stdout.as_str()), (0, "baremetalhost.metal3.io/x-2\n"), "{}", run.text());
    assert!(
        run.stderr.contains("bad.yaml") && run.stderr.contains("nothing counts as absent"),
        "{}",
        run.text()
    );
}

#[test]
fn files_without_machines_are_no_sign_that_machines_are_gone() {
    let mut site = with(&[]);
    site.0.retain(|object| object["kind"] == "BareMetalHost");
    let run = capm3(&["audit", "-f", "-", "-o", "name"], &files(&site));
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.text());
}

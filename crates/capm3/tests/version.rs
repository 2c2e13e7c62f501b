//! `capm3 version`.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[allow(dead_code, reason = "shared with other tests")]
mod common;

use common::capm3;
use serde_json::json;

#[test]
fn version_says_commit_target_and_api_versions_to_people_and_to_scripts() {
    let run = capm3(&["version"], "");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.text());
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], concat!("capm3 ", env!("CARGO_PKG_VERSION")));
    let document = capm3(&["version", "-o", "json"], "").json();
    let (commit, target) = (document["commit"].as_str().unwrap(), document["target"].as_str().unwrap());
    assert!(commit == "unknown" || commit.len() >= 40, "{commit}");
    assert!(target.contains(std::env::consts::ARCH), "{target}");
    assert_eq!(lines[1..3], [format!("commit:        {commit}"), format!("target:        {target}")]);
    assert_eq!(document["static"], json!(false), "tests are not built static");
    let groups = document["apiVersions"].as_array().unwrap();
    let provider = groups.iter().find(|it| it["group"] == "infrastructure.cluster.x-k8s.io").unwrap();
    assert_eq!(
        (&provider["served"], &provider["stored"]),
        (&json!(["v1beta2", "v1beta1"]), &json!("v1beta2"))
    );
    assert_eq!(provider["kinds"].as_array().unwrap().len(), 9);
    assert_eq!(lines[3], "API versions:  infrastructure.cluster.x-k8s.io: v1beta2 (stored), v1beta1");
    assert_eq!(lines.len(), 3 + groups.len());
}

#[test]
fn the_help_of_version_has_examples_and_says_when_the_commit_is_not_known() {
    let help = capm3(&["version", "--help"], "").stdout;
    for words in ["capm3 version -o json | jq -r .commit", "`unknown` in a development build", "Stored: "] {
        assert!(help.contains(words), "{help}");
    }
}

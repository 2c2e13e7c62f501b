//! The layers of the workspace, and what it may depend on from outside.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

/// Which crates of the workspace each crate may depend on, dev-dependencies included. `capm3` and `xtask` may know
/// everything.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("capm3-api", &[]),
    ("capm3-engine", &[]),
    ("capm3-apiserver", &[]),
    ("capm3-domain", &["capm3-api"]),
    ("capm3-admission", &["capm3-domain", "capm3-api"]),
    ("capm3-install", &["capm3-domain", "capm3-api"]),
    ("capm3-provider", &["capm3-engine", "capm3-domain", "capm3-api"]),
    (
        "capm3-offline",
        &["capm3-provider", "capm3-world", "capm3-admission", "capm3-engine", "capm3-domain", "capm3-api"],
    ),
    ("capm3-world", &["capm3-engine", "capm3-api"]),
    (
        "capm3-lab",
        &["capm3-apiserver", "capm3-world", "capm3-provider", "capm3-admission", "capm3-engine", "capm3-api"],
    ),
];

/// Licences that may be linked into the binary.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "Unicode-3.0",
    "Unlicense",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "MIT-0",
    "MPL-2.0",
];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn crates_know_only_whom_they_may_know() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let members: BTreeMap<&str, &Value> =
        packages.iter().filter(|p| p["source"].is_null()).map(|p| (p["name"].as_str().unwrap(), p)).collect();
    let rules: BTreeMap<_, _> = MAY_KNOW.iter().copied().collect();
    for (name, package) in &members {
        if matches!(*name, "capm3" | "xtask") {
            continue;
        }
        let allowed =
            rules.get(name).unwrap_or_else(|| panic!("{name} has no rule: add it here and to the design"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let dependency = dependency["name"].as_str().unwrap();
            assert!(
                !members.contains_key(dependency) || allowed.contains(&dependency),
                "{name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn every_dependency_is_from_the_registry_and_has_a_licence_that_we_accept() {
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let Some(source) = package["source"].as_str() else {
            continue;
        };
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
        let licence = package["license"].as_str().unwrap_or("none").replace('/', " OR ");
        let bare = |text: &str| text.replace(['(', ')'], "").trim().to_owned();
        let accepted = licence
            .split(" AND ")
            .all(|part| part.split(" OR ").any(|one| LICENCES.contains(&bare(one).as_str())));
        assert!(accepted, "{name} has licence {licence}");
    }
}

//! Manifests with mistakes: every mistake of every file is reported with file, line, field, what was expected and what is
//! there. Each folder of `tests/invalid` has what is printed for it in `tests/expected/invalid`;
//! `CAPM3_BLESS=1 cargo test -p capm3 --test invalid` writes those files again.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "common/golden.rs"]
mod golden;

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn up(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capm3"));
    command.arg("up").args(args).current_dir(tests().join("invalid")).env_remove("CAPM3_LOG");
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn prints_what_is_expected(name: &str) {
    let output = up(&["--once", "-f", name]).output().unwrap();
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(output.stdout.is_empty(), "nothing is started, so there is no result");
    golden::compare(&format!("invalid/{name}"), &printed);
}

#[test]
fn text_that_is_not_yaml_is_reported_document_by_document() {
    prints_what_is_expected("syntax");
}

#[test]
fn documents_without_kind_or_name_are_reported() {
    prints_what_is_expected("identity");
}

#[test]
fn kinds_and_versions_that_are_not_served_are_reported_with_those_that_are() {
    prints_what_is_expected("kinds");
}

#[test]
fn objects_of_older_versions_that_are_refused_are_reported_with_the_command_that_migrates_them() {
    prints_what_is_expected("older");
}

#[test]
fn fields_that_no_schema_knows_are_reported_with_those_that_it_knows() {
    prints_what_is_expected("fields");
}

#[test]
fn values_that_the_server_refuses_are_reported_with_what_it_expects() {
    prints_what_is_expected("values");
}

#[test]
fn a_missing_namespace_is_reported_once_and_one_that_comes_later_is_fine() {
    prints_what_is_expected("namespaces");
}

#[test]
fn several_paths_are_read_together_and_each_mistake_is_reported() {
    let output = up(&["--once", "-f", "kinds", "-f", "values/a.yaml"]).output().unwrap();
    let printed = stderr(&output);
    assert!(printed.contains("kinds/a.yaml:2: ") || printed.contains("kinds/a.yaml:1: "), "{printed}");
    assert!(printed.contains("values/a.yaml:6: "), "{printed}");
    assert!(printed.ends_with("in 2 files; nothing was started\n"), "{printed}");
}

#[test]
fn standard_input_is_read_for_a_dash() {
    let bad = File::open(tests().join("invalid/values/a.yaml")).unwrap();
    let output = up(&["--once", "-f", "-"]).stdin(bad).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("stdin:6: BareMetalHost default/Host_1: spec.online: expected boolean"));
    let good =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/troubles/too-few-hosts/cluster.yaml");
    let output = up(&["--once", "-f", "-"]).stdin(File::open(good).unwrap()).output().unwrap();
    assert!(stderr(&output).contains("no host is available: 2 hosts"), "{}", stderr(&output));
}

#[test]
fn a_path_without_manifests_is_wrong_usage() {
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().to_str().unwrap();
    let output = up(&["--once", "-f", path]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), format!("error: {path}: no .yaml, .yml or .json file in this folder\n"));
}

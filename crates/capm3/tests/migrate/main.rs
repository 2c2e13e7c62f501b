//! `capm3 migrate` as a person runs it, compared with what is checked in under `tests/expected/migrate`. The documents
//! are the manifests of the designs, as printed there, in `tests/seeds` of the repository.
//! `CAPM3_BLESS=1 cargo test -p capm3 --test migrate` writes the files again; read the difference before you keep it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod cluster_api;
mod clusters;
mod data;
mod data_templates;
#[path = "../common/golden.rs"]
mod golden;
mod kept;
mod machines;
mod metadata;
mod networks;
mod portable;
mod strict;
mod values;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What one run printed.
struct Run {
    code: i32,
    documents: String,
    report: String,
}

impl Run {
    fn text(&self) -> String {
        format!("exit code {}\n\n{}\n{}", self.code, self.documents, self.report)
    }

    /// The report has each of these parts.
    fn reports(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.report.contains(part), "{part:?} is not in:\n{}", self.report);
        }
        self
    }

    /// The documents have each of these parts.
    fn gives(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.documents.contains(part), "{part:?} is not in:\n{}", self.documents);
        }
        self
    }
}

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/seeds")
}

fn run(arguments: &[&str], input: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capm3"));
    command.arg("migrate").args(arguments).current_dir(seeds()).env_remove("CAPM3_LOG");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        documents: String::from_utf8(output.stdout).unwrap(),
        report: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Compares, or with `CAPM3_BLESS` writes down, what a run printed.
fn is_expected(name: &str, run: Run) -> Run {
    golden::compare(&format!("migrate/{name}"), &run.text());
    again(&run);
    run
}

/// Migrating the output changes nothing.
fn again(first: &Run) {
    let second = run(&["-f", "-"], &first.documents);
    assert_eq!(second.documents, first.documents);
    assert!(second.report.contains(", 0 changes, "), "{}", second.report);
}

/// One manifest of the designs.
fn manifest(name: &str, file: &str, code: i32) -> Run {
    let run = is_expected(name, run(&["-f", &format!("{file}.yaml")], ""));
    assert_eq!(run.code, code, "{}", run.text());
    run
}

/// A text of the test.
fn text(name: &str, input: &str, code: i32) -> Run {
    let run = is_expected(name, run(&["-f", "-"], input));
    assert_eq!(run.code, code, "{}", run.text());
    run
}

/// A data template with this text below `spec.networkData`.
fn network_data(text: &str) -> String {
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3DataTemplate\nmetadata:\n  name: t\nspec:\n  networkData:\n{indented}"
    )
}

/// A Metal3Machine with this text below `spec`, beside an image.
fn machine(text: &str) -> String {
    let indented: String = text.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Machine\nmetadata:\n  name: m\nspec:\n  image:\n    url: http://x/i\n    checksum: http://x/i.sha256\n{indented}"
    )
}

//! Golden vectors: pairs of input and output that the rules of this project must reproduce.
//!
//! [`run`] reads the cases of one family, asks the given judge about each of them and prints the count. The vectors
//! lie in `tests/golden` of the repository, or in the folder that `CAPM3_GOLDEN` names. Nothing here knows what a
//! case means; the only place that names cases is the table in [`quirks`].
//!
//! Tests of other crates use this module by `#[path = "../../domain/tests/support/mod.rs"] mod support;`.
#![allow(dead_code)]

mod cases;
mod quirks;

use std::{
    collections::BTreeMap,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

pub use cases::{Case, parse_yaml};
use quirks::Answer;
use serde_json::Value;

/// Judges every case of a family. Prints `<family>: P of T, quirks Q of R`, then fails the test if a case fails that
/// is not listed as open, or if a case passes that still is.
///
/// The judge compares what our code makes of `case.input` with `case.expected` and says what differs. For a quirk
/// case `expected` is already our answer, not the reference's.
pub fn run(family: &str, judge: impl Fn(&Case) -> Result<(), String>) {
    let elsewhere = std::env::var_os("CAPM3_GOLDEN").map(PathBuf::from);
    let folder = elsewhere.clone().unwrap_or_else(repository_folder);
    let open = open_cases();
    let mut tally = Tally::default();
    for mut case in cases::load(&folder, family) {
        if !case.quirk {
            let verdict = ask(&judge, &case);
            tally.plain(&case, verdict, open.contains_key(&case.path()), elsewhere.is_some());
            continue;
        }
        match quirks::answer(&case.id) {
            None if elsewhere.is_some() => tally.quirks += 1,
            // An open case needs no answer yet.
            None if open.contains_key(&case.path()) => tally.quirks += 1,
            None => tally.refuse_quirk(&case, "no answer in the table of quirks".to_owned()),
            Some(answer) => {
                case.expected = answered(&case.expected, answer);
                tally.quirk(&case, ask(&judge, &case));
            }
        }
    }
    tally.report(family);
}

/// Drops nulls and empty objects: members that mean nothing and that some writers leave out.
pub fn normalized(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, member)| (key.clone(), normalized(member)))
                .filter(|(_, member)| !member.is_null() && member.as_object().is_none_or(|o| !o.is_empty()))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(normalized).collect()),
        other => other.clone(),
    }
}

/// Compares two JSON values after [`normalized`]; the error shows both.
pub fn same(what: &str, ours: &Value, expected: &Value) -> Result<(), String> {
    let (ours, expected) = (normalized(ours), normalized(expected));
    if ours == expected {
        return Ok(());
    }
    Err(format!("{what}:\n  ours     {ours}\n  expected {expected}"))
}

fn repository_folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden"))
}

/// Cases that are known not to pass yet, `family/id # reason` a line. The list may only shrink.
fn open_cases() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(repository_folder().join("open.txt")).unwrap_or_default();
    text.lines()
        .map(|line| line.split_once('#').unwrap_or((line, "")))
        .map(|(path, reason)| (path.trim().to_owned(), reason.trim().to_owned()))
        .filter(|(path, _)| !path.is_empty())
        .collect()
}

/// A judge that panics has judged: the case fails, the others are still counted.
fn ask(judge: &impl Fn(&Case) -> Result<(), String>, case: &Case) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| judge(case))).unwrap_or_else(|_| Err("panicked".to_owned()))
}

fn answered(expected: &Value, answer: Answer) -> Value {
    match answer {
        Answer::AsTheReference => expected.clone(),
        Answer::Instead(patch) => {
            let patch: Value = serde_json::from_str(patch).expect("an answer in the table is JSON");
            let mut answer = expected.clone();
            json_patch::merge(&mut answer, &patch);
            answer
        }
        Answer::Edited(replacements) => edited(expected, replacements),
        Answer::LeaveOut(names) => without_empty(expected, names),
    }
}

/// Replaces texts in every document of `expected`. The encoded form of the reference's document no longer holds.
fn edited(expected: &Value, replacements: &[(&str, &str)]) -> Value {
    let mut members = expected.as_object().cloned().unwrap_or_default();
    members.remove("expected_b64");
    for document in members.values_mut().filter(|member| member.is_string()) {
        let text = document.as_str().unwrap_or_default().to_owned();
        let text = replacements.iter().fold(text, |text, (from, to)| text.replace(from, to));
        *document = Value::String(text);
    }
    Value::Object(members)
}

fn without_empty(expected: &Value, names: &[&str]) -> Value {
    match expected {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(name, member)| !(names.contains(&name.as_str()) && says_nothing(member)))
                .map(|(name, member)| (name.clone(), without_empty(member, names)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(|item| without_empty(item, names)).collect()),
        other => other.clone(),
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.values().all(says_nothing),
        Value::String(text) => text.is_empty(),
        other => other.is_null(),
    }
}

#[derive(Default)]
struct Tally {
    passed: usize,
    total: usize,
    quirks_passed: usize,
    quirks: usize,
    complaints: Vec<String>,
}

impl Tally {
    fn plain(&mut self, case: &Case, verdict: Result<(), String>, open: bool, elsewhere: bool) {
        self.total += 1;
        match verdict {
            Ok(()) => {
                self.passed += 1;
                if open && !elsewhere {
                    self.complain(case, "passes now: remove it from open.txt".to_owned());
                }
            }
            Err(difference) if !open => self.complain(case, difference),
            Err(_) => {}
        }
    }

    fn quirk(&mut self, case: &Case, verdict: Result<(), String>) {
        match verdict {
            Ok(()) => {
                self.quirks += 1;
                self.quirks_passed += 1;
            }
            Err(difference) => self.refuse_quirk(case, difference),
        }
    }

    fn refuse_quirk(&mut self, case: &Case, why: String) {
        self.quirks += 1;
        self.complain(case, why);
    }

    fn complain(&mut self, case: &Case, why: String) {
        self.complaints.push(format!("{} ({}): {why}", case.path(), case.description));
    }

    /// Written past the test harness' capture, so that the count of a passing test is seen too.
    fn report(&self, family: &str) {
        let line = format!(
            "{family}: {} of {}, quirks {} of {}\n",
            self.passed, self.total, self.quirks_passed, self.quirks
        );
        std::io::stdout().write_all(line.as_bytes()).expect("standard output is writable");
        assert!(self.total > 0, "{family}: no cases found");
        assert!(self.complaints.is_empty(), "\n{}", self.complaints.join("\n"));
    }
}

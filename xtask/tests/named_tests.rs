//! Tests that a page of the documentation names are there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Pages that are written by hand and name tests.
const PAGES: [&str; 1] = ["docs/remediation-parity.md"];
/// A name of so many words in code font is that of a test.
const WORDS: usize = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Names of all functions below a folder.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let after_fn = text.split("fn ").skip(1).filter_map(|rest| rest.split('(').next());
            found.extend(after_fn.map(str::to_owned));
        }
    }
}

fn named(page: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let in_code = text.split('`').skip(1).step_by(2);
    let is_name = |it: &&str| {
        it.split('_').count() >= WORDS && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    in_code.filter(is_name).map(str::to_owned).collect()
}

#[test]
fn every_test_that_a_page_names_is_there() {
    let mut known = BTreeSet::new();
    functions(&root().join("crates"), &mut known);
    for page in PAGES {
        let named = named(page);
        assert!(named.len() > 30, "{page} names {} tests", named.len());
        let missing: Vec<&String> = named.iter().filter(|it| !known.contains(*it)).collect();
        assert!(missing.is_empty(), "{page} names tests that are not there: {missing:#?}");
    }
}

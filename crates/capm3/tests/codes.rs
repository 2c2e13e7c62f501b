//! Every code that people are shown has an entry in the book, and no entry is of a code that does not exist.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeSet, fs, path::Path};

/// Words of a text that are codes.
fn codes(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words = text.split(|c: char| !is_part(c));
    words
        .filter(|word| word.starts_with("CAPM3-") && word.len() == "CAPM3-W001".len())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_code_has_one_entry_in_the_book() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = |file: &str| fs::read_to_string(root.join("crates/domain/src/wait").join(file)).unwrap();
    let known: BTreeSet<String> =
        ["table.rs", "data_error.rs", "code.rs"].iter().flat_map(|file| codes(&source(file))).collect();
    assert!(known.len() > 80, "{known:?}");
    let book = fs::read_to_string(root.join("docs/troubleshooting.md")).unwrap();
    let headings: Vec<&str> = book.lines().filter(|line| line.starts_with("### CAPM3-")).collect();
    let described: BTreeSet<String> = headings.iter().flat_map(|heading| codes(heading)).collect();
    assert_eq!(headings.len(), described.len(), "an entry stands twice");
    assert_eq!(known, described);
}

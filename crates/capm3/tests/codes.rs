//! Every code that people are shown has an entry in the book, and no entry is of a code that does not exist.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[allow(dead_code, reason = "only a part is used")]
mod common;

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
fn every_code_has_one_entry_in_the_documentation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = |file: &str| fs::read_to_string(root.join("crates/domain/src").join(file)).unwrap();
    let files = ["wait/table.rs", "wait/data_error.rs", "wait/code.rs", "validation/rule.rs"];
    let known: BTreeSet<String> = files.iter().flat_map(|file| codes(&source(file))).collect();
    for letter in ['W', 'D', 'A'] {
        let start = format!("CAPM3-{letter}");
        let count = known.iter().filter(|code| code.starts_with(&start)).count();
        assert!(count > 20, "{count} codes start with {start}");
    }
    let book = fs::read_to_string(root.join("docs/troubleshooting.md")).unwrap();
    let headings: Vec<&str> = book.lines().filter(|line| line.starts_with("### CAPM3-")).collect();
    let described: BTreeSet<String> = headings.iter().flat_map(|heading| codes(heading)).collect();
    assert_eq!(headings.len(), described.len(), "an entry occurs twice");
    assert_eq!(known, described);
}

/// Every command that judges manifests prints the code of the rule behind what it says.
#[test]
fn a_refused_manifest_is_reported_with_the_code_of_the_rule() {
    let template = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: Metal3DataTemplate\nmetadata: {name: t}\n\
                    spec: {metaData: {fromHostInterfaces: [{key: mac}]}}\n";
    let commands: [&[&str]; 4] = [
        &["render", "-f", "-"],
        &["explain", "machine/m", "-f", "-"],
        &["up", "--once", "-f", "-"],
        &["migrate", "-f", "-"],
    ];
    for command in commands {
        let run = common::capm3(command, template);
        let reported: Vec<&str> = run.stderr.lines().filter(|line| line.contains("fromBootMAC")).collect();
        assert_eq!(run.code, 1, "{}", run.text());
        assert_eq!(reported.len(), 1, "{}", run.text());
        assert!(reported.iter().all(|line| line.ends_with(" (CAPM3-A030)")), "{}", run.text());
    }
}

//! `capm3 lint`: each rule has a folder in `tests/lint` with a manifest that it finds a mistake in, what is printed for it, and
//! the corrected manifest, in which nothing is found. `CAPM3_BLESS=1 cargo test -p capm3 --test lint` writes what is printed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[allow(dead_code, reason = "only a part is used")]
mod common;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use capm3_domain::lint::RULES;
use common::{Run, capm3};

/// What reads the network data in the cases that name nothing else in a file `target`: all that a document may say is
/// written by it.
const TARGET: &str = "cloud-init=26.2,netplan";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint")
}

fn lint(file: &str, more: &[&str]) -> Run {
    let path = format!("crates/capm3/tests/lint/{file}");
    let named = Path::new(file).parent().map(|case| folder().join(case).join("target"));
    let named = named.and_then(|path| fs::read_to_string(path).ok());
    let target = named.as_deref().map_or(TARGET, str::trim);
    capm3(&[&["lint", "-f", &path, "--target", target], more].concat(), "")
}

fn codes() -> Vec<String> {
    let mut codes: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    codes.sort();
    codes
}

#[test]
fn every_rule_has_a_case_and_every_case_a_rule() {
    let rules: Vec<String> = RULES.iter().map(|rule| rule.code.to_string()).collect();
    assert_eq!(codes(), rules);
}

#[test]
fn a_mistake_is_printed_with_its_place_why_and_what_helps() {
    for code in codes() {
        let run = lint(&format!("{code}/bad.yaml"), &[]);
        assert!(run.stdout.contains(&format!("[{code}]")), "{code}: {}", run.text());
        assert_eq!(run.stderr, "", "{code}");
        let is_error = run.stdout.lines().any(|line| line.starts_with("error["));
        assert_eq!(run.code, i32::from(is_error), "{code}: {}", run.text());
        let path = folder().join(&code).join("expected.txt");
        if std::env::var_os("CAPM3_BLESS").is_some_and(|value| value == "1") {
            fs::write(&path, &run.stdout).unwrap();
        }
        let expected =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(run.stdout, expected, "not what {} says", path.display());
    }
}

#[test]
fn nothing_is_found_once_the_mistake_is_corrected() {
    for code in codes() {
        let run = lint(&format!("{code}/good.yaml"), &["--deny", "warnings"]);
        assert_eq!((run.code, run.stdout.as_str()), (0, "no mistakes found\n"), "{code}: {}", run.text());
    }
}

#[test]
fn json_has_place_bytes_and_field_of_each_mistake() {
    let run = lint("CAPM3-L030/bad.yaml", &["-o", "json"]);
    let text = fs::read_to_string(folder().join("CAPM3-L030/bad.yaml")).unwrap();
    let report = run.json();
    let mistakes = report["mistakes"].as_array().unwrap();
    let found: BTreeSet<(String, String)> = mistakes
        .iter()
        .filter(|mistake| mistake["code"] == "CAPM3-L030")
        .map(|mistake| {
            let byte = |end: &str| usize::try_from(mistake["bytes"][end].as_u64().unwrap()).unwrap();
            let marked = text[byte("start")..byte("end")].to_owned();
            let (line, column) = (mistake["line"].as_u64().unwrap(), mistake["column"].as_u64().unwrap());
            let in_line = text.lines().nth(usize::try_from(line).unwrap() - 1).unwrap();
            assert!(in_line[usize::try_from(column).unwrap() - 1..].starts_with(&marked), "{mistake}");
            (mistake["field"].as_str().unwrap().to_owned(), marked)
        })
        .collect();
    let expected = [
        ("spec.networkData.links.vlans[0].vlanLink", "bnd0"),
        ("spec.networkData.networks.ipv4DHCP[0].link", "eno9"),
    ];
    assert_eq!(found, expected.map(|(field, marked)| (field.to_owned(), marked.to_owned())).into());
    assert_eq!(run.code, 1);
}

#[test]
fn warnings_end_with_0_unless_they_are_denied() {
    let file = "CAPM3-L013/bad.yaml";
    assert_eq!(lint(file, &[]).code, 0);
    assert_eq!(lint(file, &["--deny", "warnings"]).code, 1);
}

#[test]
fn a_code_is_explained_and_an_unknown_one_is_wrong_usage() {
    let run = capm3(&["lint", "--explain", "capm3-l014"], "");
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(run.stdout.starts_with("### CAPM3-L014: "), "{}", run.text());
    assert_eq!(capm3(&["lint", "--explain", "CAPM3-L999"], "").code, 2);
    assert_eq!(capm3(&["lint"], "").code, 2);
}

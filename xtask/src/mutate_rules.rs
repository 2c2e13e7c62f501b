//! Whether every rule is needed: each is left out once, and its case must notice.
//!
//! A family of rules gives the codes of its rules and how its cases fare without one of them. A case that passes although its rule
//! is left out shows nothing.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail};
use capm3_domain::lint::{RULES, Rules, Target};
use capm3_engine::manifests;
use capm3_offline::lint::{Options, lint};

use crate::repo;

/// Rules that have cases.
struct Family {
    name: &'static str,
    codes: fn() -> Vec<&'static str>,
    /// What the case of the first code finds while the rule of the second one is left out, and what it must find.
    found: fn(&str, Option<&'static str>) -> Result<Case>,
}

/// Codes that a case finds, and those that it must find.
struct Case {
    found: BTreeSet<String>,
    expected: BTreeSet<String>,
}

const FAMILIES: &[Family] = &[Family { name: "lint", codes: lint_codes, found: lint_case }];

/// Leaves out each rule of every family once.
pub fn run() -> Result<()> {
    let (mut count, mut unnoticed) = (0, Vec::new());
    for family in FAMILIES {
        let codes = (family.codes)();
        for code in &codes {
            count += 1;
            let with = (family.found)(code, None)?;
            if with.found != with.expected {
                bail!("{code}: with all rules the case finds {:?}, not {:?}", with.found, with.expected);
            }
            let without = (family.found)(code, Some(code))?;
            if without.found == without.expected {
                unnoticed.push(*code);
            }
        }
        println!("{}: {} rules", family.name, codes.len());
    }
    println!("{count} rules left out, {} noticed", count - unnoticed.len());
    if !unnoticed.is_empty() {
        bail!("no case notices that these rules are left out: {}", unnoticed.join(", "));
    }
    Ok(())
}

/// What an API server refuses is no rule of this table: its case asks the server.
const ASKS_THE_SERVER: &str = "CAPM3-L002";
/// An object that cannot be read.
const UNREADABLE: &str = "CAPM3-L001";

fn lint_codes() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.code.as_str()).filter(|code| *code != ASKS_THE_SERVER).collect()
}

fn lint_case(code: &str, without: Option<&'static str>) -> Result<Case> {
    let folder = repo::root().join("crates/capm3/tests/lint").join(code);
    let texts = [("bad.yaml".to_owned(), read(&folder.join("bad.yaml"))?)];
    let reading = manifests::parse("bad.yaml", &texts[0].1);
    let named = std::fs::read_to_string(folder.join("target"));
    let target = named.as_deref().map_or("cloud-init=26.2,netplan", str::trim);
    let targets = Target::parse(target).map_err(anyhow::Error::msg)?;
    let rules = without.map_or(Rules::all(), Rules::without);
    let options = Options { targets, are_named: true, rules, ..Options::default() };
    let report = lint(&texts, &reading.documents, reading.problems, &[], &options);
    let place = |code: &str, line: usize| format!("{code} in line {line}");
    let found = report.mistakes.iter().map(|mistake| place(mistake.code, mistake.line));
    // Where the server refuses an object, the command does not add that it cannot be read.
    let is_compared = |line: &String| code == UNREADABLE || !line.starts_with(UNREADABLE);
    let expected = expected(&read(&folder.join("expected.txt"))?).into_iter();
    Ok(Case { found: found.filter(is_compared).collect(), expected: expected.filter(is_compared).collect() })
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

/// Codes and lines of what is printed: `error[CAPM3-L030]: ...`, then ` --> FILE:LINE:COLUMN`.
fn expected(printed: &str) -> BTreeSet<String> {
    let mut expected = BTreeSet::new();
    let mut code = None;
    for line in printed.lines() {
        let head = line.strip_prefix("error[").or_else(|| line.strip_prefix("warning["));
        if let Some((found, _)) = head.and_then(|head| head.split_once(']')) {
            code = Some(found);
        }
        let place = line.trim_start().strip_prefix("--> ");
        if let (Some(found), Some(place)) = (code.filter(|_| place.is_some()), place) {
            let line = place.rsplit(':').nth(1).unwrap_or_default();
            expected.insert(format!("{found} in line {line}"));
            code = None;
        }
    }
    expected.retain(|line| !line.starts_with(ASKS_THE_SERVER) && !line.starts_with("CAPM3-A"));
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_missed_by_its_case() {
        run().unwrap();
    }

    #[test]
    fn codes_and_lines_are_read_from_what_is_printed() {
        let printed =
            "error[CAPM3-L030]: x\n --> a.yaml:12:9\n  |\nwarning[CAPM3-L049]: y\n  --> a.yaml:3:1\n";
        assert_eq!(
            expected(printed).into_iter().collect::<Vec<_>>(),
            ["CAPM3-L030 in line 12", "CAPM3-L049 in line 3"]
        );
    }
}

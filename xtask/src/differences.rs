//! Rows of the parity list that capm3 answers otherwise than the Go provider on purpose, each with the decision that says why.
//!
//! Gives the second table of `docs/parity.md`. A row stands here only while a test shows it and its decision is there.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::{acceptance::Row, repo};

/// Where decisions are, below `docs`.
const DECISIONS: &str = "decisions";

/// A row that is answered otherwise.
struct Difference {
    row: u32,
    /// What capm3 does, in one clause.
    clause: &'static str,
    /// Number of the decision.
    decision: &'static str,
}

const fn differs(row: u32, clause: &'static str, decision: &'static str) -> Difference {
    Difference { row, clause, decision }
}

/// In order of rows.
const DIFFERENCES: &[Difference] = &[
    differs(
        31,
        "a host that becomes available wakes a waiting machine; nothing is retried by the clock",
        "0072",
    ),
    differs(
        42,
        "a hash of machine and host decides among equal hosts, so that a retry chooses the same",
        "0090",
    ),
    differs(54, "an ID of the older form `metal3://<uid>` is read, and never written", "0180"),
    differs(
        72,
        "the claim is deleted after the host is released, so that no address is given to two nodes",
        "0100",
    ),
    differs(83, "a Secret of the same name that belongs to somebody else is refused, not used", "0280"),
    differs(
        85,
        "`spec.templateReference` stays in both versions: templates with the same key share their indexes",
        "0030",
    ),
    differs(94, "the servers are rendered, joined by commas", "0275"),
    differs(98, "a hash policy that is not set is left out", "0275"),
    differs(
        104,
        "an address of the wrong family, or a pool without prefix, is an error that names the pool",
        "0275",
    ),
    differs(105, "a route without a gateway is an error", "0275"),
    differs(111, "an IPPool is always asked by IPClaim, and the servers come with its IPAddress", "0060"),
    differs(
        115,
        "a claim that the same machine already had, for data that was removed by hand, is used again",
        "0060",
    ),
    differs(118, "a kind that is installed later is found without a restart", "0001"),
    differs(143, "no profiler is served: a process is profiled from outside, with perf", "0310"),
    differs(
        149,
        "the bill of materials is in the image, and its digest can be built again; who publishes an image signs it",
        "0310",
    ),
    differs(
        150,
        "workload clusters of scale tests are embedded servers in the same process; a chore stands for each label of tests",
        "0270",
    ),
];

/// Whether the row is answered otherwise on purpose.
pub fn is_different(row: u32) -> bool {
    DIFFERENCES.iter().any(|difference| difference.row == row)
}

/// The section of the page, if every row of it is on the page and every decision is there.
pub fn section(rows: &[Row]) -> Result<String> {
    section_of(DIFFERENCES, rows)
}

fn section_of(differences: &[Difference], rows: &[Row]) -> Result<String> {
    let mut text = String::from(
        "\n## Differences\n\nRows that capm3 answers otherwise on purpose.\n\n| row | what capm3 does | decision |\n|---|---|---|\n",
    );
    for Difference { row, clause, decision } in differences {
        ensure!(rows.iter().any(|shown| shown.number == *row), "row {row} differs, and no test shows it");
        let file = file_of(decision)?;
        text.push_str(&format!("| {row} | {clause} | [{decision}]({DECISIONS}/{file}) |\n"));
    }
    Ok(text)
}

/// Name of the file of a decision.
fn file_of(decision: &str) -> Result<String> {
    let folder = repo::root().join("docs").join(DECISIONS);
    let files = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let names = files.map(|file| anyhow::Ok(file?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<Result<_>>()?;
    let name = names.into_iter().find(|name| name.starts_with(&format!("{decision}-")));
    name.with_context(|| format!("there is no decision {decision} in {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_needs_a_test_and_a_decision() {
        let table = [differs(7, "it does more", "0001")];
        let section = section_of(&table, &[Row::numbered(7)]).unwrap();
        let line = "| 7 | it does more | [0001](decisions/0001-own-informers-queue-and-workers.md) |\n";
        assert!(section.ends_with(line), "{section}");
        let error = |table: &[Difference]| section_of(table, &[Row::numbered(7)]).unwrap_err().to_string();
        assert_eq!(error(&[differs(8, "it does more", "0001")]), "row 8 differs, and no test shows it");
        assert!(error(&[differs(7, "it does more", "0999")]).starts_with("there is no decision 0999 in "));
    }

    #[test]
    fn differences_are_listed_once_and_in_order() {
        let rows: Vec<u32> = DIFFERENCES.iter().map(|difference| difference.row).collect();
        assert!(rows.len() > 10 && rows.is_sorted_by(|a, b| a < b), "{rows:?}");
        assert!(rows.iter().all(|row| is_different(*row)) && !is_different(1));
    }
}

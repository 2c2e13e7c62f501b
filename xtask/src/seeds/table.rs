//! The table `tests/seeds/table.txt` and the blocks that it speaks of.

use std::{collections::BTreeSet, fs, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::verdict::Verdict;
use crate::repo;

/// How the table writes that a server takes a block.
const ACCEPTED: &str = "accepted";

/// One YAML block and the expected answer to each of its documents.
pub struct Row {
    pub block: String,
    /// Its row of the acceptance list.
    pub id: String,
    /// The block as printed.
    pub text: String,
    pub as_printed: Expected,
    pub after_migrate: Expected,
}

/// `accepted`, or words that the refusal contains.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected(String);

impl Expected {
    pub fn wants_acceptance(&self) -> bool {
        self.0 == ACCEPTED
    }

    /// Whether a document was answered as the table says.
    pub fn is_met_by(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Accepted => self.wants_acceptance(),
            Verdict::Refused(why) => !self.wants_acceptance() && why.contains(&self.0),
        }
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.wants_acceptance() { f.write_str(ACCEPTED) } else { write!(f, "refused: {}", self.0) }
    }
}

fn folder() -> PathBuf {
    repo::root().join("tests/seeds")
}

/// Reads the table; fails unless it has one row for each block.
pub fn read() -> Result<Vec<Row>> {
    let path = folder().join("table.txt");
    let table = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let rows: Result<Vec<Row>> = table.lines().filter(|line| !line.starts_with('#')).map(row).collect();
    let rows = rows?;
    let named: BTreeSet<String> = rows.iter().map(|row| row.block.clone()).collect();
    ensure!(named.len() == rows.len(), "a block has two rows");
    ensure!(named == blocks()?, "one row a block: the table names {named:?}");
    Ok(rows)
}

fn row(line: &str) -> Result<Row> {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    let [block, id, as_printed, after_migrate] = columns.as_slice() else {
        bail!("not four columns: {line}")
    };
    let text = fs::read_to_string(folder().join(format!("{block}.yaml")));
    Ok(Row {
        block: (*block).to_owned(),
        id: (*id).to_owned(),
        text: text.with_context(|| format!("reading block {block}"))?,
        as_printed: Expected((*as_printed).to_owned()),
        after_migrate: Expected((*after_migrate).to_owned()),
    })
}

fn blocks() -> Result<BTreeSet<String>> {
    let mut blocks = BTreeSet::new();
    for entry in fs::read_dir(folder()).context("reading tests/seeds")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        blocks.extend(name.strip_suffix(".yaml").map(str::to_owned));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_no_acceptance_and_must_have_the_words() {
        let refused = |why: &str| Verdict::Refused(why.to_owned());
        let (accepted, required) = (Expected("accepted".to_owned()), Expected("Required".to_owned()));
        assert!(accepted.is_met_by(&Verdict::Accepted));
        assert!(!accepted.is_met_by(&refused("this is not accepted")));
        assert!(required.is_met_by(&refused("spec: Required value")));
        assert!(!required.is_met_by(&refused("spec: Invalid value")));
        assert!(!required.is_met_by(&Verdict::Accepted));
    }
}

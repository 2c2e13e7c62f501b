//! The differences that are known: `known.txt`, one a line below the reason as a comment.
//!
//! The list may only shrink: a difference on it that is gone fails the run until it is taken off.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result};

/// Differences that the embedded server is known to have: case, step and path, without values.
pub struct Known(BTreeSet<String>);

/// What was found, against what is known.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Differences that are on the list.
    pub known: Vec<String>,
    /// Differences that are not, and entries of the list that do not differ any more.
    pub wrong: Vec<String>,
}

impl Known {
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("known.txt");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
        Self(text.lines().map(str::trim).filter(is_entry).map(str::to_owned).collect())
    }

    /// Judges the differences of one case.
    pub fn judge(&self, title: &str, differences: &[String]) -> Verdict {
        let mut verdict = Verdict::default();
        let mut seen = BTreeSet::new();
        for difference in differences {
            let entry = format!("{title}: {}", place(difference));
            let list = if self.0.contains(&entry) { &mut verdict.known } else { &mut verdict.wrong };
            list.push(format!("{title}:{difference}"));
            seen.insert(entry);
        }
        let of_case = self.0.iter().filter(|entry| entry.starts_with(&format!("{title}: step ")));
        let gone = of_case.filter(|entry| !seen.contains(*entry));
        verdict.wrong.extend(gone.map(|entry| format!("{entry}: is the same now, take it off known.txt")));
        verdict
    }

    /// An entry of no case is a mistake.
    #[cfg(test)]
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// A difference without its values.
fn place(difference: &str) -> &str {
    difference.split(": real ").next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_differences_pass_and_new_or_vanished_ones_do_not() {
        let known = Known::parse("# why\n  a: b: step 1, GET /x: .code\na: b: step 1, GET /x: .gone\n\n");
        let found = [
            "  step 1, GET /x: .code: real 1, embedded 2".to_owned(),
            "  step 1, GET /x: .new: real 1, embedded 2".to_owned(),
        ];
        let verdict = known.judge("a: b", &found);
        assert_eq!(verdict.known.len(), 1);
        assert_eq!(
            verdict.wrong,
            [
                "a: b:  step 1, GET /x: .new: real 1, embedded 2",
                "a: b: step 1, GET /x: .gone: is the same now, take it off known.txt"
            ]
        );
        assert_eq!(known.judge("other: case", &[]), Verdict::default());
    }
}

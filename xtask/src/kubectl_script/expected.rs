//! The checked-in answers, and the list of commands that the embedded server is known to answer otherwise.
//!
//! That list may only shrink: a command on it that is answered as expected fails the run until it is taken off.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};

use super::{Answer, script::Step};

const KNOWN: &str = "known-differences.txt";

/// What every command shall answer.
pub struct Expected {
    answers: BTreeMap<String, String>,
    known: Vec<String>,
}

/// The verdict on an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Same,
    /// With the lines that differ.
    KnownToDiffer(String),
    /// With what is wrong.
    Differs(String),
}

impl Expected {
    /// Reads the answers; there must be one for every step and none without.
    pub fn read(folder: &Path, steps: &[Step]) -> Result<Self> {
        let folder = folder.join("expected");
        let mut answers = BTreeMap::new();
        let mut known = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            if path.file_name().is_some_and(|name| name == KNOWN) {
                known = parse_known(&text)?;
            } else if let Some(name) = path.file_stem() {
                answers.insert(name.to_string_lossy().into_owned(), text);
            }
        }
        let is_step = |name: &String| steps.iter().any(|step| step.name == *name);
        for name in answers.keys().chain(&known) {
            ensure!(is_step(name), "expected/ speaks of {name}, which is not in the script");
        }
        Ok(Self { answers, known })
    }

    /// Commands that the embedded server is known to answer otherwise.
    pub fn known(&self) -> &[String] {
        &self.known
    }

    /// Compares an answer; `known` are the commands that must differ.
    pub fn judge(&self, name: &str, text: &str, known: &[String]) -> Verdict {
        let Some(expected) = self.answers.get(name) else {
            return Verdict::Differs("nothing is expected yet: --bless writes it\n".to_owned());
        };
        match (expected == text, known.iter().any(|it| it == name)) {
            (true, false) => Verdict::Same,
            (true, true) => Verdict::Differs(format!("is as expected now: take it off {KNOWN}\n")),
            (false, true) => Verdict::KnownToDiffer(diff(expected, text)),
            (false, false) => Verdict::Differs(diff(expected, text)),
        }
    }
}

/// Writes answers as what is expected and removes those of commands that are gone.
pub fn write(folder: &Path, answers: &[Answer]) -> Result<()> {
    let folder = folder.join("expected");
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let is_known_list = path.file_name().is_some_and(|name| name == KNOWN);
        if !is_known_list && !answers.iter().any(|(name, _)| *name == stem) {
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
    }
    for (name, text) in answers {
        let path = folder.join(format!("{name}.txt"));
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Lines of `name # why`.
fn parse_known(text: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(" # ") {
            Some((name, why)) if !why.trim().is_empty() => names.push(name.trim().to_owned()),
            _ => bail!("{KNOWN}: {line:?} does not say why: `name # why`"),
        }
    }
    Ok(names)
}

/// The lines that only one of the two has: `-` expected, `+` answered.
fn diff(expected: &str, answered: &str) -> String {
    let (left, right): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), answered.lines().collect());
    // Length of the longest common run of lines from each pair of places on, row by row from the end.
    let mut rows: Vec<Vec<usize>> = vec![vec![0; right.len() + 1]];
    for a in left.iter().rev() {
        let mut row = vec![0];
        for (at, b) in right.iter().enumerate().rev() {
            let beneath = |at: usize| rows.last().and_then(|below| below.get(at)).copied().unwrap_or(0);
            let beside = row.last().copied().unwrap_or(0);
            row.push(if a == b { beneath(at + 1) + 1 } else { beneath(at).max(beside) });
        }
        row.reverse();
        rows.push(row);
    }
    rows.reverse();
    let common = |x: usize, y: usize| rows.get(x).and_then(|row| row.get(y)).copied().unwrap_or(0);
    let (mut x, mut y) = (0, 0);
    let mut text = String::new();
    loop {
        match (left.get(x), right.get(y)) {
            (Some(a), Some(b)) if a == b => (x, y) = (x + 1, y + 1),
            (Some(a), b) if b.is_none() || common(x + 1, y) >= common(x, y + 1) => {
                text += &format!("  - {a}\n");
                x += 1;
            }
            (_, Some(b)) => {
                text += &format!("  + {b}\n");
                y += 1;
            }
            _ => break,
        }
    }
    if text.is_empty() { "  only the end of the last line differs\n".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubectl_script::{folder, script};

    fn expected() -> Expected {
        Expected { answers: BTreeMap::from([("a".to_owned(), "1\n2\n".to_owned())]), known: Vec::new() }
    }

    #[test]
    fn every_command_of_the_script_has_an_answer_and_every_answer_a_command() {
        for folder in [folder(), folder().join("up")] {
            let steps = script::read(&folder).unwrap();
            let expected = Expected::read(&folder, &steps).unwrap();
            assert_eq!(expected.answers.len(), steps.len());
        }
    }

    #[test]
    fn an_answer_that_differs_is_shown_line_by_line() {
        let verdict = expected().judge("a", "1\n3\n", &[]);
        assert_eq!(verdict, Verdict::Differs("  - 2\n  + 3\n".to_owned()));
    }

    #[test]
    fn a_known_difference_passes_only_while_it_is_one() {
        let known = ["a".to_owned()];
        assert_eq!(expected().judge("a", "1\n", &known), Verdict::KnownToDiffer("  - 2\n".to_owned()));
        assert!(matches!(expected().judge("a", "1\n2\n", &known), Verdict::Differs(_)));
    }

    #[test]
    fn a_known_difference_says_why() {
        assert_eq!(parse_known("# all\n\na # because\n").unwrap(), ["a"]);
        assert!(parse_known("a\n").is_err());
    }

    #[test]
    fn a_line_that_moved_is_taken_away_and_put_back() {
        assert_eq!(diff("a\nb\nc\n", "b\nc\na\n"), "  - a\n  + a\n");
        assert_eq!(diff("a", "a\n"), "  only the end of the last line differs\n");
    }
}

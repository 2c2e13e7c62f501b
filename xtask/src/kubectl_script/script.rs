//! The script: named commands, one per line.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};

/// A command and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Also the name of the file with its answer.
    pub name: String,
    /// For a shell.
    pub command: String,
    /// Made while the command watches; none if it ends by itself.
    pub changes: Vec<String>,
}

/// Reads `script.txt`.
pub fn read(folder: &Path) -> Result<Vec<Step>> {
    let path = folder.join("script.txt");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &str) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut names = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(change) = line.strip_prefix("  > ") {
            let step =
                steps.last_mut().with_context(|| format!("line {number}: a change without a watch"))?;
            step.changes.push(change.to_owned());
            continue;
        }
        let Some((name, command)) = line.split_once(": ") else {
            bail!("line {number}: not `name: command`");
        };
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        ensure!(!name.is_empty() && name.chars().all(fits), "line {number}: {name:?} is no name");
        ensure!(names.insert(name), "line {number}: {name} is there twice");
        steps.push(Step { name: name.to_owned(), command: command.to_owned(), changes: Vec::new() });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_a_name_a_command_and_perhaps_changes() {
        let steps =
            parse("# first\n\na: kubectl get x -o 'jsonpath={: }'\nb: kubectl get -w\n  > c\n  > d\n")
                .unwrap();
        let step = |name: &str, command: &str, changes: &[&str]| Step {
            name: name.to_owned(),
            command: command.to_owned(),
            changes: changes.iter().map(|&c| c.to_owned()).collect(),
        };
        let expected =
            [step("a", "kubectl get x -o 'jsonpath={: }'", &[]), step("b", "kubectl get -w", &["c", "d"])];
        assert_eq!(steps, expected);
    }

    #[test]
    fn what_cannot_be_a_step_is_reported_with_its_line() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(error("\nkubectl get"), "line 2: not `name: command`");
        assert_eq!(error("  > kubectl"), "line 1: a change without a watch");
        assert_eq!(error("a: b\na: c"), "line 2: a is there twice");
        assert_eq!(error("../a: b"), "line 1: \"../a\" is no name");
    }
}

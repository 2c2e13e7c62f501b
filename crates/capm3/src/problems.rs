//! What is wrong with manifests: what a server would refuse, and how much of it a person is shown.

use std::collections::{BTreeMap, BTreeSet};

use capm3_engine::manifests::{self, Document, Problem};
use capm3_lab::{LabError, manifests::Refusal};

use crate::{exit::Failure, quote::quoted};

/// So many problems of one kind are shown: whoever has seen these knows them.
const ALIKE: usize = 12;

/// So many problems are shown at all.
const MOST: usize = 60;

/// What an API server with the provider's rules would refuse.
pub fn refusals(documents: &[&Document]) -> Result<Vec<Problem>, Failure> {
    ask(documents, capm3_lab::manifests::judge(documents))
}

/// The same with the fields apart.
pub fn refused_fields(documents: &[&Document]) -> Result<Vec<Refusal>, Failure> {
    ask(documents, capm3_lab::manifests::refusals(documents))
}

fn ask<T>(
    documents: &[&Document],
    answer: impl Future<Output = Result<Vec<T>, LabError>>,
) -> Result<Vec<T>, Failure> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::CouldNotRun(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(answer).map_err(|error| Failure::CouldNotRun(error.to_string()))
}

/// Problems, one per line. Of thousands that are alike a few are shown, so that the others are seen; the rest is counted.
/// Two are alike if their words differ in numbers only, as those of machines of one template do.
pub fn lines(problems: &[Problem]) -> Vec<String> {
    lines_of("problem", problems)
}

/// The same for warnings.
pub fn warnings(problems: &[Problem]) -> Vec<String> {
    lines_of("warning", problems).into_iter().map(|line| format!("warning: {line}")).collect()
}

fn lines_of(word: &str, problems: &[Problem]) -> Vec<String> {
    let mut of_kind: BTreeMap<String, usize> = BTreeMap::new();
    let is_shown = |problem: &&Problem| {
        let kind = problem.message.replace(|c: char| c.is_ascii_digit(), "");
        let seen = of_kind.entry(kind).or_default();
        *seen += 1;
        *seen <= ALIKE
    };
    let mut lines: Vec<String> =
        problems.iter().filter(is_shown).take(MOST).map(ToString::to_string).collect();
    match problems.len() - lines.len() {
        0 => {}
        1 => lines.push(format!("and 1 more {word}")),
        rest => lines.push(format!("and {rest} more {word}s")),
    }
    lines
}

/// For files with objects of older versions that a server refuses: the command that brings them to the present one.
pub fn hints(older: &BTreeSet<String>) -> Vec<String> {
    let hint = |file: &String| {
        let path = if file == manifests::STDIN { manifests::STANDARD_INPUT } else { file };
        format!(
            "hint: {file} has objects of an older version; `capm3 migrate -f {}` converts them",
            quoted(path)
        )
    };
    let mut hints: Vec<String> = older.iter().take(ALIKE).map(hint).collect();
    if older.len() > ALIKE {
        hints.push(format!("hint: {} more files have such objects", older.len() - ALIKE));
    }
    hints
}

/// How many problems there are in how many files.
pub fn summary(problems: &[Problem]) -> String {
    let files: BTreeSet<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
    let count = |number: usize, word: &str| match number {
        1 => format!("1 {word}"),
        number => format!("{number} {word}s"),
    };
    let (problems, files) = (count(problems.len(), "problem"), count(files.len(), "file"));
    format!("{problems} in {files}; nothing was started")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(file: &str, line: usize, message: &str) -> Problem {
        Problem { file: file.to_owned(), line, message: message.to_owned(), code: None }
    }

    #[test]
    fn problems_and_files_are_counted() {
        assert_eq!(summary(&[problem("a", 1, "")]), "1 problem in 1 file; nothing was started");
        let three = [problem("a", 1, ""), problem("a", 2, ""), problem("b", 1, "")];
        assert_eq!(summary(&three), "3 problems in 2 files; nothing was started");
    }

    #[test]
    fn of_many_that_are_alike_a_few_are_shown_and_none_of_another_kind_is_lost() {
        let mut problems: Vec<Problem> = (1..=3000)
            .map(|n| problem("a", n, &format!("Metal3Machine m-{n}: spec.colour: unknown")))
            .collect();
        problems.push(problem("b", 7, "IPPool p: spec.pools: not a list"));
        let lines = lines(&problems);
        assert_eq!(lines.len(), ALIKE + 2);
        assert_eq!(lines[0], "a:1: Metal3Machine m-1: spec.colour: unknown");
        assert_eq!(lines[ALIKE..], ["b:7: IPPool p: spec.pools: not a list", "and 2988 more problems"]);
    }

    #[test]
    fn each_file_of_an_older_version_has_its_hint_and_of_many_a_few_are_shown() {
        let files = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let hints_of = |names: &[&str]| hints(&files(names));
        let say = |file: &str, path: &str| {
            format!("hint: {file} has objects of an older version; `capm3 migrate -f {path}` converts them")
        };
        let expected = [say("a/b.yaml", "a/b.yaml"), say("it's.yaml", r"'it'\''s.yaml'"), say("stdin", "-")];
        assert_eq!(hints_of(&["stdin", "a/b.yaml", "it's.yaml"]), expected);
        let many: Vec<String> = (0..20).map(|number| format!("{number}.yaml")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(hints_of(&many).len(), ALIKE + 1);
        assert_eq!(hints_of(&many).last().unwrap(), "hint: 8 more files have such objects");
        assert_eq!(hints_of(&[]), [""; 0]);
    }

    #[test]
    fn a_few_problems_are_all_shown_and_there_is_an_end_to_those_of_many_kinds() {
        let of_letters = |n: usize| "x".repeat(n);
        let problems: Vec<Problem> = (1..=61).map(|n| problem("a", n, &of_letters(n))).collect();
        assert_eq!(lines(&problems[..60]).len(), 60);
        assert_eq!(lines(&problems).last().unwrap(), "and 1 more problem");
    }
}

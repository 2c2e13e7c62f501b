//! What is wrong with manifests: what a server would refuse, and how much of it a person is shown.

use std::collections::{BTreeMap, BTreeSet};

use capm3_engine::manifests::{Document, Problem};

use crate::exit::Failure;

/// So many problems of one kind are shown: whoever has seen these knows them.
const ALIKE: usize = 12;

/// So many problems are shown at all.
const MOST: usize = 60;

/// What an API server with the provider's rules would refuse.
pub fn refusals(documents: &[&Document]) -> Result<Vec<Problem>, Failure> {
    if documents.is_empty() {
        return Ok(Vec::new());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::CouldNotRun(format!("cannot start the runtime: {error}")))?;
    let problems = runtime.block_on(capm3_lab::manifests::judge(documents));
    problems.map_err(|error| Failure::CouldNotRun(error.to_string()))
}

/// Problems one a line. Of thousands that are alike a few are shown, so that the others are seen; the rest is counted.
/// Two are alike if their words differ in numbers only, as those of machines of one template do.
pub fn lines(problems: &[Problem]) -> Vec<String> {
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
        1 => lines.push("and 1 more problem".to_owned()),
        rest => lines.push(format!("and {rest} more problems")),
    }
    lines
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
        Problem { file: file.to_owned(), line, message: message.to_owned() }
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
    fn a_few_problems_are_all_shown_and_there_is_an_end_to_those_of_many_kinds() {
        let of_letters = |n: usize| "x".repeat(n);
        let problems: Vec<Problem> = (1..=61).map(|n| problem("a", n, &of_letters(n))).collect();
        assert_eq!(lines(&problems[..60]).len(), 60);
        assert_eq!(lines(&problems).last().unwrap(), "and 1 more problem");
    }
}

//! How much is wrong with manifests.

use std::collections::BTreeSet;

use capm3_engine::manifests::Problem;

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

    #[test]
    fn problems_and_files_are_counted() {
        let problem = |file: &str, line| Problem { file: file.to_owned(), line, message: String::new() };
        assert_eq!(summary(&[problem("a", 1)]), "1 problem in 1 file; nothing was started");
        let three = [problem("a", 1), problem("a", 2), problem("b", 1)];
        assert_eq!(summary(&three), "3 problems in 2 files; nothing was started");
    }
}

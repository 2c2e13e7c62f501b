//! Errors of lint in one line each, for commands that have other work to do with the same files.

use capm3_domain::lint::Severity;
use capm3_engine::manifests::{Document, Problem};
use capm3_offline::lint::{Mistake, Options, lint};

/// The errors in objects and templates, whatever reads the network data. What the command reports itself is left out: what a
/// server refuses, what cannot be read and what cannot be rendered.
pub fn errors(documents: &[Document]) -> Vec<Problem> {
    let options =
        Options { targets: Vec::new(), are_named: true, with_machines: false, ..Options::default() };
    let report = lint(&[], documents, Vec::new(), &[], &options);
    report.mistakes.into_iter().filter(is_new).map(problem).collect()
}

fn is_new(mistake: &Mistake) -> bool {
    mistake.severity == Severity::Error && mistake.code.starts_with("CAPM3-L") && mistake.code != "CAPM3-L001"
}

fn problem(mistake: Mistake) -> Problem {
    let message = super::text::title(&mistake);
    Problem { file: mistake.file, line: mistake.line, message, code: Some(mistake.code) }
}

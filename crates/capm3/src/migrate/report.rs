//! The report of a migration as text, one finding per line.

use std::fmt::Write;

use capm3_offline::migrate::{Migration, Severity, SourcePlace};

/// Everything that was changed and everything that the user should know.
pub fn text(migration: &Migration) -> String {
    let mut text = String::new();
    for change in &migration.changes {
        let place = place(&change.place);
        writeln!(text, "{place}: {} -> {} ({})", change.from, change.to, change.why)
            .expect("text takes every line");
    }
    for problem in &migration.problems {
        let severity = match problem.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let proposal =
            problem.proposal.as_ref().map(|proposal| format!("; write: {proposal}")).unwrap_or_default();
        let place = place(&problem.place);
        writeln!(text, "{severity}: {place}: {}{proposal}", problem.message).expect("text takes every line");
    }
    text.push_str(&summary(migration));
    text
}

/// `file:line: Kind name: path`, as far as each is known.
fn place(place: &SourcePlace) -> String {
    let line = if place.line == 0 { String::new() } else { format!(":{}", place.line) };
    let parts = [format!("{}{line}", place.file), place.object.clone(), place.path.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
}

fn summary(migration: &Migration) -> String {
    let of = |severity| migration.problems.iter().filter(|problem| problem.severity == severity).count();
    let counts = [
        count(migration.documents.len(), "document"),
        count(migration.changes.len(), "change"),
        count(of(Severity::Warning), "warning"),
        count(of(Severity::Error), "error"),
    ];
    format!("{}. Comments of the input are not in the output.\n", counts.join(", "))
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

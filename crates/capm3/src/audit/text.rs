//! Findings as a person reads them.

use capm3_provider::audit::{By, Fact, Finding, Severity, Subject};

use super::Look;
use crate::{
    columns,
    explain::text::one_line,
    paint::{Line, Paint},
};

/// Every finding, then how many there are.
pub(super) fn render(look: &Look, colour: bool) -> String {
    let mut lines: Vec<Line> = look.report.findings.iter().flat_map(block).collect();
    lines.push(Line::of(Paint::Bold, summary(look)));
    lines.extend(hints(look).into_iter().map(|hint| Line::of(Paint::Plain, hint)));
    lines.iter().map(|line| format!("{}\n", line.text(colour))).collect()
}

/// The object in one word, as kubectl names it.
pub(super) fn name(finding: &Finding) -> String {
    let Subject { kind, key } = &finding.object;
    let resource = kind.kind.to_lowercase();
    match kind.group.as_str() {
        "" => format!("{resource}/{}", key.name),
        group => format!("{resource}.{group}/{}", key.name),
    }
}

fn block(finding: &Finding) -> Vec<Line> {
    let paint = if finding.severity == Severity::Error { Paint::Yellow } else { Paint::Cyan };
    let head = Line::of(paint, format!("{} {}", finding.severity.word(), finding.code))
        .and(Paint::Bold, format!("  {}", finding.object))
        .and(Paint::Plain, format!(" {}", one_line(&finding.message)));
    let mut lines = vec![head];
    lines
        .extend(facts(&finding.evidence).into_iter().map(|line| Line::of(Paint::Dim, format!("    {line}"))));
    let repair = &finding.repair;
    let label = match repair.by {
        By::Fix => "Repair (--fix)",
        By::Command => "Repair (run it yourself, because a host is in use)",
        By::Person => "A person must decide",
    };
    lines.push(Line::of(Paint::Plain, format!("  {label}: {}", one_line(&repair.text))));
    lines.extend(repair.steps.iter().map(|step| Line::of(Paint::Plain, format!("    {}", step.command()))));
    lines.push(Line::default());
    lines
}

/// The evidence, object by object.
fn facts(evidence: &[Fact]) -> Vec<String> {
    let row = |fact: &Fact| {
        let says = match (&fact.field, &fact.value) {
            (_, None) => "does not exist".to_owned(),
            (None, Some(value)) => one_line(value),
            (Some(field), Some(value)) => format!("{field}: {}", one_line(value)),
        };
        vec![fact.object.to_string(), says]
    };
    columns::lines(&evidence.iter().map(row).collect::<Vec<_>>())
}

fn summary(look: &Look) -> String {
    let count = |severity: Severity| look.report.findings.iter().filter(|it| it.severity == severity).count();
    let counts = [
        (count(Severity::Error), "error"),
        (count(Severity::Warning), "warning"),
        (count(Severity::Info), "note"),
    ];
    let counted: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| plural(*count, word)).collect();
    let found = if counted.is_empty() { "no contradictions".to_owned() } else { counted.join(", ") };
    format!("{found} among {}", plural(look.inventory.len(), "object"))
}

fn hints(look: &Look) -> Vec<String> {
    let fixes = look.report.findings.iter().filter(|finding| super::is_fixable(finding)).count();
    let unsettled = look.report.findings.iter().filter(|finding| !finding.settled).count();
    let mut hints = Vec::new();
    if fixes > 0 {
        hints.push(format!("{} of them can be repaired with --fix", fixes));
    }
    if unsettled > 0 {
        hints.push(format!(
            "{unsettled} of them may be work in progress: the objects do not tell when they changed last"
        ));
    }
    if look.report.held_back > 0 {
        let more = plural(look.report.held_back, "more contradiction");
        hints.push(format!(
            "{more} among objects that changed lately, which may be work in progress; look again later"
        ));
    }
    hints
}

/// A number with its word.
pub(super) fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

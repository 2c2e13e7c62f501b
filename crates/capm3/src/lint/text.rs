//! Mistakes for people: each with the line of the file, the wrong text underlined, why, and what helps.

use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, renderer::DecorStyle};
use capm3_domain::lint::{Severity, describe};
use capm3_offline::lint::{Mistake, Report};

use crate::paint;

/// So many machines are named.
const MACHINES: usize = 3;

/// Every mistake, and how many there are.
pub fn report(report: &Report, texts: &[(String, String)]) -> String {
    let texts: BTreeMap<&str, &str> =
        texts.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    let renderer = if paint::colours_stdout() { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let mut text = String::new();
    for mistake in &report.mistakes {
        let source = texts.get(mistake.file.as_str()).copied().unwrap_or_default();
        text.push_str(&renderer.render(&[of(mistake, source)]));
        text.push_str("\n\n");
    }
    text.push_str(&summary(report));
    text
}

fn of<'a>(mistake: &'a Mistake, source: &'a str) -> Group<'a> {
    let level = match mistake.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(title(mistake)).id(mistake.code);
    let group = match mistake.line {
        0 => title.element(Origin::path(mistake.file.as_str())),
        line => title.element(snippet(mistake, source, line)),
    };
    let mut more = Vec::new();
    if !mistake.why.is_empty() {
        more.push(("why", mistake.why.to_owned()));
    }
    if !mistake.help.is_empty() {
        more.push(("help", mistake.help.clone()));
    }
    if !mistake.targets.is_empty() {
        more.push(("target", describe(&mistake.targets)));
    }
    if !mistake.machines.is_empty() {
        more.push(("machines", machines(&mistake.machines)));
    }
    more.into_iter()
        .fold(group, |group, (name, text)| group.element(Level::NOTE.with_name(name).message(text)))
}

/// The object, the field and what is wrong.
pub(super) fn title(mistake: &Mistake) -> String {
    match (mistake.object.as_str(), mistake.field.as_str()) {
        ("", _) => mistake.message.clone(),
        (object, "") => format!("{object}: {}", mistake.message),
        (object, field) => format!("{object}: {field}: {}", mistake.message),
    }
}

/// The line of the mistake. Only this line is given, so that a long file costs nothing.
fn snippet<'a>(
    mistake: &'a Mistake,
    source: &'a str,
    line: usize,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let bytes = &mistake.bytes;
    let begin = source.get(..bytes.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let end =
        source.get(bytes.end..).and_then(|rest| rest.find('\n')).map_or(source.len(), |at| bytes.end + at);
    let marked = bytes.start.saturating_sub(begin)..bytes.end.saturating_sub(begin);
    Snippet::source(source.get(begin..end).unwrap_or_default())
        .line_start(line)
        .path(mistake.file.as_str())
        .annotation(AnnotationKind::Primary.span(marked))
}

fn machines(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MACHINES).map(String::as_str).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn summary(report: &Report) -> String {
    let count = |severity: Severity| {
        let count = report.count(severity);
        format!("{count} {}{}", severity.word(), if count == 1 { "" } else { "s" })
    };
    match report.mistakes.is_empty() {
        true => "no mistakes found\n".to_owned(),
        false => format!("{}, {}\n", count(Severity::Error), count(Severity::Warning)),
    }
}

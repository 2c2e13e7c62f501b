//! Findings with their places in the files.

use std::{collections::BTreeMap, ops::Range};

use capm3_domain::lint::{Finding, Rules, Severity, Target, rule};
use capm3_engine::manifests::{Document, Mark, Marks, Problem};
use serde::Serialize;

use super::{Refused, Report, replacement};

/// A mistake and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mistake {
    /// The stable code.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub file: String,
    /// The line, from 1; 0 where none is known.
    pub line: usize,
    /// The letter in the line, from 1.
    pub column: usize,
    /// The bytes of the file that are wrong.
    pub bytes: Range<usize>,
    /// The object, such as `IPPool metal3/pool`; empty where none is known.
    pub object: String,
    /// The field; empty where none is known.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// Why that is a mistake.
    pub why: &'static str,
    /// What helps.
    pub help: String,
    /// Which consumers of network data it concerns; empty if it does not depend on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// Machines whose data shows it; empty if it does not depend on a machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<String>,
    /// What would correct it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
}

/// Other text for a piece of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// The bytes that are replaced.
    pub bytes: Range<usize>,
    /// What stands there instead.
    pub text: String,
}

/// Everything that was found, in the order of the files.
pub(super) fn report(
    texts: &[(String, String)],
    documents: &[Document],
    unread: Vec<Problem>,
    refused: &[Refused],
    findings: Vec<Finding>,
    rules: Rules,
) -> Report {
    let mut places = Places::of(texts);
    let mut mistakes = Vec::new();
    if rules.has(UNREADABLE) {
        mistakes.extend(unread.into_iter().map(|problem| of_problem(&places, problem)));
    }
    for refused in refused {
        let code = refused.code.unwrap_or(REFUSED);
        if let Some(document) = documents.get(refused.document).filter(|_| rules.has(code)) {
            mistakes.push(of_refused(&mut places, document, refused, code));
        }
    }
    for finding in findings {
        if let Some(document) = documents.get(finding.object) {
            mistakes.push(of_finding(&mut places, document, finding));
        }
    }
    let order: BTreeMap<&str, usize> =
        texts.iter().enumerate().map(|(number, (file, _))| (file.as_str(), number)).collect();
    mistakes.sort_by_cached_key(|it| {
        (order.get(it.file.as_str()).copied(), it.line, it.column, it.code, it.message.clone())
    });
    mistakes.dedup();
    Report { mistakes }
}

const UNREADABLE: &str = "CAPM3-L001";
const REFUSED: &str = "CAPM3-L002";

/// Texts by file, with the fields that were asked for.
struct Places<'t>(BTreeMap<&'t str, Marks<'t>>);

impl<'t> Places<'t> {
    fn of(texts: &'t [(String, String)]) -> Self {
        Self(texts.iter().map(|(file, text)| (file.as_str(), Marks::of(text))).collect())
    }

    fn mark(&mut self, document: &Document, field: &str) -> Mark {
        let nowhere = Mark { line: document.line_of(field), column: 1, bytes: 0..0, is_value: false };
        self.0.get_mut(document.file.as_str()).map_or(nowhere, |marks| marks.mark(document, field))
    }
}

fn of_problem(places: &Places<'_>, problem: Problem) -> Mistake {
    let marks = places.0.get(problem.file.as_str()).filter(|_| problem.line > 0);
    let mark = marks.map(|marks| marks.line(problem.line));
    let code = problem.code.unwrap_or(UNREADABLE);
    Mistake {
        code,
        severity: Severity::Error,
        line: problem.line,
        column: mark.as_ref().map_or(1, |mark| mark.column),
        bytes: mark.map(|mark| mark.bytes).unwrap_or_default(),
        file: problem.file,
        object: String::new(),
        field: String::new(),
        message: problem.message,
        why: why(code),
        help: help(code),
        targets: Vec::new(),
        machines: Vec::new(),
        edit: None,
    }
}

fn of_refused(
    places: &mut Places<'_>,
    document: &Document,
    refused: &Refused,
    code: &'static str,
) -> Mistake {
    let Mark { line, column, bytes, .. } = places.mark(document, &refused.field);
    Mistake {
        code,
        severity: Severity::Error,
        file: document.file.clone(),
        line,
        column,
        bytes,
        object: document.to_string(),
        field: refused.field.clone(),
        message: refused.message.clone(),
        why: why(code),
        help: help(code),
        targets: Vec::new(),
        machines: Vec::new(),
        edit: None,
    }
}

fn of_finding(places: &mut Places<'_>, document: &Document, finding: Finding) -> Mistake {
    let Mark { line, column, bytes, is_value } = places.mark(document, &finding.field);
    let code = finding.code.as_str();
    // Only what stands there itself is replaced.
    let edit = finding.fix.filter(|_| is_value);
    let edit = edit.map(|fix| Edit { bytes: bytes.clone(), text: replacement(&fix).to_owned() });
    Mistake {
        code,
        severity: finding.severity,
        file: document.file.clone(),
        line,
        column,
        bytes,
        object: document.to_string(),
        field: finding.field,
        message: finding.message,
        why: why(code),
        help: finding.help,
        targets: finding.targets,
        machines: finding.machines,
        edit,
    }
}

fn why(code: &str) -> &'static str {
    rule(code).map(|rule| rule.why).unwrap_or_default()
}

fn help(code: &str) -> String {
    rule(code).map(|rule| rule.mend.to_owned()).unwrap_or_default()
}

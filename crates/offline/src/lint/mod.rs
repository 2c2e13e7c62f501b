//! Mistakes in files, with their places: the rules of [`capm3_domain::lint`] over what a user wrote.
//!
//! Takes texts, what was read from them, and what a server would refuse; gives [`Mistake`]s in the order of the files. It decides
//! nothing itself. What cannot be read is reported, and the rest is checked anyway.

mod documents;
mod objects;
mod place;

use std::collections::BTreeMap;

use capm3_domain::lint::{Finding, Fix, ObjectId, Rules, Severity, Target, judge_manifests, merge};
use capm3_engine::manifests::{Document, Problem};
use serde::Serialize;

pub use self::place::{Edit, Mistake};
use crate::render::{self, Options as RenderOptions};

/// What the user wants to know.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who reads the network data.
    pub targets: Vec<Target>,
    /// Whether the user named the targets. What only some of the targets do that nobody named is a warning.
    pub are_named: bool,
    /// Which rules are asked.
    pub rules: Rules,
    /// Whether the documents of all machines are rendered too, and not only those of templates.
    pub with_machines: bool,
}

impl Default for Options {
    /// Every known target and every rule.
    fn default() -> Self {
        Self { targets: Target::all(), are_named: false, rules: Rules::all(), with_machines: true }
    }
}

/// A field that a server would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The number of the document.
    pub document: usize,
    /// The field.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// The code of the rule of admission, if one says so and not the schema.
    pub code: Option<&'static str>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Every mistake, by file and line.
    pub mistakes: Vec<Mistake>,
}

impl Report {
    /// How many mistakes there are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.mistakes.iter().filter(|mistake| mistake.severity == severity).count()
    }
}

/// Checks documents that were read from `texts`. `problems` are those of the texts that could not be read.
pub fn lint(
    texts: &[(String, String)],
    documents: &[Document],
    problems: Vec<Problem>,
    refused: &[Refused],
    options: &Options,
) -> Report {
    let (mut unread, mut untyped) = (problems, Vec::new());
    let (site, memory) = render::Site::read(documents.iter(), &mut untyped);
    // Of what a server refuses it has said more.
    let is_refused = |problem: &Problem| {
        let before = documents.iter().enumerate().filter(|(_, it)| it.file == problem.file);
        let nearest = before.filter(|(_, it)| it.line() <= problem.line).max_by_key(|(_, it)| it.line());
        nearest.is_some_and(|(number, _)| refused.iter().any(|it| it.document == number))
    };
    unread.extend(untyped.into_iter().filter(|problem| !is_refused(problem)));
    let findings = {
        let numbers = numbers(documents);
        let manifests = objects::manifests(documents, &numbers, &memory);
        let mut findings = judge_manifests(&manifests, options.rules);
        let rendered = match options.with_machines {
            true => render::cases(&site, memory, &RenderOptions::default()),
            false => Vec::new(),
        };
        findings.extend(documents::judge(&manifests, &rendered, options));
        findings
    };
    let findings = grade(merge(findings), options);
    place::report(texts, documents, unread, refused, findings, options.rules)
}

/// The number of each document, by its place in memory: objects are found by name, and lead to documents.
fn numbers(documents: &[Document]) -> BTreeMap<(&str, &str, String, String), ObjectId> {
    let mut numbers = BTreeMap::new();
    for (number, document) in documents.iter().enumerate() {
        let (group, key) = (capm3_api::metadata::group_of(document.api_version()), document.key());
        // The first of two that define one object is the one that is read.
        numbers.entry((group, document.kind(), key.namespace, key.name)).or_insert(number);
    }
    numbers
}

/// What only some of the targets do is an error for those who have such a target.
fn grade(mut findings: Vec<Finding>, options: &Options) -> Vec<Finding> {
    if !options.are_named {
        for finding in &mut findings {
            if !finding.targets.is_empty() && finding.targets.len() < options.targets.len() {
                finding.severity = Severity::Warning;
            }
        }
    }
    findings
}

/// The text that a fix puts in.
fn replacement(fix: &Fix) -> &str {
    match fix {
        Fix::Replace(text) => text,
    }
}

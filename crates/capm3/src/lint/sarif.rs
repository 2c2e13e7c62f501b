//! Mistakes as SARIF 2.1.0, which code hosts and editors read.

use std::collections::BTreeMap;

use capm3_domain::lint::{Rule, Severity, describe, rule};
use capm3_offline::lint::{Mistake, Report};
use serde_json::{Value, json};

use crate::version;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The report as one run.
pub fn report(report: &Report, texts: &[(String, String)]) -> Value {
    let texts: BTreeMap<&str, &str> =
        texts.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    let mut codes: Vec<&str> = report.mistakes.iter().map(|mistake| mistake.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let rules: Vec<Value> = codes.iter().map(|code| rule_of(code)).collect();
    let results: Vec<Value> = report
        .mistakes
        .iter()
        .map(|mistake| {
            let number = codes.binary_search(&mistake.code).ok();
            result(mistake, number, texts.get(mistake.file.as_str()).copied().unwrap_or_default())
        })
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "capm3", "version": version::VERSION, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule_of(code: &str) -> Value {
    match rule(code) {
        Some(Rule { title, why, mend, severity, .. }) => json!({
            "id": code,
            "shortDescription": {"text": title},
            "fullDescription": {"text": why},
            "help": {"text": mend},
            "defaultConfiguration": {"level": severity.word()},
        }),
        None => json!({"id": code}),
    }
}

fn result(mistake: &Mistake, number: Option<usize>, source: &str) -> Value {
    let mut text = format!("{}; {}", super::text::title(mistake), mistake.help);
    if !mistake.targets.is_empty() {
        text = format!("{text} (target: {})", describe(&mistake.targets));
    }
    let mut result = json!({
        "ruleId": mistake.code,
        "level": level(mistake.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": place(mistake, source)}],
    });
    if let (Some(number), Some(members)) = (number, result.as_object_mut()) {
        members.insert("ruleIndex".to_owned(), json!(number));
    }
    if let (Some(edit), Some(members)) = (&mistake.edit, result.as_object_mut()) {
        let region = json!({"byteOffset": edit.bytes.start, "byteLength": edit.bytes.len()});
        let replacement = json!({"deletedRegion": region, "insertedContent": {"text": edit.text}});
        let change = json!({"artifactLocation": {"uri": mistake.file}, "replacements": [replacement]});
        let fix = json!({"description": {"text": mistake.help}, "artifactChanges": [change]});
        members.insert("fixes".to_owned(), json!([fix]));
    }
    result
}

fn level(severity: Severity) -> &'static str {
    severity.word()
}

fn place(mistake: &Mistake, source: &str) -> Value {
    let mut place = json!({"artifactLocation": {"uri": mistake.file}});
    if let (1.., Some(members)) = (mistake.line, place.as_object_mut()) {
        let letters = source.get(mistake.bytes.clone()).unwrap_or_default().chars().count();
        let region = json!({
            "startLine": mistake.line,
            "startColumn": mistake.column,
            "endColumn": mistake.column + letters,
        });
        members.insert("region".to_owned(), region);
    }
    place
}

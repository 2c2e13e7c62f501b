//! One mistake: where it is, what is wrong, and what helps.

use serde::Serialize;

use super::{Rule, Target};
use crate::wait::Code;

/// The number of an object among those that were given.
pub type ObjectId = usize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A machine will not come up, or not as asked.
    Error,
    /// Allowed, and probably not meant.
    Warning,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A change of the file that corrects it and cannot make anything else worse.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fix {
    /// Other text instead of the scalar at the field.
    Replace(String),
}

/// What a rule says, before its code is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The field, such as `spec.pools[0].gateway`, or in a document `links[0].vlan_link`.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What helps here; where it is empty, what the rule says helps.
    pub help: String,
    /// A change that corrects it.
    pub fix: Option<Fix>,
    /// Another severity than that of the rule.
    pub severity: Option<Severity>,
}

impl Draft {
    /// A mistake at a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), help: String::new(), fix: None, severity: None }
    }

    /// The same with what helps here.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// The same with a change that corrects it.
    #[must_use]
    pub fn fix(self, fix: Fix) -> Self {
        Self { fix: Some(fix), ..self }
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { severity: Some(Severity::Warning), ..self }
    }
}

/// A mistake of an object, or of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The object; of a document that has none, 0.
    pub object: ObjectId,
    /// The field.
    pub field: String,
    /// The code of the rule.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
    /// What helps.
    pub help: String,
    /// Which consumers of network data it concerns; empty if it does not depend on them.
    pub targets: Vec<Target>,
    /// Machines whose documents show it; empty if it does not depend on a machine.
    pub machines: Vec<String>,
    /// A change that corrects it.
    pub fix: Option<Fix>,
}

impl Finding {
    /// What a rule says of an object.
    pub fn of(rule: &Rule, object: ObjectId, draft: Draft) -> Self {
        let help = if draft.help.is_empty() { rule.mend.to_owned() } else { draft.help.clone() };
        let severity = draft.severity.unwrap_or(rule.severity);
        Self::of_code(rule.code, severity, object, draft.help(help))
    }

    /// The same under a code that is not of lint.
    pub fn of_code(code: Code, severity: Severity, object: ObjectId, draft: Draft) -> Self {
        let Draft { field, message, help, fix, .. } = draft;
        Self { object, field, code, message, severity, help, targets: Vec::new(), machines: Vec::new(), fix }
    }

    /// The same, as found for a consumer.
    #[must_use]
    pub fn for_target(self, target: Target) -> Self {
        Self { targets: vec![target], ..self }
    }

    /// The same, as found in the document of a machine.
    #[must_use]
    pub fn of_machine(self, machine: impl Into<String>) -> Self {
        Self { machines: vec![machine.into()], ..self }
    }
}

/// Findings that say the same of the same field become one, with the targets and machines of all.
pub fn merge(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort();
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        match merged.last_mut() {
            Some(last) if says_the_same(last, &finding) => {
                last.targets.extend(finding.targets);
                // What holds without a machine holds for all.
                match last.machines.is_empty() || finding.machines.is_empty() {
                    true => last.machines.clear(),
                    false => last.machines.extend(finding.machines),
                }
            }
            _ => merged.push(finding),
        }
    }
    for finding in &mut merged {
        finding.targets.sort();
        finding.targets.dedup();
        finding.machines.sort();
        finding.machines.dedup();
    }
    merged
}

fn says_the_same(one: &Finding, other: &Finding) -> bool {
    let key = |f: &Finding| (f.object, f.code, f.severity);
    key(one) == key(other)
        && one.field == other.field
        && one.message == other.message
        && one.help == other.help
        && one.fix == other.fix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::RULES;

    #[test]
    fn what_is_the_same_for_several_targets_and_machines_is_one_finding() {
        let rule = &RULES[0];
        let finding = |field: &str, target: Target, machine: &str| {
            Finding::of(rule, 3, Draft::new(field, "wrong")).for_target(target).of_machine(machine)
        };
        let merged = merge(vec![
            finding("a", Target::Talos, "m1"),
            finding("b", Target::Talos, "m1"),
            finding("a", Target::Glean, "m2"),
            finding("a", Target::Glean, "m1"),
        ]);
        let short: Vec<_> =
            merged.iter().map(|f| (f.field.as_str(), f.targets.len(), f.machines.clone())).collect();
        let both = vec!["m1".to_owned(), "m2".to_owned()];
        assert_eq!(short, [("a", 2, both), ("b", 1, vec!["m1".to_owned()])]);
    }
}

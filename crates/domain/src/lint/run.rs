//! All rules over all objects, or over one document.

use super::{Check, Finding, MachineAddress, Manifests, NetworkData, ObjectId, Origin, RULES, Rule, Target};

/// Which rules are asked. Tests leave out one to show that it is needed.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    without: Option<&'static str>,
}

impl Default for Rules {
    fn default() -> Self {
        Self::all()
    }
}

impl Rules {
    /// Every rule.
    pub const fn all() -> Self {
        Self { without: None }
    }

    /// Every rule but the one of this code.
    pub const fn without(code: &'static str) -> Self {
        Self { without: Some(code) }
    }

    /// Whether the rule of this code is asked.
    pub fn has(self, code: &str) -> bool {
        self.without != Some(code)
    }

    fn iter(self) -> impl Iterator<Item = &'static Rule> {
        RULES.iter().filter(move |rule| self.has(rule.code.as_str()))
    }
}

/// What the rules about objects find.
pub fn judge_manifests(manifests: &Manifests<'_>, rules: Rules) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules.iter() {
        if let Check::Manifests(check) = rule.check {
            let found = check(manifests);
            findings.extend(found.into_iter().map(|(object, draft)| Finding::of(rule, object, draft)));
        }
    }
    findings
}

/// What the rules about the addresses of all machines find.
pub fn judge_addresses(addresses: &[MachineAddress], rules: Rules) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules.iter() {
        if let Check::Addresses(check) = rule.check {
            let found = check(addresses);
            findings.extend(found.into_iter().map(|(object, draft)| Finding::of(rule, object, draft)));
        }
    }
    findings
}

/// What the rules about documents find in one, for each of the targets. Fields are those of `origin`.
pub fn judge_document(
    document: &NetworkData<'_>,
    targets: &[Target],
    object: ObjectId,
    origin: &Origin<'_>,
    rules: Rules,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in rules.iter() {
        match rule.check {
            Check::Document(check) => {
                findings.extend(check(document).into_iter().map(|draft| Finding::of(rule, object, draft)));
            }
            Check::Consumer(check) => {
                for target in targets {
                    let found = check(document, *target).into_iter();
                    findings.extend(found.map(|draft| Finding::of(rule, object, draft).for_target(*target)));
                }
            }
            Check::Manifests(_) | Check::Addresses(_) | Check::Reader => {}
        }
    }
    for finding in &mut findings {
        if let Origin::Secret(_) = origin {
            finding.message = format!("{}: {}", finding.field, finding.message);
        }
        finding.field = origin.field(&finding.field);
    }
    findings
}

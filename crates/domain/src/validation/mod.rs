//! What the provider's kinds may look like: defaults, refusals, warnings.
//!
//! Takes objects as JSON, because a rule must answer whatever it is given and must see what was written and not what
//! a type made of it. Gives a [`Verdict`]: every wrong field with its path, what was found and the way out. The rules
//! see one object (and what it was before) and nothing else: no lookups, no clock.
//!
//! Objects are those of the stored version, after the schema's defaults; [`v1beta1`] holds the few rules about what
//! only the older version can say. An update that only removes a finalizer, or that touches an object being deleted,
//! is never refused.

mod cluster;
mod data;
mod data_template;
mod defaults;
mod exempt;
mod field;
mod findings;
mod image;
mod inline_range;
mod ip_address;
mod ip_pool;
mod machine;
mod network;
pub(crate) mod node;
mod reference;
mod remediation;
mod rule;
mod selector;
#[cfg(test)]
mod tests;
mod url;
pub mod v1beta1;
mod warnings;

use serde_json::Value;

pub use self::{
    defaults::fill_in,
    field::{FieldError, FieldErrorKind},
    rule::Rule,
};
use self::{findings::Findings, node::Node};
pub(crate) use self::{reference::is_object_name, warnings::repeated_keys};

/// Why an object is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Fields are wrong.
    Invalid(Vec<FieldError>),
    /// The object is refused as a whole by a rule, with a sentence. The Go provider answers so for cluster templates.
    Denied(Rule, String),
}

/// What becomes of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// Why it is refused; none if it is accepted.
    pub refusal: Option<Refusal>,
    /// What its author should know, refused or not.
    pub warnings: Vec<String>,
}

impl From<Findings> for Verdict {
    fn from(findings: Findings) -> Self {
        let mut errors = findings.errors;
        errors.extend(findings.newer);
        let refusal = (!errors.is_empty()).then_some(Refusal::Invalid(errors));
        Self { refusal, warnings: findings.warnings }
    }
}

impl Verdict {
    /// Both verdicts in one.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.refusal = match (self.refusal, other.refusal) {
            (Some(Refusal::Invalid(mut errors)), Some(Refusal::Invalid(more))) => {
                errors.extend(more);
                Some(Refusal::Invalid(errors))
            }
            (ours, theirs) => ours.or(theirs),
        };
        self.warnings.extend(other.warnings);
        self
    }
}

/// Judges an object of the stored version, and what an update makes of `old`. Kinds that are not the provider's are
/// accepted.
pub fn review(kind: &str, old: Option<&Value>, new: &Value) -> Verdict {
    if old.is_some_and(|old| exempt::is_exempt(old, new)) {
        return Verdict::default();
    }
    let object = Node::root(new);
    if kind == "Metal3ClusterTemplate" {
        let refusal =
            cluster::missing_in_template(&object).map(|sentence| Refusal::Denied(Rule::Endpoint, sentence));
        return Verdict { refusal, warnings: Vec::new() };
    }
    match old.map(Node::root) {
        None => judge(kind, None, &object).into(),
        Some(old) => {
            // What was wrong before, by the rules that do not depend on the past.
            let before = judge(kind, Some(&old), &old);
            judge(kind, Some(&old), &object).since(&before).into()
        }
    }
}

fn judge(kind: &str, old: Option<&Node<'_>>, new: &Node<'_>) -> Findings {
    let mut findings = Findings::default();
    let f = &mut findings;
    match (kind, old) {
        ("Metal3Cluster", _) => cluster::check_cluster(new, f),
        ("Metal3Machine", _) => machine::check_machine(new, f),
        ("Metal3MachineTemplate", _) => machine::check_template(new, f),
        ("Metal3DataTemplate", None) => data_template::check_new(new, f),
        ("Metal3DataTemplate", Some(old)) => data_template::check_changed(old, new, f),
        ("Metal3DataClaim", None) => data::check_new_claim(new, f),
        ("Metal3DataClaim", Some(old)) => data::check_changed_claim(old, new, f),
        ("Metal3Data", None) => data::check_new_data(new, f),
        ("Metal3Data", Some(old)) => data::check_changed_data(old, new, f),
        ("Metal3Remediation", _) => remediation::check(&new.at("spec").at("strategy"), f),
        ("Metal3RemediationTemplate", _) => {
            remediation::check(&new.at("spec").at("template").at("spec").at("strategy"), f);
        }
        ("IPPool", None) => ip_pool::check_new(new, f),
        ("IPPool", Some(old)) => ip_pool::check_changed(old, new, f),
        ("IPClaim", None) => ip_address::check_new_claim(new, f),
        ("IPClaim", Some(old)) => ip_address::check_changed_claim(old, new, f),
        ("IPAddress", None) => ip_address::check_new_address(new, f),
        ("IPAddress", Some(old)) => ip_address::check_changed_address(old, new, f),
        _ => {}
    }
    findings
}

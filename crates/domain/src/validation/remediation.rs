//! Metal3Remediation and Metal3RemediationTemplate: how often and how long an unhealthy machine is rebooted.

use super::{FieldError, Rule, findings::Findings, node::Node};

/// The shortest wait between two attempts.
const SHORTEST_TIMEOUT: i64 = 100;
/// The one strategy there is.
pub(super) const REBOOT: &str = "Reboot";

/// Judges a strategy; none is fine.
pub(super) fn check(strategy: &Node<'_>, findings: &mut Findings) {
    if strategy.value().is_none() {
        return;
    }
    let (kind, limit, timeout) =
        (strategy.at("type"), strategy.at("retryLimit"), strategy.at("timeoutSeconds"));
    if kind.text() != Some(REBOOT) {
        let detail = format!("{REBOOT} is the only supported remediation strategy");
        findings.errors.push(FieldError::invalid(
            Rule::Remediation,
            kind.path(),
            kind.text_or_empty(),
            detail,
        ));
    }
    if timeout.int().is_some_and(|seconds| seconds != 0 && seconds < SHORTEST_TIMEOUT) {
        let detail = format!("min duration is {SHORTEST_TIMEOUT} seconds");
        findings.errors.push(FieldError::invalid(Rule::Remediation, timeout.path(), timeout.shown(), detail));
    }
    let retries = limit.int().unwrap_or_default();
    if retries < 1 {
        findings.errors.push(FieldError::invalid(
            Rule::Remediation,
            limit.path(),
            retries,
            "1 is the minimum retry limit",
        ));
    }
}

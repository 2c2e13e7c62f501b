//! `hostSelector`: refused here if no host could ever be judged by it.

use capm3_api::v1beta2::HostSelector;
use serde_json::{Value, json};

use super::{FieldError, Rule, findings::Findings, node::Node};
use crate::host::Selector;

/// Judges every label and expression by itself, so that each wrong one is named.
pub(super) fn check(selector: &Node<'_>, findings: &mut Findings) {
    for (key, node) in selector.at("matchLabels").members() {
        judge(&node, json!({"matchLabels": {key: node.shown()}}), findings);
    }
    for node in selector.at("matchExpressions").items() {
        judge(&node, json!({"matchExpressions": [node.shown()]}), findings);
    }
}

fn judge(node: &Node<'_>, alone: Value, findings: &mut Findings) {
    // What is of another type is the schema's to refuse.
    let Ok(selector) = serde_json::from_value::<HostSelector>(alone) else { return };
    if let Err(error) = Selector::compile(Some(&selector)) {
        let text = error.to_string();
        let mut detail = text.strip_prefix("hostSelector: ").unwrap_or(&text).to_owned();
        if let Some(odd) = text.chars().find(|c| !c.is_ascii()) {
            detail.push_str(&format!(
                "; it contains '{odd}' (U+{:04X}), perhaps pasted from a document",
                u32::from(odd)
            ));
        }
        findings.newer.push(FieldError::invalid(Rule::HostSelector, node.path(), node.shown(), detail));
    }
}

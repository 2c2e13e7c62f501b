//! Which rules of admission a document breaks.
//!
//! Takes a document that the server has refused; gives the code of the rule for each field that the server names. The
//! answer of a server has no place for codes, so the rules are asked once more, in process. Finds nothing where the server
//! judged a change: what was stored before is not known here.

use capm3_admission::{Finding, fill_in, judge};
use serde_json::Value;

/// The code of a rule.
pub(super) type Code = &'static str;

/// Broken rules that no cause of the server's answer was matched with yet.
pub(super) struct BrokenRules(Vec<Finding>);

impl BrokenRules {
    /// The rules that a new object breaks.
    pub(super) fn of(object: &Value) -> Self {
        let mut object = object.clone();
        // What cannot be filled in is refused as it is.
        let _unfilled = fill_in(&mut object);
        Self(judge(None, &object).denial.map(|denial| denial.findings).unwrap_or_default())
    }

    /// The code of the next rule that is broken at a field. The causes of an answer are in the order of the rules.
    pub(super) fn code_of(&mut self, field: &str) -> Option<Code> {
        let at = self.0.iter().position(|finding| finding.field == field)?;
        Some(self.0.remove(at).code.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_rules_at_one_field_are_reported_in_their_order() {
        let pool = json!({"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "metadata": {"name": "p", "namespace": "n"},
            "spec": {"namePrefix": "p", "pools": [{"start": "10.0.0.1", "end": "10.0.0.9"}],
                "preAllocations": {"a": "10.0.0.2", "b": "10.0.0.2", "c": "10.1.0.1"}}});
        let mut rules = BrokenRules::of(&pool);
        assert_eq!(rules.code_of("spec.preAllocations.b"), Some("CAPM3-A062"));
        assert_eq!(rules.code_of("spec.preAllocations"), Some("CAPM3-A063"));
        assert_eq!(rules.code_of("spec.preAllocations"), None, "each is reported once");
    }
}

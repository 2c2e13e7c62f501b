//! A selector whose expressions are one map.

use super::owners::descend;

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, RawObject, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L003"),
    title: "matchExpressions is a map instead of a list",
    severity: Severity::Error,
    why: "API servers refuse it. Older documents have it so, and `capm3 migrate` corrects it.",
    mend: "write the expression as an item of a list",
    example: Example {
        wrong: r#"hostSelector:
  matchExpressions: {key: rack, operator: in, values: [rack1]}"#,
        right: r#"hostSelector:
  matchExpressions:
  - {key: rack, operator: in, values: [rack1]}"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let selector = |kind: &str, path: &[&str]| {
        let of = |object: &RawObject<'_>| Some((object.id, judge(&descend(&object.root(), path))?));
        manifests.of_kind(kind).filter_map(of).collect::<Vec<_>>()
    };
    let mut drafts = selector("Metal3Machine", &["spec", "hostSelector", "matchExpressions"]);
    let of_template = ["spec", "template", "spec", "hostSelector", "matchExpressions"];
    drafts.extend(selector("Metal3MachineTemplate", &of_template));
    drafts
}

fn judge(expressions: &Node<'_>) -> Option<Draft> {
    let map = expressions.value().filter(|value| value.is_object())?;
    let draft =
        Draft::new(expressions.path(), "matchExpressions is a map, but there may be several expressions");
    // JSON is YAML too, on one line.
    Some(draft.help(format!("write it as a list: matchExpressions: [{map}]")))
}

//! What an API server would refuse. Who asks the server reports it.

use crate::{
    lint::{Check, Example, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L002"),
    title: "an API server would refuse the object",
    severity: Severity::Error,
    why: "The object does not fit the schema of its kind: a field is unknown or missing, or a value is not allowed. Where a rule of \
          admission refuses it, that rule's own code is shown, such as CAPM3-A030; see troubleshooting.md.",
    mend: "correct the field as the message says",
    example: Example {
        wrong: "spec:\n  hostSelector:\n    matchExpressions: {key: rack, operator: in, values: [rack1]}",
        right: "spec:\n  hostSelector:\n    matchExpressions:\n    - {key: rack, operator: in, values: [rack1]}",
    },
    check: Check::Reader,
};

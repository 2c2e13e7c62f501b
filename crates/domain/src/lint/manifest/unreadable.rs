//! Text that is no object. Who reads the files reports it.

use crate::{
    lint::{Check, Example, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L001"),
    title: "a document cannot be read",
    severity: Severity::Error,
    why: "A document that is not YAML, or that does not say which object it is, is passed over: nothing in it is checked.",
    mend: "correct the text; every object needs apiVersion, kind and metadata.name",
    example: Example {
        wrong: "kind: IPPool\nmetadata:\n  name: no",
        right: "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata:\n  name: \"no\"",
    },
    check: Check::Reader,
};

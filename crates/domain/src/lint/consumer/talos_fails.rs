//! Network data that costs a Talos node its whole configuration.

use super::fatal;
use crate::{
    consumers::talos,
    lint::{Check, Draft, Example, NetworkData, Rule, Severity, Target},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L065"),
    title: "Talos cannot read the network data",
    severity: Severity::Error,
    why: "Talos reads the document as a whole: one bond mode, gateway or name server that it does not know \
          makes it ignore all of it.",
    mend: "correct the field",
    example: Example {
        wrong: "services:\n  dns: [ns1.example.org]",
        right: "services:\n  dns: [192.0.2.53]",
    },
    check: Check::Consumer(check),
};

fn check(data: &NetworkData<'_>, target: Target) -> Vec<Draft> {
    match target {
        Target::Talos => fatal(talos::configure(data.document, data.nics).faults),
        _ => Vec::new(),
    }
}

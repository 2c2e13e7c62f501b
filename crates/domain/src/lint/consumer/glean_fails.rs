//! Network data that glean ends on with an error.

use super::fatal;
use crate::{
    consumers::glean,
    lint::{Check, Draft, Example, NetworkData, Rule, Severity, Target},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L063"),
    title: "glean ends with an error",
    severity: Severity::Error,
    why: "glean configures ramdisks and small images. It ends with an error at a link without MAC or with a \
          reference that leads nowhere, and the node gets no network of the document.",
    mend: "give every NIC and bond a MAC, and an IPv4 network to a link that has static IPv6",
    example: Example {
        wrong: "ethernets:\n- {id: eno1, type: phy, name: eno1}",
        right: "ethernets:\n- {id: eno1, type: phy, macAddress: {fromHostInterface: eno1}}",
    },
    check: Check::Consumer(check),
};

fn check(data: &NetworkData<'_>, target: Target) -> Vec<Draft> {
    match target {
        Target::Glean => fatal(glean::faults(data.document)),
        _ => Vec::new(),
    }
}

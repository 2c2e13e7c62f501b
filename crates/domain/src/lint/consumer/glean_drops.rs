//! What glean leaves out of the network data.

use super::others;
use crate::{
    consumers::glean,
    lint::{Check, Draft, Example, NetworkData, Rule, Severity, Target},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L064"),
    title: "glean drops a part of the network data",
    severity: Severity::Warning,
    why: "glean names bonds after their id, never renames NICs, knows no DHCPv6, sets no MTU and reads DNS at \
          the top level only. The rest is left out without an error.",
    mend: "give bonds an id that is their name, and put DNS into the services of the template",
    example: Example {
        wrong: "bonds:\n- {id: lag, name: bond0, bondMode: 802.3ad, bondLinks: [eno1, eno2]}",
        right: "bonds:\n- {id: bond0, name: bond0, bondMode: 802.3ad, bondLinks: [eno1, eno2]}",
    },
    check: Check::Consumer(check),
};

fn check(data: &NetworkData<'_>, target: Target) -> Vec<Draft> {
    match target {
        Target::Glean => others(glean::faults(data.document)),
        _ => Vec::new(),
    }
}

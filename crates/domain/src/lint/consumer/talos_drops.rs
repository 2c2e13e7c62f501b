//! What Talos leaves out of the network data.

use super::others;
use crate::{
    consumers::talos,
    lint::{Check, Draft, Example, NetworkData, Rule, Severity, Target},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L066"),
    title: "Talos drops a part of the network data",
    severity: Severity::Warning,
    why: "Talos finds NICs by their MAC only, numbers bonds itself, and reads few bond options. The rest is \
          left out without an error.",
    mend: "leave the option out, or set it in the machine configuration of Talos",
    example: Example {
        wrong: "bonds:\n- {id: bond0, bondMode: 802.3ad, bondLinks: [eno1, eno2], parameters: [{name: min_links, value: 1}]}",
        right: "bonds:\n- {id: bond0, bondMode: 802.3ad, bondLinks: [eno1, eno2]}",
    },
    check: Check::Consumer(check),
};

fn check(data: &NetworkData<'_>, target: Target) -> Vec<Draft> {
    match target {
        Target::Talos => others(talos::configure(data.document, data.nics).faults),
        _ => Vec::new(),
    }
}

//! Network data that the schema of Nova refuses, by which Ironic checks what its ramdisk gets.

use crate::{
    lint::{Check, Draft, Example, NetworkData, Rule, Severity, Target},
    nova,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L067"),
    title: "the schema of Nova refuses the network data",
    severity: Severity::Error,
    why: "Ironic checks the network data of its ramdisk (`preprovisioningNetworkDataName`) by the schema of \
          Nova and refuses what does not fit. What a template renders never does, because it has no \
          `network_id`; the config drive of a node is not checked.",
    mend: "write the Secret of the ramdisk by hand, with a network_id in each network and a MAC in each link",
    example: Example {
        wrong: "networks:\n- {id: lan, link: eno1, type: ipv4_dhcp}",
        right: "networks:\n- {id: lan, link: eno1, type: ipv4_dhcp, network_id: lan}",
    },
    check: Check::Consumer(check),
};

fn check(data: &NetworkData<'_>, target: Target) -> Vec<Draft> {
    match target {
        Target::Ironic | Target::Nova => nova::faults(data.document)
            .into_iter()
            .map(|fault| {
                let message = format!("the schema refuses it: it {}", fault.reason);
                Draft::new(fault.place, message)
            })
            .collect(),
        _ => Vec::new(),
    }
}

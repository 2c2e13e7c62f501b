//! What the document asks for and cloud-init does not write.

use super::{outcome, place::of_loss};
use crate::{
    cloud_init::{Loss, Lost},
    lint::{Check, Draft, Example, NetworkData, Rule, Severity, Target},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L061"),
    title: "cloud-init drops a part of the network data",
    severity: Severity::Error,
    why: "Each renderer of cloud-init writes only what it knows, and leaves the rest out without an error: a \
          bond comes up without its mode, or not at all, and routes or name servers are not there.",
    mend: "use a renderer or a version of cloud-init that keeps it, or express it in another way; `capm3 render \
          --as RENDERER@VERSION --side-by-side` shows what is kept",
    example: Example {
        wrong: "# with netplan, routes and DNS of a DHCP network are dropped\nipv4DHCP:\n- id: lan\n  link: eno1\n  routes: [{network: 10.9.0.0, prefix: 16, gateway: {string: 10.0.0.9}}]",
        right: "ipv4:\n- id: lan\n  link: eno1\n  ipAddressFromIPPool: lan\n  routes: [{network: 10.9.0.0, prefix: 16, gateway: {string: 10.0.0.9}}]",
    },
    check: Check::Consumer(check),
};

/// The MTU of a device that nobody gave one.
const USUAL_MTU: &str = "1500";

fn check(data: &NetworkData<'_>, target: Target) -> Vec<Draft> {
    let lost = outcome(data, target).map(|outcome| outcome.lost).unwrap_or_default();
    let felt = lost.iter().filter(|loss| !is_without_effect(data, loss));
    felt.map(|loss| {
        let draft = Draft::new(of_loss(data, loss), loss.to_string());
        if costs_reachability(&loss.what) { draft } else { draft.warning() }
    })
    .collect()
}

/// What the kernel does anyway: a VLAN has the MAC and the MTU of its parent, a bond the usual MTU.
fn is_without_effect(data: &NetworkData<'_>, loss: &Loss) -> bool {
    let parent_has = |key: &str| {
        let parent = data.link(&loss.link).and_then(|vlan| data.link(vlan.at("vlan_link").text()?));
        parent.is_some_and(|parent| {
            parent.at(key).shown().to_string().trim_matches('"').eq_ignore_ascii_case(&loss.value)
        })
    };
    match loss.what {
        Lost::VlanMac => parent_has("ethernet_mac_address"),
        Lost::VlanMtu => parent_has("mtu"),
        Lost::BondMtu => loss.value == USUAL_MTU,
        _ => false,
    }
}

/// Whether the node cannot be reached, or cannot reach others, for want of it. The rest costs speed or comfort.
fn costs_reachability(what: &Lost) -> bool {
    !matches!(
        what,
        Lost::BondMac
            | Lost::BondMtu
            | Lost::BondOption(_)
            | Lost::BondOptionChanged(_)
            | Lost::Dns
            | Lost::GuessedPrefix(_)
            | Lost::TopLevelDns
            | Lost::VlanMac
            | Lost::VlanMtu
    )
}

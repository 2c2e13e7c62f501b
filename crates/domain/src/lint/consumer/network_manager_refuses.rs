//! Profiles that cloud-init writes and NetworkManager does not take.

use super::outcome;
use crate::{
    cloud_init::ProfileFault,
    lint::{Check, Draft, Example, NetworkData, Rule, Severity, Target},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L062"),
    title: "NetworkManager does not take what cloud-init writes",
    severity: Severity::Error,
    why: "cloud-init writes one profile for each link. NetworkManager refuses one whose settings contradict \
          each other, so that link stays down; a setting with a value that it does not know is left out \
          without an error.",
    mend: "correct the field that leads to the setting",
    example: Example {
        wrong: "bonds:\n- {id: bond0, bondMode: 802.3ad, bondLinks: [eno1, eno2], parameters: [{name: primary, value: eno1}]}",
        right: "bonds:\n- {id: bond0, bondMode: active-backup, bondLinks: [eno1, eno2], parameters: [{name: primary, value: eno1}]}",
    },
    check: Check::Consumer(check),
};

fn check(data: &NetworkData<'_>, target: Target) -> Vec<Draft> {
    let Some(outcome) = outcome(data, target).filter(|outcome| outcome.refused.is_empty()) else {
        return Vec::new();
    };
    let faults = outcome.profile_faults.iter();
    faults.map(|fault| draft(data, &outcome.devices, fault)).collect()
}

fn draft(data: &NetworkData<'_>, devices: &[String], fault: &ProfileFault) -> Draft {
    let at = devices.iter().position(|device| *device == fault.interface);
    let Some(link) = at.and_then(|at| data.links().into_iter().nth(at)) else {
        return Draft::new("links", fault.to_string());
    };
    let option = fault.key.as_deref().and_then(|key| key.strip_prefix("bond."));
    let key = match (option, fault.key.as_deref()) {
        (Some(option), _) => format!("bond_{option}"),
        (None, Some("vlan.id")) => "vlan_id".to_owned(),
        (None, Some("ethernet.mtu")) => "mtu".to_owned(),
        _ => return Draft::new(link.path(), fault.to_string()),
    };
    let draft = Draft::new(link.at(&key).path(), fault.to_string());
    if option.is_some() { draft.warning() } else { draft }
}

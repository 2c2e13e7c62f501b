//! Whether a Machine is made from what its owner asks for now. Takes the Machine and its owner, gives the reasons for
//! which it is not, in Cluster API's words.

use capm3_api::neighbours::ContractRef;

use crate::kinds::{KubeadmControlPlane, Machine, MachineDeployment, MachineSet, MachineSpec};

/// What an owner says of a Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Freshness {
    pub(super) is_current: bool,
    /// Reasons, one per line.
    pub(super) message: String,
}

impl Freshness {
    fn new(is_current: bool, reasons: &[String]) -> Self {
        let lines: Vec<String> = reasons.iter().map(|reason| format!("* {reason}")).collect();
        Self { is_current, message: lines.join("\n") }
    }
}

/// A Machine of a control plane; `source` is the template from which its infrastructure was made.
pub(super) fn of_control_plane(
    control_plane: &KubeadmControlPlane,
    machine: &Machine,
    source: Option<&str>,
) -> Freshness {
    let mut reasons = Vec::new();
    reasons.extend(differs("Version", &machine.spec.version, &control_plane.spec.version));
    if source.is_some_and(|name| Some(name) != control_plane.template_name()) {
        reasons.push("Metal3Machine is not up-to-date".to_owned());
    }
    Freshness::new(reasons.is_empty(), &reasons)
}

/// The Machines of a MachineSet of a deployment.
pub(super) fn of_set(deployment: &MachineDeployment, set: &MachineSet) -> Freshness {
    let (now, wanted) = (&set.spec.template.spec, &deployment.spec.template.spec);
    // Fields that change without a new machine do not count.
    let essence = |spec: &MachineSpec| MachineSpec { rest: Default::default(), ..spec.clone() };
    let mut reasons = Vec::new();
    reasons.extend(differs("Version", &now.version, &wanted.version));
    if now.bootstrap != wanted.bootstrap {
        reasons.push(part(wanted.bootstrap.config_ref.as_ref(), "spec.bootstrap.dataSecretName"));
    }
    if now.infrastructure_ref != wanted.infrastructure_ref {
        reasons.push(part(wanted.infrastructure_ref.as_ref(), "Metal3Machine"));
    }
    reasons.extend(differs("Failure domain", &now.failure_domain, &wanted.failure_domain));
    Freshness::new(essence(now) == essence(wanted), &reasons)
}

fn differs(what: &str, now: &Option<String>, wanted: &Option<String>) -> Option<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "nil".to_owned());
    (now != wanted).then(|| format!("{what} {}, {} required", text(now), text(wanted)))
}

/// What is made from a template is named like it.
fn part(template: Option<&ContractRef>, or: &str) -> String {
    let kind = template.and_then(|reference| reference.kind.as_deref());
    let kind = kind.map_or(or, |kind| kind.strip_suffix("Template").unwrap_or(kind));
    format!("{kind} is not up-to-date")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(version: &str, template: &str, config: &str, domain: Option<&str>) -> Value {
        json!({"clusterName": "c", "version": version, "failureDomain": domain,
            "bootstrap": {"configRef": {"kind": "KubeadmConfigTemplate", "name": config}},
            "infrastructureRef": {"kind": "Metal3MachineTemplate", "name": template}})
    }

    #[test]
    fn a_set_of_another_template_is_reported_with_every_difference() {
        let wanted = spec("v2", "t2", "k2", Some("rack2"));
        let deployment: MachineDeployment =
            serde_json::from_value(json!({"spec": {"template": {"spec": wanted}}})).unwrap();
        let mut timeouts = wanted.clone();
        timeouts["minReadySeconds"] = json!(5);
        let table = [
            (wanted, true, ""),
            (timeouts, true, ""),
            (spec("v1", "t2", "k2", Some("rack2")), false, "* Version v1, v2 required"),
            (spec("v2", "t1", "k2", Some("rack2")), false, "* Metal3Machine is not up-to-date"),
            (spec("v2", "t2", "k1", Some("rack2")), false, "* KubeadmConfig is not up-to-date"),
            (
                spec("v1", "t1", "k2", None),
                false,
                "* Version v1, v2 required\n* Metal3Machine is not up-to-date\n* Failure domain nil, rack2 required",
            ),
        ];
        for (now, is_current, message) in table {
            let set: MachineSet =
                serde_json::from_value(json!({"spec": {"template": {"spec": now}}})).unwrap();
            assert_eq!(
                of_set(&deployment, &set),
                Freshness { is_current, message: message.to_owned() },
                "{now}"
            );
        }
    }

    #[test]
    fn a_machine_of_a_control_plane_is_judged_by_version_and_template() {
        let control_plane: KubeadmControlPlane = serde_json::from_value(json!({"spec": {"version": "v2",
            "machineTemplate": {"spec": {"infrastructureRef": {"name": "t2"}}}}}))
        .unwrap();
        let table = [
            ("v2", Some("t2"), true, ""),
            ("v2", None, true, ""),
            ("v1", Some("t2"), false, "* Version v1, v2 required"),
            ("v2", Some("t1"), false, "* Metal3Machine is not up-to-date"),
            ("v1", Some("t1"), false, "* Version v1, v2 required\n* Metal3Machine is not up-to-date"),
        ];
        for (version, source, is_current, message) in table {
            let machine: Machine = serde_json::from_value(json!({"spec": {"version": version}})).unwrap();
            let expected = Freshness { is_current, message: message.to_owned() };
            assert_eq!(of_control_plane(&control_plane, &machine, source), expected);
        }
    }
}

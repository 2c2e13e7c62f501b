//! What a machine asks of a host.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{CAPI_GROUP, CONTROL_PLANE_GROUP, Machine, MachineSet},
    v1beta2::Metal3Machine,
    vocabulary::label,
};
use sha2::{Digest, Sha256};

use super::{
    consumer::group_of,
    label::MAX_LENGTH,
    selector::{Selector, SelectorError},
};

/// What a machine asks of a host: made once per decision, asked for every host.
///
/// ```
/// use capm3_api::{neighbours::Machine, v1beta2::Metal3Machine};
/// use capm3_domain::host::{HostRequest, reuse_label};
///
/// let (metal3_machine, machine) = (Metal3Machine::default(), Machine::default());
/// let request = HostRequest::new(&metal3_machine, &machine, reuse_label(&machine, None));
/// assert_eq!(request.reuse_label, None);
/// ```
#[derive(Debug, Clone)]
pub struct HostRequest<'a> {
    /// The machine that asks.
    pub machine: &'a Metal3Machine,
    /// Name of its Cluster.
    pub cluster_name: &'a str,
    /// The reservation that this machine may use, from [`reuse_label`].
    pub reuse_label: Option<String>,
    /// The compiled `hostSelector`, or why it cannot be used.
    pub selector: Result<Selector, SelectorError>,
    /// How many machines of the same owner wait for hosts that are reserved for it, and go first.
    pub ahead: usize,
    /// Hosts that belong to other machines whatever they say, and these machines.
    pub of_others: Option<&'a BTreeMap<String, String>>,
}

impl<'a> HostRequest<'a> {
    /// The request of a machine.
    pub fn new(machine: &'a Metal3Machine, capi: &'a Machine, reuse_label: Option<String>) -> Self {
        Self {
            machine,
            cluster_name: &capi.spec.cluster_name,
            reuse_label,
            selector: Selector::compile(machine.spec.host_selector.as_ref()),
            ahead: 0,
            of_others: None,
        }
    }

    /// The same behind others in the line for reserved hosts.
    #[must_use]
    pub fn behind(self, ahead: usize) -> Self {
        Self { ahead, ..self }
    }

    /// The same that leaves these hosts to the machines they belong to.
    pub fn sparing(self, of_others: &'a BTreeMap<String, String>) -> Self {
        Self { of_others: Some(of_others), ..self }
    }

    /// The machine that a host belongs to before it belongs to the one that asks.
    pub(super) fn other_owner(&self, host: &str) -> Option<&'a str> {
        self.of_others?.get(host).map(String::as_str)
    }

    /// The failure domain asked for.
    pub fn failure_domain(&self) -> Option<&'a str> {
        let domain = self.machine.spec.failure_domain.as_deref();
        domain.filter(|domain| !domain.is_empty())
    }
}

/// Label value under which hosts are reserved for the next machine of the same owner: `cp-<control plane>`, or
/// `md-<MachineDeployment>` by way of the Machine's MachineSet. None if there is no such owner. A name too long for a
/// label is shortened with a hash, alike for reserving and for matching.
///
/// ```
/// use capm3_domain::host::reuse_label;
///
/// let machine = serde_json::from_str(r#"{"metadata": {
///     "labels": {"cluster.x-k8s.io/control-plane": ""},
///     "ownerReferences": [{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
///                          "name": "kcp", "uid": "u"}]}}"#).unwrap();
/// assert_eq!(reuse_label(&machine, None).as_deref(), Some("cp-kcp"));
/// ```
pub fn reuse_label(machine: &Machine, machine_set: Option<&MachineSet>) -> Option<String> {
    if machine.metadata.label(label::CONTROL_PLANE).is_some() {
        let name = control_plane_name(machine)?;
        return Some(control_plane_label(name));
    }
    let set = owning_set(machine, machine_set?)?;
    let deployment = set.metadata.owner(CAPI_GROUP, "MachineDeployment")?;
    Some(deployment_label(&deployment.name))
}

/// Label value of hosts that are reserved for machines of a control plane.
pub fn control_plane_label(name: &str) -> String {
    shortened(format!("cp-{name}"))
}

/// Label value of hosts that are reserved for machines of a MachineDeployment.
pub fn deployment_label(name: &str) -> String {
    shortened(format!("md-{name}"))
}

/// Name of the MachineDeployment that books hosts with a label; none where the label may have only a part of the name.
pub fn deployment_of_label(label: &str) -> Option<&str> {
    label.strip_prefix("md-").filter(|_| label.len() < MAX_LENGTH)
}

/// Name of the first owner in the control-plane group, of any kind. An owner that cannot be read makes the whole
/// list doubtful: no reservation then.
fn control_plane_name(machine: &Machine) -> Option<&str> {
    for owner in machine.metadata.owner_references.iter().flatten() {
        if group_of(&owner.api_version)? == CONTROL_PLANE_GROUP {
            return Some(&owner.name);
        }
    }
    None
}

/// The MachineSet, if it is the one that owns the Machine and not a later one of the same name.
fn owning_set<'a>(machine: &Machine, set: &'a MachineSet) -> Option<&'a MachineSet> {
    let owner = machine.metadata.owner(CAPI_GROUP, "MachineSet")?;
    let same_name = owner.name == set.metadata.name_str();
    let same_uid = owner.uid.is_empty() || owner.uid == set.metadata.uid_str();
    (same_name && same_uid).then_some(set)
}

fn shortened(value: String) -> String {
    if value.len() <= MAX_LENGTH {
        return value;
    }
    let digest = Sha256::digest(value.as_bytes());
    let hash: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let room = MAX_LENGTH - hash.len() - 1;
    let kept: String = value.chars().take(room).collect();
    format!("{kept}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_its_deployment_unless_the_name_was_too_long() {
        for (length, expected) in [(1, true), (59, true), (60, false), (61, false), (200, false)] {
            let name = "x".repeat(length);
            let label = deployment_label(&name);
            assert_eq!(deployment_of_label(&label), expected.then_some(name.as_str()), "{length}");
        }
        assert_eq!(deployment_of_label("cp-a"), None);
    }

    fn machine(control_plane: bool, owners: serde_json::Value) -> Machine {
        let labels = if control_plane {
            serde_json::json!({"cluster.x-k8s.io/control-plane": ""})
        } else {
            serde_json::json!({})
        };
        serde_json::from_value(serde_json::json!({"metadata": {"labels": labels, "ownerReferences": owners}}))
            .unwrap()
    }

    fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> serde_json::Value {
        serde_json::json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid})
    }

    fn set(uid: &str, owners: serde_json::Value) -> MachineSet {
        serde_json::from_value(
            serde_json::json!({"metadata": {"name": "ms", "uid": uid, "ownerReferences": owners}}),
        )
        .unwrap()
    }

    #[test]
    fn a_control_plane_is_any_kind_of_its_group() {
        let rke = owner("controlplane.cluster.x-k8s.io/v1alpha1", "RKE2ControlPlane", "rke", "u");
        let odd = owner("a/b/c", "X", "y", "u");
        let other = owner("example.com/v1", "X", "y", "u");
        let table = [
            (serde_json::json!([rke]), Some("cp-rke")),
            (serde_json::json!([other, rke]), Some("cp-rke")),
            (serde_json::json!([other]), None),
            (serde_json::json!([odd, rke]), None),
            (serde_json::json!([]), None),
        ];
        for (owners, expected) in table {
            let label = reuse_label(&machine(true, owners.clone()), None);
            assert_eq!(label.as_deref(), expected, "{owners}");
        }
    }

    #[test]
    fn a_worker_is_known_by_its_deployment() {
        let md = serde_json::json!([owner("cluster.x-k8s.io/v1alpha4", "MachineDeployment", "md", "d")]);
        let by_set = serde_json::json!([owner("cluster.x-k8s.io/v1beta1", "MachineSet", "ms", "u")]);
        let other_name = serde_json::json!([owner("cluster.x-k8s.io/v1beta1", "MachineSet", "x", "u")]);
        let table = [
            (by_set.clone(), Some(set("u", md.clone())), Some("md-md")),
            (by_set.clone(), Some(set("later", md.clone())), None),
            (by_set.clone(), Some(set("u", serde_json::json!([]))), None),
            (by_set, None, None),
            (other_name, Some(set("u", md.clone())), None),
            (serde_json::json!([]), Some(set("u", md)), None),
        ];
        for (owners, set, expected) in table {
            let label = reuse_label(&machine(false, owners), set.as_ref());
            assert_eq!(label.as_deref(), expected);
        }
    }

    #[test]
    fn a_long_name_becomes_a_valid_label_that_stays_different() {
        let label = |name: &str| {
            let kcp = owner("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", name, "u");
            reuse_label(&machine(true, serde_json::json!([kcp])), None).unwrap()
        };
        let (a, b) = (label(&format!("{}a", "x".repeat(80))), label(&format!("{}b", "x".repeat(80))));
        assert_eq!(a.len(), 63);
        assert_ne!(a, b);
        let sixty = "x".repeat(60);
        assert_eq!(label(&sixty), format!("cp-{sixty}"));
    }
}

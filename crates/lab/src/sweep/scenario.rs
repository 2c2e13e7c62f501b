//! The scenarios in which the provider is cut off: what is there before, and what people do then.

use capm3_engine::{ApiError, ObjectKey, ResourceKind};
use serde_json::{Value, json};

use super::{
    racks::{self, CLUSTER, NAMESPACE, Size, racks},
    remediation::{self, Remediation},
};
use crate::{
    Lab, LabError, Options,
    invariants::{losses, mix_ups},
    manifests::{Manifest, ManifestError},
    moving::{MoveError, move_cluster},
    report::report,
};

/// A scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// Fifteen machines in three racks come up from nothing.
    ThreeRacksUp,
    /// Every machine is replaced on the host that it has, one after the other.
    RollingUpgrade,
    /// The cluster goes.
    DeleteCluster,
    /// The cluster is paused, moved to another management cluster, and goes on there.
    PauseMoveUnpause,
    /// A node hangs and is power-cycled; its workload cluster supports the out-of-service taint.
    RemediationWithTaint,
    /// A node hangs and is power-cycled; its workload cluster does not support the taint, so the Node is deleted.
    RemediationWithoutTaint,
    /// A node is dead: its host is marked as unhealthy, and its Machine is replaced.
    RemediationExhausted,
}

/// What could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The manifests are broken.
    #[error("the scenario's manifests cannot be read")]
    Manifests(#[from] ManifestError),
    /// The server refused a manifest.
    #[error("the scenario's manifests were refused")]
    Lab(#[from] LabError),
    /// The cluster could not be moved.
    #[error("the cluster could not be moved")]
    Move(#[from] MoveError),
    /// The server refused a step.
    #[error("a step of the scenario was refused")]
    Step(#[from] ApiError),
    /// The worker that is to fail has no Node.
    #[error("no worker of {0} has a Node")]
    NoNode(&'static str),
}

impl Scenario {
    /// Every scenario.
    pub const ALL: [Self; 7] = [
        Self::ThreeRacksUp,
        Self::RollingUpgrade,
        Self::DeleteCluster,
        Self::PauseMoveUnpause,
        Self::RemediationWithTaint,
        Self::RemediationWithoutTaint,
        Self::RemediationExhausted,
    ];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThreeRacksUp => "three-racks-up",
            Self::RollingUpgrade => "rolling-upgrade",
            Self::DeleteCluster => "delete-cluster",
            Self::PauseMoveUnpause => "pause-move-unpause",
            Self::RemediationWithTaint => "remediation-with-taint",
            Self::RemediationWithoutTaint => "remediation-without-taint",
            Self::RemediationExhausted => "remediation-exhausted",
        }
    }

    /// The scenario of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    fn size(self) -> Size {
        let workers = match self {
            Self::ThreeRacksUp | Self::DeleteCluster => 4,
            Self::RollingUpgrade => 2,
            _ => 1,
        };
        Size { workers }
    }

    /// Which remediation the scenario is about.
    pub(super) fn remediation(self) -> Option<Remediation> {
        match self {
            Self::RemediationWithTaint => Some(Remediation::WithTaint),
            Self::RemediationWithoutTaint => Some(Remediation::WithoutTaint),
            Self::RemediationExhausted => Some(Remediation::Exhausted),
            _ => None,
        }
    }

    /// What is there at the start.
    pub(super) fn manifests(self) -> Result<Vec<Manifest>, ManifestError> {
        let mut manifests = racks(self.size())?;
        if let Some(remediation) = self.remediation() {
            manifests.extend(remediation.health_check()?);
        }
        Ok(manifests)
    }

    /// What is missing of the end that people want.
    pub(super) fn missing(self, lab: &Lab) -> Option<String> {
        let wanted = if self == Self::DeleteCluster { 0 } else { self.size().machines() };
        let ready = report(lab, 0).machines.iter().filter(|machine| machine.ready).count();
        (ready != wanted).then(|| format!("{ready} machines are ready instead of {wanted}"))
    }

    /// Whether everything is up before the scenario begins.
    pub(super) fn starts_up(self) -> bool {
        self != Self::ThreeRacksUp
    }

    /// What happens, each step after the one before has been waited out.
    pub(super) fn steps(self) -> &'static [Step] {
        match self {
            Self::ThreeRacksUp => &[Step::Apply],
            Self::RollingUpgrade => &[Step::Upgrade],
            Self::DeleteCluster => &[Step::Delete],
            Self::PauseMoveUnpause => &[Step::Pause(true), Step::Move, Step::Pause(false)],
            Self::RemediationWithTaint => &[Step::Fail(Remediation::WithTaint)],
            Self::RemediationWithoutTaint => &[Step::Fail(Remediation::WithoutTaint)],
            Self::RemediationExhausted => &[Step::Fail(Remediation::Exhausted)],
        }
    }

    /// What at the end must be as it was.
    pub(super) fn keeps(self) -> Keeps {
        match self {
            Self::ThreeRacksUp | Self::DeleteCluster => Keeps::Nothing,
            Self::RollingUpgrade => Keeps::Hosts,
            Self::PauseMoveUnpause | Self::RemediationWithTaint | Self::RemediationWithoutTaint => {
                Keeps::Everything
            }
            Self::RemediationExhausted => Keeps::AllButOne,
        }
    }

    /// Takes one step in a lab that was started with `options`. A move ends in another lab; gives what must not have
    /// been in the one that was left.
    pub(super) async fn take(
        self,
        step: Step,
        lab: &mut Lab,
        options: &Options,
    ) -> Result<Vec<String>, ScenarioError> {
        let cluster = capi("Cluster", "clusters");
        match step {
            Step::Apply => lab.apply(&self.manifests()?).await?,
            Step::Upgrade => upgrade(lab, &self.manifests()?).await?,
            Step::Delete => {
                lab.client().delete(&cluster, &key(CLUSTER), None).await?;
            }
            Step::Pause(paused) => {
                patch(lab, &cluster, CLUSTER, json!({"spec": {"paused": paused}})).await?;
            }
            Step::Fail(remediation) => remediation::fail(lab, remediation).await?,
            Step::Move => {
                // Another seed, so that no uid there is one of here.
                let next = Lab::start(&Options { seed: options.seed + 1, ..options.clone() }).await?;
                move_cluster(lab, &next, &key(CLUSTER)).await?;
                let left = std::mem::replace(lab, next);
                return Ok([mix_ups(left.server()), losses(left.server())].concat());
            }
        }
        Ok(Vec::new())
    }
}

/// What a scenario must leave as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    /// It makes or ends everything.
    Nothing,
    /// The machines are new ones on the hosts of the old; hosts to spare are never touched.
    Hosts,
    /// Everything is where it was, and nothing is provisioned again.
    Everything,
    /// The same, but that one machine is replaced by another one on another host.
    AllButOne,
}

/// Something that people do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Applies the manifests.
    Apply,
    /// A new version for every machine.
    Upgrade,
    /// Deletes the cluster.
    Delete,
    /// Pauses the cluster, or ends the pause.
    Pause(bool),
    /// Moves it to another management cluster.
    Move,
    /// Makes the kubelet of a worker fail.
    Fail(Remediation),
}

impl std::fmt::Display for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(NAMESPACE, name)
}

fn kind(group: &str, kind: &str, plural: &str) -> ResourceKind {
    let (version, kind) = ("v1beta2".to_owned(), kind.to_owned());
    ResourceKind { group: group.to_owned(), version, kind, plural: plural.to_owned() }
}

fn capi(name: &str, plural: &str) -> ResourceKind {
    kind("cluster.x-k8s.io", name, plural)
}

async fn patch(lab: &Lab, kind: &ResourceKind, name: &str, patch: Value) -> Result<(), ScenarioError> {
    lab.patch(kind, &key(name), &patch).await?;
    Ok(())
}

/// A new version and new templates for the control plane and every deployment.
async fn upgrade(lab: &Lab, manifests: &[Manifest]) -> Result<(), ScenarioError> {
    lab.apply(&racks::next_templates(manifests)).await?;
    let reference = |name: &str| racks::reference_to(&racks::next_name(name));
    let control_plane = kind("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "kubeadmcontrolplanes");
    let change = json!({"spec": {"version": "v1.36.0",
        "machineTemplate": {"spec": {"infrastructureRef": reference("control-plane")}}}});
    patch(lab, &control_plane, "control-plane", change).await?;
    for name in racks::deployments() {
        let spec = json!({"version": "v1.36.0", "infrastructureRef": reference(&name)});
        let change = json!({"spec": {"template": {"spec": spec}}});
        patch(lab, &capi("MachineDeployment", "machinedeployments"), &name, change).await?;
    }
    Ok(())
}

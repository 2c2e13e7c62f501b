//! The stories in which the provider is cut off: what is there before, and what people do then.

use capm3_engine::{ApiError, ObjectKey, ResourceKind};
use serde_json::{Value, json};

use super::racks::{self, CLUSTER, NAMESPACE, Size, racks};
use crate::{
    Lab, LabError,
    manifests::{Manifest, ManifestError},
    report::report,
};

/// A story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scenario {
    /// Fifteen machines in three racks come up from nothing.
    ThreeRacksUp,
    /// Every machine is replaced on the host that it has, one after the other.
    RollingUpgrade,
    /// The cluster goes.
    DeleteCluster,
    /// The cluster is paused and goes on.
    PauseUnpause,
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
    /// The server refused a step.
    #[error("a step of the scenario was refused")]
    Step(#[from] ApiError),
}

impl Scenario {
    /// Every story.
    pub const ALL: [Self; 4] =
        [Self::ThreeRacksUp, Self::RollingUpgrade, Self::DeleteCluster, Self::PauseUnpause];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThreeRacksUp => "three-racks-up",
            Self::RollingUpgrade => "rolling-upgrade",
            Self::DeleteCluster => "delete-cluster",
            Self::PauseUnpause => "pause-unpause",
        }
    }

    /// The story of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    fn size(self) -> Size {
        let workers = match self {
            Self::ThreeRacksUp | Self::DeleteCluster => 4,
            Self::RollingUpgrade => 2,
            Self::PauseUnpause => 1,
        };
        Size { workers }
    }

    /// What is there at the start.
    pub(super) fn manifests(self) -> Result<Vec<Manifest>, ManifestError> {
        racks(self.size())
    }

    /// What is missing of the end that people want.
    pub(super) fn missing(self, lab: &Lab) -> Option<String> {
        let wanted = if self == Self::DeleteCluster { 0 } else { self.size().machines() };
        let ready = report(lab, 0).machines.iter().filter(|machine| machine.ready).count();
        (ready != wanted).then(|| format!("{ready} machines are ready instead of {wanted}"))
    }

    /// Whether everything is up before the story begins.
    pub(super) fn starts_up(self) -> bool {
        self != Self::ThreeRacksUp
    }

    /// How many steps the story has; each is waited out.
    pub(super) fn steps(self) -> usize {
        if self == Self::PauseUnpause { 2 } else { 1 }
    }

    /// One step.
    pub(super) async fn step(self, lab: &Lab, number: usize) -> Result<(), ScenarioError> {
        match self {
            Self::ThreeRacksUp => lab.apply(&self.manifests()?).await?,
            Self::RollingUpgrade => upgrade(lab, &self.manifests()?).await?,
            Self::DeleteCluster => {
                lab.client().delete(&capi("Cluster", "clusters"), &key(CLUSTER), None).await?;
            }
            Self::PauseUnpause => {
                patch(lab, &capi("Cluster", "clusters"), CLUSTER, json!({"spec": {"paused": number == 0}}))
                    .await?;
            }
        }
        Ok(())
    }
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

//! What is done to the fleet in three phases, how far each is, and when it is over.

use anyhow::{Context, Result, ensure};
use capm3_engine::{ApiClient, client::Deletion};
use capm3_lab::{fleet::fleet, invariants::DELETED_WITH_A_CLUSTER, manifests::Manifest};
use serde_json::{Value, json};

use super::{
    NAMESPACE,
    history::{Objects, key, kind, text},
};

/// How the name of a Secret with credentials ends.
const CREDENTIALS: &str = "-bmc";
/// Version of the machines after the roll-out of a new one.
const NEW: &str = "v1.37.0";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// All machines come up.
    Up,
    /// Every worker is replaced by one of a new version, on few spare hosts and on those of machines that go first.
    Upgrade,
    /// The cluster is deleted.
    Delete,
}

/// How many workers a fleet has.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub usize);

impl Size {
    /// All machines: one is a control plane.
    pub fn machines(self) -> usize {
        self.0 + 1
    }

    /// Hosts that are free while nothing is rolled out.
    fn spare(self) -> usize {
        (self.0 / 10).max(1)
    }
}

impl Phase {
    pub const ALL: [Self; 3] = [Self::Up, Self::Upgrade, Self::Delete];

    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Upgrade => "upgrade",
            Self::Delete => "delete",
        }
    }

    /// Of a number of interruptions, how many fall into this phase.
    pub fn share(self, of: usize) -> usize {
        let place = Self::ALL.iter().position(|phase| *phase == self).unwrap_or_default();
        (of + Self::ALL.len() - 1 - place) / Self::ALL.len()
    }

    /// Asks for it, as a user does.
    pub async fn begin(self, client: &ApiClient, size: Size) -> Result<()> {
        match self {
            Self::Up => capm3_lab::apply(client, &manifests(size)).await.context("applying the fleet"),
            Self::Upgrade => {
                let patch = json!({"spec": {"template": {"spec": {"version": NEW}}}});
                let deployment = kind("MachineDeployment")?;
                client.merge_patch(&deployment, &key("workers"), None, &patch).await?;
                Ok(())
            }
            Self::Delete => {
                let left = client.delete(&kind("Cluster")?, &key("fleet"), None).await?;
                ensure!(matches!(left, Deletion::Held(_)), "a Cluster with machines went at once");
                Ok(())
            }
        }
    }

    /// How many steps it has.
    pub fn steps(self, size: Size) -> usize {
        match self {
            Self::Up => 4 * size.machines(),
            Self::Upgrade => 2 * size.0,
            Self::Delete => 2 * size.machines(),
        }
    }

    /// How many of them are done.
    pub fn progress(self, objects: &Objects, size: Size) -> usize {
        let hosts =
            |has: &dyn Fn(&Value) -> bool| objects.of("BareMetalHost").filter(|host| has(host)).count();
        let consumed = hosts(&|host| host.pointer("/spec/consumerRef").is_some());
        match self {
            Self::Up => {
                let provisioning = hosts(&|host| host.pointer("/spec/image").is_some());
                let ready = objects.of("Metal3Machine").filter(|it| is_provisioned(it)).count();
                consumed + objects.of("Metal3Data").count() + provisioning + ready
            }
            Self::Upgrade => {
                let new = || objects.of("Machine").filter(|it| text(it, "/spec/version") == NEW);
                new().count() + new().filter(|it| it.pointer("/status/nodeRef").is_some()).count()
            }
            Self::Delete => {
                let left = objects.of("Metal3Machine").count() + consumed;
                self.steps(size).saturating_sub(left)
            }
        }
    }

    /// Whether everything is as it was asked for.
    pub fn is_over(self, objects: &Objects, size: Size) -> bool {
        let workers = || {
            let is_done = |it: &Value| {
                let number = |pointer: &str| it.pointer(pointer).and_then(Value::as_u64);
                let all = Some(size.0 as u64);
                number("/status/readyReplicas") == all
                    && number("/status/replicas") == all
                    && number("/status/upToDateReplicas") == all
                    && number("/status/observedGeneration") == number("/metadata/generation")
            };
            let mut deployments = objects.of("MachineDeployment").peekable();
            let machines = objects.of("Metal3Machine");
            let ready = machines.filter(|machine| is_provisioned(machine)).count();
            deployments.peek().is_some()
                && deployments.all(is_done)
                && ready == size.machines()
                && objects.of("Metal3Machine").count() == ready
        };
        match self {
            Self::Up => workers(),
            Self::Upgrade => workers() && self.progress(objects, size) == self.steps(size),
            Self::Delete => {
                let is_available = |host: &Value| {
                    text(host, "/status/provisioning/state") == "available"
                        && host.pointer("/spec/consumerRef").is_none()
                };
                DELETED_WITH_A_CLUSTER.iter().all(|kind| objects.of(kind).next().is_none())
                    && objects.of("BareMetalHost").all(is_available)
            }
        }
    }
}

fn is_provisioned(machine: &Value) -> bool {
    machine.pointer("/status/initialization/provisioned").is_some_and(|it| it == true)
}

/// Whether a Secret of this name is one of those with the credentials of a host, which come with the fleet.
pub fn is_given(secret: &str) -> bool {
    secret.ends_with(CREDENTIALS)
}

/// Gives each host the Secret that it names. Without one its release waits for proof that there is none.
fn with_credentials(manifests: &mut Vec<Manifest>) {
    let mut secrets = Vec::new();
    for manifest in manifests.iter_mut().filter(|manifest| manifest.kind() == "BareMetalHost") {
        let name = format!("{}{CREDENTIALS}", manifest.key().name);
        if let Some(named) = manifest.object.pointer_mut("/spec/bmc/credentialsName") {
            *named = json!(name);
        }
        let object =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}});
        secrets.push(Manifest { file: manifest.file.clone(), object });
    }
    let after_namespace = 1.min(manifests.len());
    manifests.splice(after_namespace..after_namespace, secrets);
}

/// The fleet with spare hosts. A new version replaces machines of the old one by fifths; their hosts are used again.
fn manifests(size: Size) -> Vec<Manifest> {
    let mut manifests = fleet(size.0 + size.spare());
    with_credentials(&mut manifests);
    for manifest in manifests.iter_mut().filter(|manifest| manifest.kind() == "MachineDeployment") {
        if let Some(spec) = manifest.object.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("replicas".to_owned(), json!(size.0));
            let update = json!({"maxSurge": size.spare(), "maxUnavailable": "20%"});
            let strategy = json!({"type": "RollingUpdate", "rollingUpdate": update});
            spec.insert("rollout".to_owned(), json!({"strategy": strategy}));
        }
    }
    manifests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruptions_are_shared_among_the_phases() {
        for (number, expected) in [(10, [4, 3, 3]), (3, [1, 1, 1]), (2, [1, 1, 0]), (0, [0, 0, 0])] {
            assert_eq!(Phase::ALL.map(|phase| phase.share(number)), expected);
        }
    }

    #[test]
    fn there_are_spare_hosts_for_a_roll_out() {
        let manifests = manifests(Size(20));
        let hosts = manifests.iter().filter(|manifest| manifest.kind() == "BareMetalHost").count();
        assert_eq!(hosts, 20 + 1 + 2);
        let secrets =
            manifests.iter().filter(|manifest| manifest.kind() == "Secret" && is_given(&manifest.key().name));
        assert_eq!(secrets.count(), hosts);
        let deployment = manifests.iter().find(|manifest| manifest.kind() == "MachineDeployment").unwrap();
        let spec = &deployment.object["spec"];
        assert_eq!(
            (&spec["replicas"], &spec["rollout"]["strategy"]["rollingUpdate"]["maxSurge"]),
            (&json!(20), &json!(2))
        );
    }

    #[test]
    fn nothing_is_over_before_it_has_begun() {
        for phase in [Phase::Up, Phase::Upgrade] {
            assert!(!phase.is_over(&Objects::default(), Size(3)), "{phase:?}");
            assert_eq!(phase.progress(&Objects::default(), Size(3)), 0);
        }
    }
}

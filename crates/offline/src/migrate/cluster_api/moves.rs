//! Where members stood in v1beta1 and where they stand in v1beta2, as tables.

/// In what form the member is at its new place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it was.
    Same,
    /// A duration as a number of seconds.
    Seconds,
    /// A reference by group instead of by version, without a namespace.
    Reference,
    /// A reference to a template with its version, without a namespace.
    TemplateReference,
    /// Arguments as a list of names and values.
    Arguments,
    /// A list with this duration in each item, under this new name.
    Each(&'static str, &'static str),
}

use Form::{Arguments, Each, Reference, Same, Seconds, TemplateReference};

type Move = (&'static str, &'static str, Form);

/// Below the spec of a machine.
const OF_MACHINES: &[Move] = &[
    ("nodeDrainTimeout", "deletion.nodeDrainTimeoutSeconds", Seconds),
    ("nodeVolumeDetachTimeout", "deletion.nodeVolumeDetachTimeoutSeconds", Seconds),
    ("nodeDeletionTimeout", "deletion.nodeDeletionTimeoutSeconds", Seconds),
    ("infrastructureRef", "infrastructureRef", Reference),
    ("bootstrap.configRef", "bootstrap.configRef", Reference),
];

/// Below the spec of a bootstrap configuration.
const OF_BOOTSTRAP: &[Move] = &[
    (
        "initConfiguration.nodeRegistration.kubeletExtraArgs",
        "initConfiguration.nodeRegistration.kubeletExtraArgs",
        Arguments,
    ),
    (
        "joinConfiguration.nodeRegistration.kubeletExtraArgs",
        "joinConfiguration.nodeRegistration.kubeletExtraArgs",
        Arguments,
    ),
    ("clusterConfiguration.apiServer.extraArgs", "clusterConfiguration.apiServer.extraArgs", Arguments),
    (
        "clusterConfiguration.controllerManager.extraArgs",
        "clusterConfiguration.controllerManager.extraArgs",
        Arguments,
    ),
    ("clusterConfiguration.scheduler.extraArgs", "clusterConfiguration.scheduler.extraArgs", Arguments),
    ("clusterConfiguration.etcd.local.extraArgs", "clusterConfiguration.etcd.local.extraArgs", Arguments),
    (
        "clusterConfiguration.apiServer.timeoutForControlPlane",
        "initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds",
        Seconds,
    ),
    ("joinConfiguration.discovery.timeout", "joinConfiguration.timeouts.tlsBootstrapSeconds", Seconds),
    ("initConfiguration.bootstrapTokens", "initConfiguration.bootstrapTokens", Each("ttl", "ttlSeconds")),
];

/// Members of a bootstrap configuration that v1beta2 does not have.
const GONE_FROM_BOOTSTRAP: &[(&str, &str)] = &[
    ("useExperimentalRetryJoin", "not in v1beta2; kubeadm retries by itself"),
    ("clusterConfiguration.networking", "not in v1beta2; the value comes from the Cluster"),
    ("clusterConfiguration.kubernetesVersion", "not in v1beta2; the value comes from the Machine"),
    ("clusterConfiguration.clusterName", "not in v1beta2; the value comes from the Cluster"),
];

const OF_CLUSTER: &[Move] = &[
    ("spec.infrastructureRef", "spec.infrastructureRef", Reference),
    ("spec.controlPlaneRef", "spec.controlPlaneRef", Reference),
    ("spec.topology.class", "spec.topology.classRef.name", Same),
    ("spec.topology.classNamespace", "spec.topology.classRef.namespace", Same),
];

const OF_DEPLOYMENT: &[Move] = &[
    ("spec.strategy.rollingUpdate.deletePolicy", "spec.deletion.order", Same),
    ("spec.strategy.remediation", "spec.remediation", Same),
    ("spec.strategy", "spec.rollout.strategy", Same),
    ("spec.rolloutAfter", "spec.rollout.after", Same),
    ("spec.machineNamingStrategy", "spec.machineNaming", Same),
    ("spec.minReadySeconds", "spec.template.spec.minReadySeconds", Same),
];

const OF_SET: &[Move] = &[
    ("spec.deletePolicy", "spec.deletion.order", Same),
    ("spec.machineNamingStrategy", "spec.machineNaming", Same),
    ("spec.minReadySeconds", "spec.template.spec.minReadySeconds", Same),
];

const OF_CONTROL_PLANE: &[Move] = &[
    ("spec.machineTemplate.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef", Reference),
    ("spec.machineTemplate.spec.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef", Reference),
    (
        "spec.machineTemplate.nodeDrainTimeout",
        "spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds",
        Seconds,
    ),
    (
        "spec.machineTemplate.nodeVolumeDetachTimeout",
        "spec.machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds",
        Seconds,
    ),
    (
        "spec.machineTemplate.nodeDeletionTimeout",
        "spec.machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds",
        Seconds,
    ),
    ("spec.machineTemplate.readinessGates", "spec.machineTemplate.spec.readinessGates", Same),
    ("spec.rolloutStrategy", "spec.rollout.strategy", Same),
    ("spec.rolloutAfter", "spec.rollout.after", Same),
    ("spec.rolloutBefore", "spec.rollout.before", Same),
    ("spec.remediationStrategy", "spec.remediation", Same),
    ("spec.remediation.retryPeriod", "spec.remediation.retryPeriodSeconds", Seconds),
    ("spec.remediation.minHealthyPeriod", "spec.remediation.minHealthyPeriodSeconds", Seconds),
    ("spec.machineNamingStrategy", "spec.machineNaming", Same),
];

const OF_HEALTH_CHECK: &[Move] = &[
    ("spec.unhealthyConditions", "spec.checks.unhealthyNodeConditions", Each("timeout", "timeoutSeconds")),
    ("spec.nodeStartupTimeout", "spec.checks.nodeStartupTimeoutSeconds", Seconds),
    ("spec.maxUnhealthy", "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo", Same),
    ("spec.unhealthyRange", "spec.remediation.triggerIf.unhealthyInRange", Same),
    ("spec.remediationTemplate", "spec.remediation.templateRef", TemplateReference),
];

/// Objects that may have lost their last member to a move.
pub(super) const PARENTS: &[&str] = &["spec.strategy.rollingUpdate", "spec.strategy"];

/// Every move of a kind, in the order in which they are made.
pub(super) fn of(kind: &str) -> Vec<(String, String, Form)> {
    let (moves, machine, bootstrap): (&[Move], _, _) = match kind {
        "Cluster" => (OF_CLUSTER, None, None),
        "Machine" => (&[], Some("spec"), None),
        "MachineSet" => (OF_SET, Some("spec.template.spec"), None),
        "MachineDeployment" => (OF_DEPLOYMENT, Some("spec.template.spec"), None),
        "MachineHealthCheck" => (OF_HEALTH_CHECK, None, None),
        "KubeadmControlPlane" => (OF_CONTROL_PLANE, None, Some("spec.kubeadmConfigSpec")),
        "KubeadmConfig" => (&[], None, Some("spec")),
        "KubeadmConfigTemplate" => (&[], None, Some("spec.template.spec")),
        _ => (&[], None, None),
    };
    let below = |base: &'static str, moves: &'static [Move]| {
        moves.iter().map(move |(from, to, form)| (format!("{base}.{from}"), format!("{base}.{to}"), *form))
    };
    let own = moves.iter().map(|(from, to, form)| ((*from).to_owned(), (*to).to_owned(), *form));
    own.chain(machine.into_iter().flat_map(|base| below(base, OF_MACHINES)))
        .chain(bootstrap.into_iter().flat_map(|base| below(base, OF_BOOTSTRAP)))
        .collect()
}

/// Members of a kind that v1beta2 does not have, and why nothing is lost.
pub(super) fn gone(kind: &str) -> Vec<(String, &'static str)> {
    let bootstrap =
        |base: &str| GONE_FROM_BOOTSTRAP.iter().map(|(path, why)| (format!("{base}.{path}"), *why)).collect();
    match kind {
        "MachineDeployment" => vec![
            ("spec.progressDeadlineSeconds".to_owned(), "not in v1beta2; it had no effect"),
            ("spec.revisionHistoryLimit".to_owned(), "not in v1beta2; empty MachineSets are removed"),
        ],
        "KubeadmControlPlane" => bootstrap("spec.kubeadmConfigSpec"),
        "KubeadmConfig" => bootstrap("spec"),
        "KubeadmConfigTemplate" => bootstrap("spec.template.spec"),
        _ => vec![],
    }
}

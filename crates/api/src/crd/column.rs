//! What `kubectl get` shows of a kind.

use serde_json::{Value, json};

/// One column.
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    description: &'static str,
}

impl Column {
    const fn new(
        name: &'static str,
        kind: &'static str,
        path: &'static str,
        description: &'static str,
    ) -> Self {
        Self { name, kind, path, description }
    }

    /// As in a CRD.
    pub(super) fn value(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "jsonPath": self.path, "description": self.description})
    }
}

/// Time since creation.
pub(super) const AGE: Column =
    Column::new("Age", "date", ".metadata.creationTimestamp", "Time since the object was created");
/// Cluster to which the object belongs.
pub(super) const CLUSTER: Column = Column::new(
    "Cluster",
    "string",
    ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",
    "Cluster to which the object belongs",
);
/// The flag of the v1beta2 contract.
pub(super) const PROVISIONED: Column = Column::new(
    "Provisioned",
    "string",
    ".status.initialization.provisioned",
    "Whether the infrastructure is there",
);
/// The flag of the v1beta1 contract.
pub(super) const READY: Column =
    Column::new("Ready", "string", ".status.ready", "Whether the infrastructure is there");
/// The failure of v1beta2.
pub(super) const ERROR: Column = Column::new(
    "Error",
    "string",
    ".status.deprecated.v1beta1.failureReason",
    "What is wrong with the spec, in one word",
);
/// The failure of v1beta1.
pub(super) const ERROR_V1BETA1: Column =
    Column::new("Error", "string", ".status.failureReason", "What is wrong with the spec, in one word");
/// The endpoint of the workload cluster.
pub(super) const ENDPOINT: Column = Column::new(
    "Endpoint",
    "string",
    ".spec.controlPlaneEndpoint",
    "Where the API of the workload cluster is reached",
);
/// The provider ID of a machine.
pub(super) const PROVIDER_ID: Column =
    Column::new("ProviderID", "string", ".spec.providerID", "Provider ID that ties the machine to its Node");
/// The phase of a v1beta1 machine.
pub(super) const MACHINE_PHASE: Column =
    Column::new("Phase", "string", ".status.phase", "Kept for compatibility; nothing writes it");
/// Columns of the data of a machine: what is wrong stands last, because it may be long.
pub(super) const DATA: [Column; 6] = [
    AGE,
    Column::new("Ready", "boolean", ".status.ready", "Whether the Secrets are rendered"),
    Column::new("Index", "integer", ".spec.index", "Index within the template"),
    Column::new("Claim", "string", ".spec.claim.name", "Metal3DataClaim that it was made for"),
    Column::new("Template", "string", ".spec.template.name", "Metal3DataTemplate that it is rendered from"),
    Column::new("Error", "string", ".status.errorMessage", "Why it cannot be rendered"),
];
/// Columns of a claim on data.
pub(super) const DATA_CLAIM: [Column; 4] = [
    AGE,
    Column::new("Template", "string", ".spec.template.name", "Metal3DataTemplate that is asked"),
    Column::new("Data", "string", ".status.renderedData.name", "Metal3Data that was made for it"),
    Column::new("Error", "string", ".status.errorMessage", "Why there is no data"),
];
/// Columns of a claim on an address.
pub(super) const IP_CLAIM: [Column; 4] = [
    AGE,
    Column::new("Pool", "string", ".spec.pool.name", "IPPool that is asked"),
    Column::new("Address", "string", ".status.address.name", "IPAddress that was given"),
    Column::new("Error", "string", ".status.errorMessage", "Why there is no address"),
];
/// Columns of a remediation.
pub(super) const REMEDIATION: [Column; 5] = [
    Column::new("Retry limit", "string", ".spec.strategy.retryLimit", "How often it is tried"),
    Column::new("Retry count", "string", ".status.retryCount", "How often it was tried"),
    Column::new("Last Remediated", "string", ".status.lastRemediated", "When the current attempt began"),
    Column::new("Strategy", "string", ".spec.strategy.type", "How the machine is brought back"),
    Column::new("Phase", "string", ".status.phase", "How far the remediation has come"),
];

//! Metal3MachineTemplate: from what Metal3Machines are made, and which data template each failure domain gets.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Metal3MachineSpec;
use crate::{reference::ObjectRef, schema};

/// A template for Metal3Machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineTemplate {
    /// Object metadata.
    #[serde(default, deserialize_with = "crate::metadata::without_managed_fields")]
    pub metadata: ObjectMeta,
    /// The template and how machines made from it behave.
    #[serde(default)]
    pub spec: Metal3MachineTemplateSpec,
    /// What the provider knows of the machines made from it.
    #[serde(default)]
    pub status: Metal3MachineTemplateStatus,
}

crate::kind::kind!(
    Metal3MachineTemplate,
    super::GROUP,
    super::VERSION,
    "Metal3MachineTemplate",
    "metal3machinetemplates"
);

/// The template and how machines made from it behave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineTemplateSpec {
    /// The machine to copy.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub template: Metal3MachineTemplateResource,
    /// Whether a released host is kept for the next machine of the same control plane or MachineDeployment, so that an
    /// upgrade comes back to the same hosts. May be changed at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub node_reuse: Option<bool>,
    /// Which Metal3DataTemplate a machine gets, by the failure domain of the host that it stands on, so that each rack
    /// has its own VLANs, subnets and gateways.
    ///
    /// The failure domain is the host's label `infrastructure.cluster.x-k8s.io/failure-domain`; a host without it counts
    /// as being in the failure domain of the Machine. A domain that is not listed gets `template.spec.dataTemplate`.
    /// What was chosen is written to `spec.dataTemplate` of the Metal3Machine and no longer changes once its
    /// Metal3DataClaim exists.
    ///
    /// Example: `[{failureDomain: rack1, dataTemplate: {name: rack1-data}}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["failureDomain"]))]
    pub failure_domain_data_templates: Vec<FailureDomainDataTemplate>,
}

/// The machine to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineTemplateResource {
    /// Labels and annotations for the machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec for the machines.
    #[serde(default)]
    #[schemars(extend("x-required" = true))]
    pub spec: Metal3MachineSpec,
}

/// Labels and annotations that a template passes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct TemplateMetadata {
    /// Labels for the objects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations for the objects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// One row of the mapping from failure domain to data template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureDomainDataTemplate {
    /// Name of the failure domain, as in the hosts' label `infrastructure.cluster.x-k8s.io/failure-domain` and in
    /// `spec.failureDomains` of the Metal3Cluster. Each domain may be listed once.
    #[serde(default)]
    #[schemars(extend("x-required" = true), length(min = 1, max = 256))]
    pub failure_domain: String,
    /// The Metal3DataTemplate for machines in that domain; its namespace is that of this template.
    #[serde(default)]
    #[schemars(extend("x-required" = true), transform = schema::named)]
    pub data_template: ObjectRef,
}

/// What is known of machines that are yet to be made, so that a cluster autoscaler can grow a MachineDeployment that has
/// none. The same in both versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metal3MachineTemplateStatus {
    /// What every machine made from this template has at least, by resource, as quantities such as `{cpu: "32", memory:
    /// 131072Mi}`. The provider writes `cpu` and `memory`: the smallest of the inspected hosts that the host selector
    /// matches. They are absent until a host was inspected; entries for other resources are left as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = schema::quantities)]
    pub capacity: BTreeMap<String, String>,
    /// What is known of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_info: Option<TemplateNodeInfo>,
}

/// What is known of the nodes of a template, in the words of Node labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateNodeInfo {
    /// Processor architecture as in the label `kubernetes.io/arch`, such as `amd64`. The provider writes it where all
    /// hosts that count have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub architecture: Option<String>,
    /// Operating system as in the label `kubernetes.io/os`. Hosts do not tell what an image holds, so the provider never
    /// writes it and keeps what stands here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub operating_system: Option<String>,
}

//! Nodes that wait for a cloud provider that is not there.

use std::collections::BTreeMap;

use capm3_api::vocabulary::label::NODE_UUID;

use super::{
    bootstrap,
    owners::{self, metal3_cluster},
};

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    validation::node::Node,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L017"),
    title: "kubelets expect a cloud provider, and the Metal3Cluster has none",
    severity: Severity::Warning,
    why: "With `cloudProviderEnabled: false` the provider finds the Node of a host by the label \
          metal3.io/uuid and writes its provider ID. A kubelet with `cloud-provider: external` and \
          without this label makes a Node that is not found, so the machine never gets ready.",
    mend: "set spec.cloudProviderEnabled of the Metal3Cluster to true, or give the kubelet node-labels \
          with metal3.io/uuid={{ ds.meta_data.uuid }}",
    example: Example {
        wrong: r#"kind: Metal3Cluster
spec: {cloudProviderEnabled: false}
---
kind: KubeadmControlPlane
spec:
  kubeadmConfigSpec:
    initConfiguration:
      nodeRegistration:
        kubeletExtraArgs: [{name: cloud-provider, value: external}]"#,
        right: r#"kind: Metal3Cluster
spec: {cloudProviderEnabled: true}
---
kind: KubeadmControlPlane
spec:
  kubeadmConfigSpec:
    initConfiguration:
      nodeRegistration:
        kubeletExtraArgs: [{name: cloud-provider, value: external}]"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = BTreeMap::new();
    for owner in owners::all(manifests) {
        let named = owner.cluster.and_then(|name| metal3_cluster(manifests, &owner.object.namespace, name));
        let Some(cluster) = named.filter(|it| it.object.spec.cloud_provider_enabled != Some(true)) else {
            continue;
        };
        let name = cluster.object.metadata.name.as_deref().unwrap_or_default();
        for (id, arguments) in bootstrap::kubelet_arguments(manifests, owner.object) {
            if let Some(node) = waits_for_provider(&arguments) {
                let message = format!(
                    "the kubelet expects a cloud provider, but cloudProviderEnabled of Metal3Cluster {name} is not true, \
                     and the Node has no label {NODE_UUID}"
                );
                drafts.insert((id, node.path().to_owned()), Draft::new(node.path(), message));
            }
        }
    }
    drafts.into_iter().map(|((id, _), draft)| (id, draft)).collect()
}

/// The argument that lets the kubelet wait, unless its Node is found by the label.
fn waits_for_provider<'n, 'a>(arguments: &'n [(&'a str, Node<'a>)]) -> Option<&'n Node<'a>> {
    let value = |name: &str| arguments.iter().find(|(known, _)| *known == name).map(|(_, node)| node);
    let label = format!("{NODE_UUID}=");
    let is_labelled = value("node-labels").is_some_and(|node| node.text_or_empty().contains(&label));
    value("cloud-provider").filter(|node| node.text() == Some("external") && !is_labelled)
}

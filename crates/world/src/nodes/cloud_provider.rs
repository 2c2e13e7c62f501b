//! An external cloud provider: where a cluster is declared to have one, each node gets the provider ID of the host on
//! which it runs.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{Metal3Cluster, Metal3Machine},
    vocabulary::PROVIDER_ID_PREFIX,
};
use capm3_engine::{Controller, ObjectKey, Outcome, Plan, Reader, Store, drive};
use k8s_openapi::api::core::v1::Node;

use super::{Running, running};
use crate::{
    context::{self, Context},
    kinds::{BareMetalHost, Cluster},
    metadata::beside,
    workloads::NODES_BY_SYSTEM_UUID,
};

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("cloud provider", &context.queues.cloud, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    let Some(found) = running(&*context.caches, &key) else {
        return Outcome::Settled;
    };
    let cluster = beside(&*found.cluster, found.cluster.metadata.name_str());
    let Some(workload) = context.workloads.get(&cluster) else {
        return Outcome::Settled;
    };
    drive(&workload.executor, || {
        running(&*context.caches, &key)
            .map_or_else(Plan::done, |running| plan(&*context.caches, &workload.nodes, &running))
    })
    .await
}

/// What it does for the node of a host.
pub(crate) fn plan(reader: &impl Reader, nodes: &Store<Node>, running: &Running) -> Plan {
    if !is_enabled(reader, &running.cluster) {
        return Plan::done();
    }
    let nodes = nodes.by_index(&NODES_BY_SYSTEM_UUID, running.host.metadata.uid_str());
    nodes.first().map_or_else(Plan::done, |node| decide(node, &running.host, &running.consumer))
}

fn is_enabled(reader: &impl Reader, cluster: &Cluster) -> bool {
    let name = cluster.spec.infrastructure_ref.as_ref().and_then(|r| r.name.as_deref());
    let infrastructure = name.and_then(|name| reader.get::<Metal3Cluster>(&beside(cluster, name)));
    infrastructure.and_then(|i| i.spec.cloud_provider_enabled).unwrap_or(false)
}

/// A provider ID is set once and never changed.
fn decide(node: &Node, host: &BareMetalHost, consumer: &Metal3Machine) -> Plan {
    let mut plan = Plan::done();
    if node.spec.as_ref().and_then(|s| s.provider_id.as_ref()).is_some_and(|id| !id.is_empty()) {
        return plan;
    }
    let (namespace, host) = (host.metadata.namespace_str(), host.metadata.name_str());
    let id = format!("{PROVIDER_ID_PREFIX}{namespace}/{host}/{}", consumer.metadata.name_str());
    let mut new = node.clone();
    new.spec.get_or_insert_default().provider_id = Some(id);
    plan.update(node, &new);
    plan
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_without_a_provider_id_gets_the_one_of_its_host_and_keeps_it() {
        let named = |name: &str| json!({"metadata": {"namespace": "metal3", "name": name}});
        let host: BareMetalHost = serde_json::from_value(named("host-1")).unwrap();
        let consumer: Metal3Machine = serde_json::from_value(named("machine-1")).unwrap();
        let mut node: Node = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
        let plan = decide(&node, &host, &consumer);
        assert_eq!(
            plan.to_string(),
            "patch Node n {\"spec\":{\"providerID\":\"metal3://metal3/host-1/machine-1\"}}\ndone"
        );
        node.spec.get_or_insert_default().provider_id = Some("metal3://other".into());
        assert!(decide(&node, &host, &consumer).is_quiet());
    }
}

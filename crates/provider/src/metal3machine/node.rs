//! Provider ID and Node: who the machine is in its workload cluster.

use capm3_api::{metadata::MetadataExt, neighbours::Node, v1beta2::Initialization, vocabulary::event};
use capm3_domain::{
    provider_id::{self, NodeDecision, NodeQuestion, decide_node, expected_id},
    wait::{Text, Wait},
};
use capm3_engine::{ObjectKey, ResourceKind, Write};
use serde_json::json;

use super::{
    decide::{Pass, Step},
    observe_nodes::{NodeCandidates, Nodes, cluster_key, hostnames},
};

/// Passes once a Node of the workload cluster carries this machine's provider ID.
pub(super) fn find(pass: &mut Pass<'_>) -> Step {
    let Some(cluster) = cluster_key(&pass.new) else {
        return Ok(());
    };
    match &pass.snapshot.nodes {
        Nodes::NotNeeded => Ok(()),
        Nodes::NotConnected | Nodes::Connecting => {
            pass.connect = Some(cluster.clone());
            Err(pass.wait(Wait::Nodes(cluster.name)))
        }
        Nodes::Unreachable(cause) => {
            let cause = Text::new(cause);
            Err(pass.wait(Wait::WorkloadCluster { cluster: cluster.name, cause }))
        }
        Nodes::Known(candidates) => judge(pass, cluster, candidates),
    }
}

/// Gives the Node of a finished machine its provider ID if it has registered again without one.
pub(super) fn identify_again(pass: &mut Pass<'_>) -> Step {
    match &pass.snapshot.nodes {
        Nodes::Known(candidates) if candidates.is_registered_again => find(pass),
        _ => Ok(()),
    }
}

fn judge(pass: &mut Pass<'_>, cluster: ObjectKey, candidates: &NodeCandidates) -> Step {
    let snapshot = pass.snapshot;
    let (Some(host), Ok(expected)) = (&snapshot.host, expected_id(&pass.new)) else {
        return Ok(());
    };
    let names = hostnames(&pass.new);
    let machine_id = pass.new.spec.provider_id.clone();
    let question = NodeQuestion {
        machine_id: machine_id.as_deref(),
        expected: &expected,
        host_uid: host.metadata.uid_str(),
        former_uid: candidates.former_uid.as_deref(),
        hostnames: &names,
        cloud_provider: external_cloud_provider(pass),
        has_config_ref: snapshot.machine.as_ref().is_some_and(|m| m.spec.bootstrap.has_config_ref()),
    };
    let borrowed = provider_id::Nodes {
        with_id_of_host: candidates.with_id_of_host.iter().map(AsRef::as_ref).collect(),
        with_uuid: candidates.with_uuid.iter().map(AsRef::as_ref).collect(),
        with_hostname: candidates.with_hostname.iter().map(AsRef::as_ref).collect(),
    };
    match decide_node(&question, &borrowed) {
        NodeDecision::Matched { provider_id, .. } => {
            found(pass, provider_id);
            Ok(())
        }
        NodeDecision::Adopt { node, provider_id } => {
            // A Node that is given another ID meanwhile is refused by its API server and judged at the next pass.
            pass.first.writes.push(Write::Workload {
                cluster,
                kind: ResourceKind::of::<Node>(),
                key: ObjectKey::new("", node),
                patch: json!({"spec": {"providerID": provider_id}}),
            });
            found(pass, provider_id);
            Ok(())
        }
        // The machine is provisioned, whatever becomes of the new Node.
        _ if candidates.is_registered_again => Ok(()),
        NodeDecision::ProvisionedWithoutNode { provider_id, wait } => {
            found(pass, provider_id);
            Err(pass.wait(Wait::Node(wait)))
        }
        NodeDecision::Wait(wait) => Err(pass.wait(Wait::Node(wait))),
        NodeDecision::Conflict(conflict) => Err(pass.wait(Wait::NodeConflict(conflict))),
    }
}

fn external_cloud_provider(pass: &Pass<'_>) -> bool {
    pass.snapshot.metal3_cluster.as_ref().is_some_and(|c| c.spec.cloud_provider_enabled == Some(true))
}

fn found(pass: &mut Pass<'_>, provider_id: String) {
    if pass.new.spec.provider_id.as_ref() != Some(&provider_id) {
        // The spec itself shows it.
        pass.log(event::PROVIDER_ID_SET, format!("provider ID is {provider_id}"));
        pass.new.spec.provider_id = Some(provider_id);
    }
    pass.new.status.initialization = Some(Initialization { provisioned: Some(true) });
    pass.status().node_found();
}

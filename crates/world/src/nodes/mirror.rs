//! What a real kubeadm control plane looks at in the workload cluster: the mirrors of a node's static pods, and the
//! configuration that kubeadm leaves there.

use capm3_api::metadata::MetadataExt;
use capm3_engine::{ApiClient, ApiError, ObjectKey, ResourceKind};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use serde_json::{Value, json};

const NAMESPACE: &str = "kube-system";
/// The static pods of a control plane whose etcd is elsewhere.
const STATIC_PODS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
/// What kubeadm leaves.
const CONFIGURATION: &str = "kubeadm-config";

/// Shows the static pods of a node as running, and leaves kubeadm's configuration if it is not there.
pub(super) async fn static_pods(client: &ApiClient, node: &Node, now: &str) -> Result<(), ApiError> {
    configuration(client).await?;
    for component in STATIC_PODS {
        static_pod(client, component, node, now).await?;
    }
    Ok(())
}

async fn configuration(client: &ApiClient) -> Result<(), ApiError> {
    let kind = ResourceKind::of::<ConfigMap>();
    if client.get::<Value>(&kind, &ObjectKey::new(NAMESPACE, CONFIGURATION)).await?.is_some() {
        return Ok(());
    }
    let configuration = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n";
    let object =
        json!({"metadata": {"name": CONFIGURATION}, "data": {"ClusterConfiguration": configuration}});
    created(client.create(&kind, NAMESPACE, object).await)
}

async fn static_pod(client: &ApiClient, component: &str, node: &Node, now: &str) -> Result<(), ApiError> {
    let kind = ResourceKind::of::<Pod>();
    let key = ObjectKey::new(NAMESPACE, format!("{component}-{}", node.metadata.name_str()));
    let known = client.get::<Value>(&kind, &key).await?;
    let runs = |pod: &Value| pod.pointer("/status/phase").is_some_and(|it| it == "Running");
    match known {
        Some(pod) if is_of(&pod, node) && runs(&pod) => return Ok(()),
        Some(pod) if is_of(&pod, node) => {}
        // Of an earlier node of that name: its kubelet has gone with it.
        Some(_) => {
            client.delete(&kind, &key, None).await?;
            created(client.create(&kind, NAMESPACE, pod(component, node)).await)?;
        }
        None => created(client.create(&kind, NAMESPACE, pod(component, node)).await)?,
    }
    let status = json!({"status": {"phase": "Running", "startTime": now, "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": now},
    ]}});
    client.merge_patch(&kind, &key, Some("status"), &status).await?;
    Ok(())
}

fn is_of(pod: &Value, node: &Node) -> bool {
    pod.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str) == node.metadata.uid.as_deref()
}

/// The mirror of a static pod, as a kubelet creates it.
fn pod(component: &str, node: &Node) -> Value {
    let name = node.metadata.name_str();
    json!({
        "metadata": {
            "name": format!("{component}-{name}"),
            "labels": {"component": component, "tier": "control-plane"},
            "annotations": {"kubernetes.io/config.mirror": "simulated", "kubernetes.io/config.source": "file"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid,
                "controller": true}],
        },
        "spec": {
            "nodeName": name, "hostNetwork": true, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": component, "image": format!("simulated/{component}")}],
            "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
        },
    })
}

/// Another kubelet may have been faster.
fn created(answer: Result<Value, ApiError>) -> Result<(), ApiError> {
    match answer {
        Ok(_) | Err(ApiError::AlreadyExists { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_pod_is_mirrored_for_this_very_node() {
        let node: Node =
            serde_json::from_value(json!({"metadata": {"name": "node-1", "uid": "u-1"}})).unwrap();
        let mut mirrored = pod("kube-scheduler", &node);
        assert_eq!(mirrored["metadata"]["name"], "kube-scheduler-node-1");
        assert_eq!(mirrored["spec"]["nodeName"], "node-1");
        assert!(mirrored["metadata"]["annotations"].get("kubernetes.io/config.mirror").is_some());
        assert!(is_of(&mirrored, &node));
        mirrored["metadata"]["ownerReferences"][0]["uid"] = json!("of an earlier node");
        assert!(!is_of(&mirrored, &node));
    }
}

//! The Secret with which others reach a workload cluster.

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::{neighbours::Secret, vocabulary::label};
use capm3_engine::{Object, ObjectKey, Plan, ResourceKind};
use serde_json::json;

use crate::{kinds::KubeadmControlPlane, metadata::owner_reference};

/// What follows the cluster's name in the name of the Secret.
pub(crate) const KUBECONFIG_SUFFIX: &str = "-kubeconfig";

/// Adds the creation of the Secret.
pub(super) fn create(plan: &mut Plan, control_plane: &KubeadmControlPlane, cluster: &str, server: &str) {
    let key = ObjectKey::new(control_plane.key().namespace, format!("{cluster}{KUBECONFIG_SUFFIX}"));
    let object = json!({
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": {label::CLUSTER_NAME: cluster},
            "ownerReferences": [owner_reference(control_plane, true)]},
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": BASE64_STANDARD.encode(text(cluster, server))},
    });
    plan.create_value(ResourceKind::of::<Secret>(), key, object);
}

fn text(cluster: &str, server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: {cluster}\n  cluster:\n    server: {server}\n\
         contexts:\n- name: {cluster}-admin@{cluster}\n  context:\n    cluster: {cluster}\n    user: {cluster}-admin\n\
         current-context: {cluster}-admin@{cluster}\nusers:\n- name: {cluster}-admin\n  user: {{}}\n"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_text_is_a_kubeconfig_with_the_server() {
        let config: Value = serde_saphyr::from_str(&text("c1", "https://c1.example:6443")).unwrap();
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://c1.example:6443");
        assert_eq!(config["current-context"], config["contexts"][0]["name"]);
    }
}

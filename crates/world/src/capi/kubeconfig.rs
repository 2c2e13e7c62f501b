//! The Secret with which others reach a workload cluster.

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::{neighbours::Secret, vocabulary::label};
use capm3_engine::{Object, ObjectKey, Plan, ResourceKind};
use serde_json::json;

use crate::{kinds::KubeadmControlPlane, metadata::owner_reference};

/// What follows the cluster's name in the name of the Secret.
pub(crate) const KUBECONFIG_SUFFIX: &str = "-kubeconfig";

/// Adds the creation of the Secret.
pub(super) fn create(plan: &mut Plan, control_plane: &KubeadmControlPlane, cluster: &str, text: &str) {
    let key = ObjectKey::new(control_plane.key().namespace, format!("{cluster}{KUBECONFIG_SUFFIX}"));
    let object = json!({
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": {label::CLUSTER_NAME: cluster},
            "ownerReferences": [owner_reference(control_plane, true)]},
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": BASE64_STANDARD.encode(text)},
    });
    plan.create_value(ResourceKind::of::<Secret>(), key, object);
}

//! Workload clusters: an API server each, and what a user gives Cluster API for it. The kubelets are clients of it with rights of
//! their own.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context, Result};
use capm3_engine::{ApiClient, ObjectKey, client::over_network};
use capm3_lab::manifests::Manifest;
use capm3_world::WorkloadApis;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::management::Management;
use crate::real::{Workload, pki::MASTERS};

/// Who the kubelets are in a workload cluster.
const KUBELETS: &str = "capm3-world-kubelets";

/// The API servers of workload clusters, by name of the Cluster; shared by all management clusters, because a Cluster can move.
#[derive(Clone)]
pub struct Workloads {
    known: Arc<Mutex<BTreeMap<String, ApiClient>>>,
    /// Leads nowhere, for a Cluster that nobody has announced.
    nobody: ApiClient,
}

impl Workloads {
    /// None yet; must be called on a runtime.
    pub fn none() -> Result<Self> {
        let nowhere = kube::Config::new("http://127.0.0.1:1".parse().context("an address")?);
        let nobody = ApiClient::new(kube::Client::try_from(nowhere)?, "capm3-world");
        Ok(Self { known: Arc::default(), nobody })
    }
}

impl WorkloadApis for Workloads {
    fn add(&self, _: &ObjectKey) {}

    fn client(&self, cluster: &ObjectKey) -> ApiClient {
        self.known.lock().get(&*cluster.name).cloned().unwrap_or_else(|| self.nobody.clone())
    }

    /// Nobody asks: Cluster API makes them.
    fn kubeconfig(&self, _: &ObjectKey) -> String {
        String::new()
    }
}

/// Starts the API server of a Cluster that does not exist yet, and gives the kubelets their rights there.
pub async fn start(management: &mut Management, workloads: &Workloads, name: &str) -> Result<Workload> {
    let workload = management.cluster_mut().start_workload(name)?;
    let admin = admin(&workload).await?;
    let manifest = |object| Manifest { file: "rights of kubelets".to_owned(), object };
    capm3_lab::apply(&admin, &rights().map(manifest)).await?;
    let kubelets = workload.kubeconfig(KUBELETS, "capm3-world")?;
    let client = over_network(&kubelets, None, "capm3-world").await?;
    workloads.known.lock().insert(name.to_owned(), client);
    Ok(workload)
}

/// A client with the rights of its administrator.
pub async fn admin(workload: &Workload) -> Result<ApiClient> {
    Ok(over_network(&workload.kubeconfig("admin", MASTERS)?, None, "capm3-e2e").await?)
}

/// Ends the API server of a Cluster that is gone.
pub fn end(management: &mut Management, workloads: &Workloads, workload: &Workload) -> Result<()> {
    workloads.known.lock().remove(workload.name());
    management.cluster_mut().end(workload.name())
}

fn rights() -> [Value; 2] {
    let rule_of = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let rule = |resources: &[&str], verbs: &[&str]| rule_of("", resources, verbs);
    let group = "rbac.authorization.k8s.io";
    [
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": KUBELETS},
            "rules": [
                rule(&["nodes"], &["get", "list", "watch", "create", "patch"]),
                rule(&["nodes/status", "pods/status"], &["patch"]),
                rule(&["pods"], &["get", "list", "create", "patch", "delete"]),
                // What a node that is out of service leaves: nobody else ends it, because no controllers run here.
                rule_of("storage.k8s.io", &["volumeattachments"], &["list", "patch", "delete"]),
                // By kubeadm, which runs with the rights of an administrator.
                rule(&["configmaps"], &["get", "create"]),
            ],
        }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": KUBELETS},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": KUBELETS},
            "subjects": [{"apiGroup": group, "kind": "User", "name": KUBELETS}],
        }),
    ]
}

/// Changes a control plane, or a template of one, so that nothing asks for pods that run: its etcd is elsewhere, and when the
/// certificates of its API servers expire is known.
pub fn without_running_pods(object: &mut Value) -> Result<()> {
    let spec = match object.get("kind").and_then(Value::as_str) {
        Some("KubeadmControlPlane") => "/spec",
        Some("KubeadmControlPlaneTemplate") => "/spec/template/spec",
        _ => return Ok(()),
    };
    let spec =
        object.pointer_mut(spec).and_then(Value::as_object_mut).context("a control plane without spec")?;
    let annotations = json!({"machine.cluster.x-k8s.io/certificates-expiry": "2099-01-01T00:00:00Z"});
    let etcd = json!({"external": {
        "endpoints": ["https://127.0.0.1:2379"],
        "caFile": "/etc/kubernetes/pki/etcd/ca.crt",
        "certFile": "/etc/kubernetes/pki/apiserver-etcd-client.crt",
        "keyFile": "/etc/kubernetes/pki/apiserver-etcd-client.key",
    }});
    json_patch::merge(
        spec.entry("machineTemplate").or_insert(Value::Null),
        &json!({"metadata": {"annotations": annotations}}),
    );
    let cluster = json!({"clusterConfiguration": {"etcd": etcd}});
    json_patch::merge(spec.entry("kubeadmConfigSpec").or_insert(Value::Null), &cluster);
    Ok(())
}

//! The Deployment of the manager and what keeps it available.

use serde_json::{Value, json};

use crate::{
    Certificates, Install,
    names::{CERTIFICATE_SECRET, DEPLOYMENT, NAMESPACE, SERVICE_ACCOUNT, pod_labels},
};

const FAST_TRACK: &str = "capm3-capm3fasttrack-configmap";
const CERTIFICATE_FOLDER: &str = "/tmp/k8s-webhook-server/serving-certs";

/// ConfigMap, Deployment and PodDisruptionBudget.
pub(crate) fn manager(install: &Install) -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": FAST_TRACK, "namespace": NAMESPACE},
            "data": {"CAPM3_FAST_TRACK": "${CAPM3_FAST_TRACK:='false'}"},
        }),
        deployment(install),
        // By what may be missing, not by what must be there: a drain also ends where somebody runs one replica.
        json!({
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": DEPLOYMENT, "namespace": NAMESPACE},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": pod_labels()}},
        }),
    ]
}

fn deployment(install: &Install) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": DEPLOYMENT, "namespace": NAMESPACE, "labels": pod_labels()},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": pod_labels()},
            "template": {"metadata": {"labels": pod_labels()}, "spec": pod(install)},
        },
    })
}

fn pod(install: &Install) -> Value {
    let mut pod = json!({
        "containers": [container(install)],
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "serviceAccountName": SERVICE_ACCOUNT,
        "terminationGracePeriodSeconds": 10,
        "tolerations": [
            {"effect": "NoSchedule", "key": "node-role.kubernetes.io/master"},
            {"effect": "NoSchedule", "key": "node-role.kubernetes.io/control-plane"},
        ],
        // Two nodes if there are two; one must do.
        "topologySpreadConstraints": [{
            "labelSelector": {"matchLabels": pod_labels()},
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
        }],
    });
    if install.certificates == Certificates::CertManager
        && let Some(pod) = pod.as_object_mut()
    {
        let volume =
            json!({"name": "cert", "secret": {"defaultMode": 420, "secretName": CERTIFICATE_SECRET}});
        pod.insert("volumes".to_owned(), json!([volume]));
    }
    pod
}

fn container(install: &Install) -> Value {
    let mut container = json!({
        "name": "manager",
        "command": ["/manager"],
        "args": arguments(install),
        "image": install.image,
        "imagePullPolicy": "IfNotPresent",
        "envFrom": [{"configMapRef": {"name": FAST_TRACK}}],
        "ports": [
            {"containerPort": 9443, "name": "webhook-server", "protocol": "TCP"},
            {"containerPort": 9440, "name": "healthz", "protocol": "TCP"},
            {"containerPort": 8443, "name": "metrics", "protocol": "TCP"},
        ],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "healthz"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "healthz"}},
        // 196 MB are measured with 10,000 hosts and machines (docs/performance.md); the limit leaves room for the text of
        // lists. No limit of CPU: a throttled leader loses its Lease.
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "privileged": false,
            "readOnlyRootFilesystem": true,
            "runAsGroup": 65532,
            "runAsUser": 65532,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    });
    if install.certificates == Certificates::CertManager
        && let Some(container) = container.as_object_mut()
    {
        let mount = json!({"mountPath": CERTIFICATE_FOLDER, "name": "cert", "readOnly": true});
        container.insert("volumeMounts".to_owned(), json!([mount]));
    }
    container
}

/// Those of the Go provider's Deployment, and what two replicas and the options need.
fn arguments(install: &Install) -> Vec<&'static str> {
    let mut arguments = vec![
        "--leader-elect",
        "--webhook-port=9443",
        "--enable-bmh-name-based-preallocation=${ENABLE_BMH_NAME_BASED_PREALLOCATION:=false}",
        "--diagnostics-address=${CAPM3_DIAGNOSTICS_ADDRESS:=:8443}",
        "--insecure-diagnostics=${CAPM3_INSECURE_DIAGNOSTICS:=false}",
    ];
    if install.ipam {
        arguments.push("--enable-ipam");
    }
    if install.certificates == Certificates::SelfManaged {
        arguments.push("--self-managed-certs");
    }
    arguments
}

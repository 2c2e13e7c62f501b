//! KubeadmConfig: the Secret with a machine's user data, once it may be made.
//!
//! The first control-plane machine is served as soon as the infrastructure is ready; every other one waits for the
//! control plane.

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Secret, SecretMetadata},
    vocabulary::label,
};
use capm3_engine::{Controller, End, Object, ObjectKey, Outcome, Plan, Reader, ResourceKind};
use serde_json::{Value, json};

use super::is_paused;
use crate::{
    context::{self, Context},
    indexes::{LEADERS_BY_CLUSTER, MACHINES_BY_CONFIG},
    kinds::{Cluster, DataSecretCreated, KubeadmConfig, Machine},
    metadata::{Saying, beside, owner_reference, path, say},
    pace::Phase,
};

pub(super) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("bootstrap", &context.queues.configs, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    let now = context.clock.now_text();
    let total = context.pace.duration(Phase::Bootstrap, &key);
    context
        .drive(|| match observe(&*context.caches, &key, &now) {
            Some(snapshot) => {
                decide(&snapshot, || context.bootstrap_watch.left(&key, Phase::Bootstrap, total))
            }
            None => {
                context.bootstrap_watch.stop(&key);
                Plan::done()
            }
        })
        .await
}

pub(crate) struct Snapshot {
    config: Arc<KubeadmConfig>,
    machine: Option<Arc<Machine>>,
    cluster: Option<Arc<Cluster>>,
    /// Whether this is the oldest control-plane machine, the one that may initialise the cluster.
    is_first: bool,
    has_secret: bool,
    now: String,
}

pub(crate) fn observe(reader: &impl Reader, key: &ObjectKey, now: &str) -> Option<Snapshot> {
    let config = reader.get::<KubeadmConfig>(key)?;
    let value = path(&key.namespace, &key.name);
    let machine = reader.by_index(&MACHINES_BY_CONFIG, &value).into_iter().next();
    let cluster = machine.as_ref().and_then(|m| reader.get(&beside(&**m, &m.spec.cluster_name)));
    let leader = machine.as_ref().filter(|machine| machine.metadata.label(label::CONTROL_PLANE).is_some());
    let is_first = leader.is_some_and(|machine| {
        let value = path(&key.namespace, &machine.spec.cluster_name);
        let leaders = reader.by_index(&LEADERS_BY_CLUSTER, &value);
        let born = |m: &Machine| m.metadata.creation_timestamp.as_ref().map_or(0, |t| t.0.as_second());
        let first = leaders.into_iter().min_by_key(|m| (born(m), m.metadata.name.clone()));
        first.is_some_and(|first| first.metadata.uid == machine.metadata.uid)
    });
    let has_secret = reader.get::<SecretMetadata>(key).is_some();
    Some(Snapshot { config, machine, cluster, is_first, has_secret, now: now.to_owned() })
}

/// `left` starts the time that the work takes; it is asked only when the work may begin.
pub(crate) fn decide(s: &Snapshot, left: impl FnOnce() -> Duration) -> Plan {
    let old = &s.config;
    let (Some(machine), Some(cluster)) = (&s.machine, &s.cluster) else {
        return Plan::wait_for("its Machine and Cluster");
    };
    if is_paused(&old.metadata, Some(cluster)) || old.metadata.is_deleting() || machine.metadata.is_deleting()
    {
        return Plan::wait_for("the pause or the deletion to end");
    }
    if old.secret_name().is_some() && s.has_secret {
        return Plan::done();
    }
    if !cluster.infrastructure_is_provisioned() {
        return Plan::wait_for("the Cluster's infrastructure");
    }
    if !cluster.control_plane_is_initialized() && !s.is_first {
        return Plan::wait_for("the control plane");
    }
    let left = left();
    if !left.is_zero() {
        return Plan::done().ending(End::After(left));
    }
    let mut plan = Plan::done();
    if !s.has_secret {
        // Two machines of the same second look equally old, but only one of them can come before the control plane.
        let initialises = s.is_first && !cluster.control_plane_is_initialized();
        plan.create_value(ResourceKind::of::<Secret>(), old.key(), secret(old, machine, initialises));
    }
    let mut new = KubeadmConfig::clone(old);
    let status = new.status.get_or_insert_default();
    status.data_secret_name = Some(old.key().name);
    status.initialization = Some(DataSecretCreated { data_secret_created: Some(true) });
    status.observed_generation = old.metadata.generation;
    for saying in [
        Saying::of("Ready", true, "Ready", "NotReady"),
        Saying::of("CertificatesAvailable", true, "Available", "NotAvailable"),
        Saying::of("DataSecretAvailable", true, "Available", "NotAvailable"),
    ] {
        say(&mut status.conditions, saying, &s.now, old.metadata.generation);
    }
    plan.update(&**old, &new);
    plan
}

/// The Secret: what kubeadm would get, as cloud-config. JSON is YAML.
fn secret(config: &KubeadmConfig, machine: &Machine, first: bool) -> Value {
    let command = if first { "init" } else { "join" };
    let format = config.spec.get("format").and_then(Value::as_str).unwrap_or("cloud-config");
    // Servers differ in the order of keys; the text must not.
    let mut spec = Value::Object(config.spec.clone());
    spec.sort_all_objects();
    let body = serde_json::to_string_pretty(&spec).unwrap_or_default();
    let text = format!("## template: jinja\n#cloud-config\n# kubeadm {command}\n{body}\n");
    let key = config.key();
    json!({
        "metadata": {"name": key.name, "namespace": key.namespace,
            "labels": {label::CLUSTER_NAME: machine.spec.cluster_name},
            "ownerReferences": [owner_reference(config, true)]},
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": BASE64_STANDARD.encode(text), "format": BASE64_STANDARD.encode(format)},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(provisioned: bool, initialized: bool, is_first: bool) -> Snapshot {
        let cluster = json!({"metadata": {"name": "c", "namespace": "metal3"}, "status": {"initialization":
            {"infrastructureProvisioned": provisioned, "controlPlaneInitialized": initialized}}});
        let machine = json!({"metadata": {"name": "m", "namespace": "metal3"}, "spec": {"clusterName": "c"}});
        Snapshot {
            config: Arc::new(
                serde_json::from_value(json!({"metadata": {"name": "m", "namespace": "metal3", "uid": "u"},
                    "spec": {"files": []}}))
                .unwrap(),
            ),
            machine: serde_json::from_value(machine).map(Arc::new).ok(),
            cluster: serde_json::from_value(cluster).map(Arc::new).ok(),
            is_first,
            has_secret: false,
            now: "2026-08-01T00:00:00Z".to_owned(),
        }
    }

    #[test]
    fn only_the_first_control_plane_machine_goes_before_the_control_plane() {
        let rows = [
            ((false, false, true), "waits: the Cluster's infrastructure"),
            ((true, false, false), "waits: the control plane"),
            ((true, false, true), "create Secret metal3/m"),
            ((true, true, false), "create Secret metal3/m"),
        ];
        for ((provisioned, initialized, first), expected) in rows {
            let plan = decide(&snapshot(provisioned, initialized, first), || Duration::ZERO);
            assert!(plan.to_string().starts_with(expected), "{plan}");
        }
    }

    #[test]
    fn the_status_names_the_secret_and_a_second_pass_writes_nothing() {
        let mut s = snapshot(true, true, false);
        let plan = decide(&s, || Duration::ZERO);
        assert!(plan.to_string().contains("\"dataSecretName\":\"m\""), "{plan}");
        assert!(plan.to_string().contains("\"dataSecretCreated\":true"), "{plan}");
        s.has_secret = true;
        s.config = Arc::new(
            serde_json::from_value(json!({"metadata": {"name": "m", "namespace": "metal3"}, "status":
                {"dataSecretName": "m", "initialization": {"dataSecretCreated": true}}}))
            .unwrap(),
        );
        assert!(decide(&s, || Duration::ZERO).is_quiet());
    }

    #[test]
    fn the_secret_is_owned_by_the_config_and_holds_value_and_format() {
        let s = snapshot(true, true, true);
        let secret = secret(&s.config, s.machine.as_ref().unwrap(), true);
        assert_eq!(secret["type"], "cluster.x-k8s.io/secret");
        assert_eq!(secret["metadata"]["ownerReferences"][0]["kind"], "KubeadmConfig");
        assert_eq!(secret["metadata"]["ownerReferences"][0]["controller"], true);
        let text = BASE64_STANDARD.decode(secret["data"]["value"].as_str().unwrap()).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("kubeadm init"));
        assert!(secret["data"]["format"].is_string());
    }
}

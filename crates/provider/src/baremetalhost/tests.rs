//! Tables of what a reader makes of a host's reservation and of its pause.

use capm3_api::{
    neighbours::MachineDeployment,
    vocabulary::{annotation, label},
};
use capm3_engine::Caches;
use serde_json::{Value, json};

use super::*;
use crate::kinds;

fn put<K: Object>(caches: &Caches, value: Value) {
    caches.store::<K>().unwrap().apply(serde_json::from_value(value).unwrap());
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "resourceVersion": "1"}})
}

/// What is made of a host that is reserved so, with this spec of its Cluster and this control plane.
fn seen(reservation: &str, cluster: Value, control_plane: Option<Value>) -> HostSnapshot {
    let mut caches = Caches::default();
    kinds::register(&mut caches);
    put::<Cluster>(
        &caches,
        json!({"metadata": {"name": "c", "namespace": "ns", "resourceVersion": "1"}, "spec": cluster}),
    );
    put::<MachineDeployment>(&caches, named("md"));
    if let Some(control_plane) = control_plane {
        put::<KubeadmControlPlane>(&caches, control_plane);
    }
    put::<BareMetalHost>(
        &caches,
        json!({"metadata": {"name": "h", "namespace": "ns", "resourceVersion": "1",
                "labels": {label::NODE_REUSE: reservation}},
            "spec": {"consumerRef": {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c",
                "namespace": "ns"}}}),
    );
    observe(&caches, &ObjectKey::new("ns", "h")).unwrap()
}

#[test]
fn a_reservation_is_judged_by_its_owner() {
    let refers = |kind: &str| json!({"controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": kind, "name": "kcp"}});
    let kubeadm = || refers("KubeadmControlPlane");
    let paused = || {
        let mut spec = kubeadm();
        spec["paused"] = json!(true);
        spec
    };
    let mut leaving = named("kcp");
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    leaving["metadata"]["finalizers"] = json!(["f"]);
    let (stands, is_over) = ((None, false), (None, true));
    let absent = |owner: &str| (Some(owner.to_owned()), false);
    let table = [
        ("the control plane is there", "cp-kcp", kubeadm(), Some(named("kcp")), stands.clone()),
        ("it is being deleted", "cp-kcp", kubeadm(), Some(leaving), is_over.clone()),
        ("it is not there", "cp-kcp", kubeadm(), None, absent("KubeadmControlPlane ns/kcp")),
        ("it is not there during a move", "cp-kcp", paused(), None, stands.clone()),
        ("the Cluster has another one", "cp-old", kubeadm(), Some(named("kcp")), is_over),
        (
            "its kind is not watched",
            "cp-kcp",
            refers("OtherControlPlane"),
            None,
            absent("OtherControlPlane ns/kcp"),
        ),
        (
            "a namesake of another kind",
            "cp-kcp",
            refers("OtherControlPlane"),
            Some(named("kcp")),
            absent("OtherControlPlane ns/kcp"),
        ),
        ("its kind is not given", "cp-kcp", refers(""), None, stands.clone()),
        ("the Cluster names none", "cp-kcp", json!({}), None, stands.clone()),
        ("the deployment is there", "md-md", json!({}), None, stands),
        ("the deployment is not there", "md-other", json!({}), None, absent("MachineDeployment ns/other")),
    ];
    for (what, reservation, cluster, control_plane, expected) in table {
        let seen = seen(reservation, cluster, control_plane);
        assert_eq!((seen.absent.map(|a| a.to_string()), seen.reservation_is_over), expected, "{what}");
    }
}

#[test]
fn only_a_pause_of_ours_ends_with_that_of_the_cluster() {
    let ours = annotation::HOST_PAUSED_BY_US;
    for (what, mark, labelled, cluster, expected) in [
        ("not paused", None, "c", json!({"paused": true}), false),
        ("paused with its Cluster", Some(ours), "c", json!({"paused": true}), true),
        ("the Cluster works again", Some(ours), "c", json!({}), false),
        ("paused by somebody else", Some("mine"), "c", json!({}), true),
        ("the Cluster is not there", Some(ours), "other", json!({}), true),
    ] {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        put::<Cluster>(&caches, json!({"metadata": named("c")["metadata"], "spec": cluster}));
        let mut host = named("h");
        host["metadata"]["labels"] = json!({label::CLUSTER_NAME: labelled});
        host["metadata"]["annotations"] =
            mark.map_or(json!({}), |mark| json!({annotation::HOST_PAUSED: mark}));
        put::<BareMetalHost>(&caches, host);
        assert_eq!(observe(&caches, &ObjectKey::new("ns", "h")).unwrap().rests, expected, "{what}");
    }
}

#[test]
fn only_a_host_that_nobody_can_have_is_freed_of_the_block_on_moving() {
    let reference = |kind: &str, namespace: &str| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "name": "w", "namespace": namespace});
    for (what, consumer, is_known, expected) in [
        ("nobody", Value::Null, false, true),
        ("a machine elsewhere", reference("Metal3Machine", "other"), false, true),
        ("a machine elsewhere, but one here knows it", reference("Metal3Machine", "other"), true, false),
        ("its machine", reference("Metal3Machine", "ns"), true, false),
        ("a machine that is not there", reference("Metal3Machine", "ns"), false, false),
        ("another kind elsewhere", reference("HostClaim", "other"), false, false),
    ] {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        if is_known {
            let mut machine = named("w");
            machine["metadata"]["annotations"] = json!({annotation::HOST: "ns/h"});
            machine["spec"] = json!({"image": {"url": "http://i"}});
            put::<Metal3Machine>(&caches, machine);
        }
        let mut host = named("h");
        host["spec"] = json!({"consumerRef": consumer});
        put::<BareMetalHost>(&caches, host);
        assert_eq!(observe(&caches, &ObjectKey::new("ns", "h")).unwrap().is_nobodys, expected, "{what}");
    }
}

#[test]
fn a_host_that_a_living_machine_knows_is_looked_after_whomever_it_names() {
    let known = |note: Value, id: Option<&str>| {
        let mut machine = named("w");
        machine["metadata"]["annotations"] = note;
        machine["spec"] = json!({"image": {"url": "http://i"}, "providerID": id});
        machine
    };
    let mut goes = known(json!({annotation::HOST: "ns/h"}), None);
    goes["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for (what, machine, expected) in [
        ("recorded", known(json!({annotation::HOST: "ns/h"}), None), None),
        ("identified", known(json!({}), Some("metal3://ns/h/w")), None),
        ("identified by uid", known(json!({}), Some("metal3://uid-h")), None),
        (
            "another host",
            known(json!({annotation::HOST: "ns/other"}), None),
            Some("Metal3Machine ns/gone, which consumes this host, is not found"),
        ),
        ("on its way out", goes, Some("Metal3Machine ns/gone, which consumes this host, is not found")),
    ] {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        put::<Metal3Machine>(&caches, machine);
        let mut host = named("h");
        host["metadata"]["uid"] = json!("uid-h");
        host["spec"] = json!({"consumerRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "Metal3Machine", "name": "gone", "namespace": "ns"}});
        put::<BareMetalHost>(&caches, host);
        let orphan = observe(&caches, &ObjectKey::new("ns", "h")).unwrap().orphan;
        assert_eq!(orphan.map(|orphan| orphan.to_string()).as_deref(), expected, "{what}");
    }
}

#[test]
fn a_host_in_use_is_orphaned_if_its_machine_is_there_without_a_record_of_it() {
    let machine = |name: &str, note: Value| {
        let mut machine = named(name);
        machine["metadata"]["annotations"] = note;
        machine["spec"] = json!({"image": {"url": "http://i"}});
        machine
    };
    let mut goes = machine("w", json!({}));
    goes["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    goes["metadata"]["finalizers"] = json!(["f"]);
    let image = || json!({"url": "http://i"});
    for (what, machines, image, is_orphan) in [
        ("no record", vec![machine("w", json!({}))], image(), true),
        ("no record of a blank host", vec![machine("w", json!({}))], Value::Null, false),
        ("recorded", vec![machine("w", json!({annotation::HOST: "ns/h"}))], image(), false),
        ("on its way out", vec![goes], image(), false),
        (
            "recorded by another",
            vec![machine("w", json!({})), machine("x", json!({annotation::HOST: "ns/h"}))],
            image(),
            false,
        ),
    ] {
        let mut caches = Caches::default();
        kinds::register(&mut caches);
        for machine in machines {
            put::<Metal3Machine>(&caches, machine);
        }
        let mut host = named("h");
        host["spec"] = json!({"image": image, "consumerRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "Metal3Machine", "name": "w", "namespace": "ns"}});
        put::<BareMetalHost>(&caches, host);
        let orphan = observe(&caches, &ObjectKey::new("ns", "h")).unwrap().orphan;
        let expected = is_orphan.then(|| Orphan::NotRecorded(ObjectKey::new("ns", "w")));
        assert_eq!(orphan, expected, "{what}");
    }
}

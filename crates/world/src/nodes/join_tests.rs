//! Joining as tables.

use serde_json::Value;

use super::*;

fn snapshot<'a>(data: &'a NodeData, initialized: bool, leads: bool, powered: bool) -> Snapshot<'a> {
    let labels = if leads { json!({"cluster.x-k8s.io/control-plane": ""}) } else { json!({}) };
    let host = json!({"metadata": {"name": "host-1", "namespace": "metal3", "uid": "u-1"},
        "status": {"poweredOn": powered, "provisioning": {"state": "provisioned"},
            "hardware": {"nics": [{"ip": "172.22.0.9"}, {"name": "no-address"}]}}});
    let cluster = json!({"metadata": {"name": "c"}, "status": {"initialization": {"controlPlaneInitialized": initialized}}});
    let spec = json!({"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs":
        {"node-labels": "metal3.io/uuid={{ ds.meta_data.uuid }}"}}}});
    Snapshot {
        cast: Cast::Everybody,
        running: Running {
            host: Arc::new(serde_json::from_value(host).unwrap()),
            consumer: Arc::new(
                serde_json::from_value(json!({"metadata": {"name": "m", "labels": labels}})).unwrap(),
            ),
            cluster: Arc::new(serde_json::from_value(cluster).unwrap()),
        },
        registration: registration(spec.as_object().unwrap(), false),
        version: kubelet_version(Cast::Everybody, None),
        data,
        node: None,
        kubelet: Kubelet::Runs,
        now: "2026-08-01T00:00:00Z".to_owned(),
    }
}

fn data() -> NodeData {
    let meta_data =
        [("uuid", "u-1"), ("local-hostname", "node-1")].map(|(k, v)| (k.to_owned(), Value::from(v)));
    NodeData { meta_data: meta_data.into(), ..NodeData::default() }
}

#[test]
fn a_node_joins_when_the_control_plane_is_up_or_it_is_the_control_plane() {
    let data = data();
    let rows = [
        ((false, false, true), "waits: the control plane"),
        ((false, true, true), "create Node node-1\ncontinues at once"),
        ((true, false, true), "create Node node-1\ncontinues at once"),
        ((true, false, false), "waits: the host's power"),
    ];
    for ((initialized, leads, powered), expected) in rows {
        let plan = decide(&snapshot(&data, initialized, leads, powered), || Duration::ZERO);
        assert_eq!(plan.to_string(), expected);
    }
    let left = Duration::from_secs(3);
    assert_eq!(decide(&snapshot(&data, true, false, true), || left), Plan::done().ending(End::After(left)));
}

#[test]
fn a_node_brings_its_labels_and_says_where_it_runs() {
    let data = data();
    let mut s = snapshot(&data, true, true, true);
    let node = fresh(&s, true);
    let labels = node.metadata.labels.clone().unwrap();
    assert_eq!(labels["metal3.io/uuid"], "u-1");
    assert_eq!(labels["kubernetes.io/hostname"], "node-1");
    assert!(labels.contains_key("node-role.kubernetes.io/control-plane"));
    s.node = Some(Arc::new(node));
    let text = decide(&s, || Duration::ZERO).to_string();
    for part in
        ["\"systemUUID\":\"u-1\"", "\"address\":\"172.22.0.9\"", "\"type\":\"Ready\"", "\"status\":\"True\""]
    {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_node_is_at_rest_once_it_has_reported_everything_until_the_power_is_off() {
    let data = data();
    let mut s = snapshot(&data, true, false, true);
    let mut node = fresh(&s, false);
    report(&s, &mut node, true);
    s.node = Some(Arc::new(node.clone()));
    s.now = "2026-08-01T01:00:00Z".to_owned();
    assert!(decide(&s, || Duration::ZERO).is_quiet());
    let mut dark = snapshot(&data, true, false, false);
    dark.node = Some(Arc::new(node));
    assert!(decide(&dark, || Duration::ZERO).to_string().contains("\"status\":\"Unknown\""));
}

/// A snapshot with the node that the kubelet of it would have registered, ready and with this annotation.
fn registered<'a>(data: &'a NodeData, fail: Option<&str>) -> Snapshot<'a> {
    let mut s = snapshot(data, true, false, true);
    let mut node = fresh(&s, false);
    report(&s, &mut node, true);
    node.metadata.annotations =
        fail.map(|value| [("capm3.example/fail".to_owned(), value.to_owned())].into());
    s.node = Some(Arc::new(node));
    s
}

#[test]
fn a_kubelet_that_hangs_is_believed_for_a_while_and_then_unknown() {
    let data = data();
    let mut s = registered(&data, Some("hang"));
    s.kubelet = Kubelet::Hangs;
    assert_eq!(phase(&s), Some(Phase::NodeMonitorGrace));
    let plan = decide(&s, || Duration::from_secs(4));
    let annotates = "patch Node node-1 {\"metadata\":{\"annotations\":{\"capm3.example/fail\":\"hanging\"}}}";
    assert_eq!(plan.to_string(), format!("{annotates}\ncontinues after 4s"));
    let text = decide(&s, || Duration::ZERO).to_string();
    assert!(text.contains("\"status\":\"Unknown\"") && text.contains("NodeStatusUnknown"), "{text}");
}

#[test]
fn a_kubelet_that_runs_again_boots_and_takes_the_annotation_away() {
    let data = data();
    let mut s = registered(&data, Some("hanging"));
    let mut node = Node::clone(s.node.as_ref().unwrap());
    report(&s, &mut node, false);
    s.node = Some(Arc::new(node));
    assert_eq!(phase(&s), Some(Phase::Join));
    let text = decide(&s, || Duration::ZERO).to_string();
    assert!(text.contains("\"annotations\":null") || text.contains("\"capm3.example/fail\":null"), "{text}");
    assert!(text.contains("KubeletReady"), "{text}");
}

#[test]
fn a_node_that_was_deleted_is_registered_again_only_by_a_kubelet_that_runs() {
    let data = data();
    let rows = [
        (Kubelet::Runs, true, "create Node node-1\ncontinues at once"),
        (Kubelet::Runs, false, "waits: the host's power"),
        (Kubelet::Hangs, true, "waits: a power cycle of the host"),
        (Kubelet::Dead, true, "waits: another image on the host"),
    ];
    for (kubelet, powered, expected) in rows {
        let s = Snapshot { kubelet, ..snapshot(&data, true, false, powered) };
        assert_eq!(decide(&s, || Duration::ZERO).to_string(), expected);
    }
}

#[test]
fn beside_a_real_cluster_api_the_kubelet_has_the_version_that_was_asked_for() {
    let machine: Machine = serde_json::from_value(json!({"spec": {"version": "v1.31.0"}})).unwrap();
    assert_eq!(kubelet_version(Cast::HostsAndNodes, Some(&machine)), "v1.31.0");
    assert_eq!(kubelet_version(Cast::Everybody, Some(&machine)), "v1.0.0-simulated");
}

#[test]
fn beside_a_real_cluster_api_a_node_has_the_taint_of_its_role_and_says_all_that_is_looked_at() {
    let data = data();
    for (leads, expected) in
        [(true, "node-role.kubernetes.io/control-plane"), (false, "node.cluster.x-k8s.io/uninitialized")]
    {
        let mut s = snapshot(&data, true, leads, true);
        assert_eq!(fresh(&s, leads).spec.unwrap().taints, None);
        s.cast = Cast::HostsAndNodes;
        let mut node = fresh(&s, leads);
        let taints = node.spec.clone().unwrap().taints.unwrap();
        assert_eq!(taints.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), [expected]);
        report(&s, &mut node, true);
        let conditions = node.status.unwrap().conditions.unwrap();
        let shown: Vec<String> = conditions.iter().map(|it| format!("{} {}", it.type_, it.status)).collect();
        assert_eq!(shown, ["Ready True", "MemoryPressure False", "DiskPressure False", "PIDPressure False"]);
    }
}

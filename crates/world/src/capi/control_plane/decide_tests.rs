//! Control planes as tables.

use serde_json::{Value, json};

use super::*;

fn machine(name: &str, domain: &str, more: Value) -> Arc<Machine> {
    let mut value = json!({"metadata": {"name": name, "namespace": "metal3", "uid": name, "resourceVersion": "1",
            "annotations": {PRE_TERMINATE_CONTROL_PLANE: ""}, "creationTimestamp": "2026-08-01T00:00:00Z"},
        "spec": {"clusterName": "c", "version": "v1", "failureDomain": domain},
        "status": {"nodeRef": {"name": name}}});
    json_patch::merge(&mut value, &more);
    Arc::new(serde_json::from_value(value).unwrap())
}

fn snapshot(replicas: i32, machines: Vec<Arc<Machine>>) -> Snapshot {
    let cluster = json!({"metadata": {"name": "c", "namespace": "metal3", "uid": "uc"},
        "spec": {"controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443}},
        "status": {"initialization": {"infrastructureProvisioned": true},
            "failureDomains": [{"name": "a", "controlPlane": true}, {"name": "b", "controlPlane": true},
                {"name": "w"}]}});
    let control_plane = json!({"metadata": {"name": "cp", "namespace": "metal3", "uid": "ucp"},
        "spec": {"replicas": replicas, "version": "v1",
            "machineTemplate": {"spec": {"infrastructureRef": {"name": "t"}, "deletion": {"nodeDrainTimeoutSeconds": 1}}},
            "kubeadmConfigSpec": {"initConfiguration": {"i": 1}, "joinConfiguration": {"j": 1}, "files": []}}});
    Snapshot {
        control_plane: Arc::new(serde_json::from_value(control_plane).unwrap()),
        cluster: serde_json::from_value(cluster).map(Arc::new).ok(),
        sources: vec![Some("t".to_owned()); machines.len()],
        machines,
        template: serde_json::from_value(json!({"metadata": {"name": "t", "namespace": "metal3"}}))
            .map(Arc::new)
            .ok(),
        begun: Vec::new(),
        has_kubeconfig: true,
        kubeconfig: "text".to_owned(),
        now: "2026-08-01T00:00:00Z".to_owned(),
    }
}

fn created(plan: &Plan, kind: &str) -> Option<Value> {
    plan.writes.iter().find_map(|write| match write {
        capm3_engine::Write::Create { kind: k, object, .. } if k.kind == kind => Some(object.clone()),
        _ => None,
    })
}

fn deleted(plan: &Plan) -> Vec<String> {
    let names = plan.writes.iter().filter_map(|write| match write {
        capm3_engine::Write::Delete { key, .. } => Some(key.name.clone()),
        _ => None,
    });
    names.collect()
}

fn decided(s: &Snapshot) -> Plan {
    decide(s, &Rng::seeded(1))
}

#[test]
fn the_first_machine_initialises_and_carries_everything_that_the_provider_reads() {
    let plan = decided(&snapshot(3, Vec::new()));
    let machine = created(&plan, "Machine").unwrap();
    let name = machine["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("cp-") && name.len() == 8, "{name}");
    assert_eq!(
        machine["metadata"]["labels"],
        json!({"cluster.x-k8s.io/cluster-name": "c",
        "cluster.x-k8s.io/control-plane": "", "cluster.x-k8s.io/control-plane-name": "cp"})
    );
    assert_eq!(machine["metadata"]["ownerReferences"][0]["controller"], true);
    assert_eq!(machine["spec"]["failureDomain"], "a");
    assert_eq!(machine["spec"]["deletion"], json!({"nodeDrainTimeoutSeconds": 1}));
    assert_eq!(machine["spec"]["infrastructureRef"]["name"], name);
    let infrastructure = created(&plan, "Metal3Machine").unwrap();
    assert_eq!(
        infrastructure["metadata"]["annotations"],
        json!({"cluster.x-k8s.io/cloned-from-name": "t",
        "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"})
    );
    assert_eq!(infrastructure["metadata"]["ownerReferences"][0].get("controller"), None);
    let config = created(&plan, "KubeadmConfig").unwrap();
    assert_eq!(config["spec"], json!({"initConfiguration": {"i": 1}, "files": []}));
}

#[test]
fn further_machines_join_one_by_one_after_the_last_one_has_a_node() {
    let waiting = machine("m1", "a", json!({"status": {"nodeRef": null}}));
    assert!(created(&decided(&snapshot(3, vec![waiting])), "Machine").is_none());
    let plan = decided(&snapshot(3, vec![machine("m1", "a", json!({}))]));
    assert_eq!(created(&plan, "Machine").unwrap()["spec"]["failureDomain"], "b");
    let config = created(&plan, "KubeadmConfig").unwrap();
    assert_eq!(config["spec"]["joinConfiguration"], json!({"j": 1, "controlPlane": {}}));
    assert_eq!(config["spec"].get("initConfiguration"), None);
}

#[test]
fn nothing_happens_while_a_machine_is_going() {
    let going = machine("m1", "a", json!({"metadata": {"deletionTimestamp": "2026-08-01T00:00:00Z"}}));
    let plan = decided(&snapshot(3, vec![going]));
    assert!(created(&plan, "Machine").is_none() && deleted(&plan).is_empty());
}

#[test]
fn scaling_down_takes_the_oldest_of_the_fullest_domain_unless_one_is_marked() {
    let three = |more: Value| {
        vec![machine("m1", "a", json!({})), machine("m2", "b", json!({})), machine("m3", "b", more)]
    };
    assert_eq!(deleted(&decided(&snapshot(1, three(json!({}))))), ["m2"]);
    let mark = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}});
    assert_eq!(deleted(&decided(&snapshot(1, three(mark)))), ["m3"]);
    assert!(deleted(&decided(&snapshot(3, three(json!({}))))).is_empty());
}

#[test]
fn a_machine_that_remediation_gave_up_is_replaced() {
    let machines = vec![machine("m1", "a", json!({})), machine("m2", "b", given_up())];
    assert_eq!(deleted(&decided(&snapshot(2, machines))), ["m2"]);
}

fn given_up() -> Value {
    let condition = |type_: &str| json!({"type": type_, "status": "False"});
    json!({"status": {"conditions": [condition("HealthCheckSucceeded"), condition("OwnerRemediated")]}})
}

#[test]
fn a_machine_is_replaced_only_while_the_others_keep_the_control_plane_alive() {
    let failing = || json!({"status": {"conditions": [{"type": "HealthCheckSucceeded", "status": "False"}]}});
    let joining = || json!({"status": {"nodeRef": null}});
    let rows = [
        // (what the other machines are, what goes)
        (vec![json!({}), json!({})], "m0"),
        (vec![json!({}), failing()], ""),
        (vec![json!({}), given_up()], ""),
        (vec![json!({}), json!({}), json!({}), given_up()], "m0"),
        (vec![json!({}), json!({}), joining()], ""),
        (vec![], ""),
    ];
    for (others, expected) in rows {
        let mut machines = vec![machine("m0", "a", given_up())];
        let other = |(number, more): (usize, &Value)| machine(&format!("m{}", number + 1), "b", more.clone());
        machines.extend(others.iter().enumerate().map(other));
        let wanted = i32::try_from(machines.len()).unwrap();
        let mut s = snapshot(wanted, machines);
        let mut control_plane = KubeadmControlPlane::clone(&s.control_plane);
        control_plane.status =
            serde_json::from_value(json!({"initialization": {"controlPlaneInitialized": true}})).unwrap();
        s.control_plane = Arc::new(control_plane);
        assert_eq!(deleted(&decided(&s)).join(" "), expected, "{others:?}");
    }
}

#[test]
fn the_first_machine_may_be_replaced_before_there_is_a_control_plane() {
    let mut first = given_up();
    first["status"]["nodeRef"] = Value::Null;
    assert_eq!(deleted(&decided(&snapshot(1, vec![machine("m0", "a", first)]))), ["m0"]);
}

#[test]
fn an_outdated_machine_is_replaced_with_surge_first() {
    let machines =
        || vec![machine("m1", "a", json!({"spec": {"version": "v0"}})), machine("m2", "b", json!({}))];
    let plan = decided(&snapshot(2, machines()));
    assert!(created(&plan, "Machine").is_some() && deleted(&plan).is_empty());
    let mut third = machines();
    third.push(machine("m3", "a", json!({})));
    assert_eq!(deleted(&decided(&snapshot(2, third))), ["m1"]);
    let mut other_template = snapshot(1, vec![machine("m1", "a", json!({}))]);
    other_template.sources = vec![Some("old".to_owned())];
    assert!(created(&decided(&other_template), "Machine").is_some());
}

#[test]
fn the_hook_goes_when_the_machine_waits_for_it() {
    let going = |reason: &str| {
        machine(
            "m1",
            "a",
            json!({"metadata": {"deletionTimestamp": "2026-08-01T00:00:00Z"},
            "status": {"conditions": [{"type": "Deleting", "status": "True", "reason": reason}]}}),
        )
    };
    let released =
        |reason| decided(&snapshot(3, vec![going(reason)])).to_string().contains("kcp-cleanup\":null");
    assert!(released(WAITING_FOR_PRE_TERMINATE));
    assert!(!released("DrainingNode"));
}

#[test]
fn nothing_is_made_before_the_infrastructure_and_the_kubeconfig_comes_with_it() {
    let mut s = snapshot(1, Vec::new());
    s.has_kubeconfig = false;
    assert!(decided(&s).to_string().contains("create Secret metal3/c-kubeconfig"));
    s.cluster = serde_json::from_value(json!({"metadata": {"name": "c"}})).map(Arc::new).ok();
    assert!(decided(&s).writes.iter().all(|w| !w.to_string().starts_with("create")));
}

#[test]
fn deletion_takes_all_machines_and_their_hooks_then_the_finalizer() {
    let mut s = snapshot(3, vec![machine("m1", "a", json!({})), machine("m2", "b", json!({}))]);
    let mut going = KubeadmControlPlane::clone(&s.control_plane);
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-08-01T00:00:00Z")).unwrap();
    going.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    s.control_plane = Arc::new(going);
    let plan = decided(&s);
    assert_eq!(deleted(&plan), ["m1", "m2"]);
    assert_eq!(plan.to_string().matches("kcp-cleanup\":null").count(), 2);
    s.machines.clear();
    assert!(decided(&s).to_string().contains("\"finalizers\":[]"));
}

#[test]
fn the_template_of_an_older_document_is_found() {
    let older: KubeadmControlPlane =
        serde_json::from_value(json!({"spec": {"machineTemplate": {"infrastructureRef": {"name": "t"}}}}))
            .unwrap();
    assert_eq!(older.template_name(), Some("t"));
}

//! MachineSets as tables.

use serde_json::{Value, json};

use super::*;

fn machine(name: &str, born: u32, kind: &str) -> Arc<Machine> {
    let mut value = json!({"metadata": {"name": name, "namespace": "metal3", "creationTimestamp": format!("2026-08-0{born}T00:00:00Z")},
        "status": {"nodeRef": {"name": name}, "conditions": [{"type": "Ready", "status": "True"}, {"type": "Available", "status": "True"}]}});
    match kind {
        "going" => value["metadata"]["deletionTimestamp"] = json!("2026-08-09T00:00:00Z"),
        "marked" => value["metadata"]["annotations"] = json!({"cluster.x-k8s.io/delete-machine": ""}),
        "new" => value["status"] = Value::Null,
        "given up" => {
            let condition = |type_: &str| json!({"type": type_, "status": "False"});
            value["status"]["conditions"] =
                json!([condition("HealthCheckSucceeded"), condition("OwnerRemediated")]);
        }
        _ => {}
    }
    Arc::new(serde_json::from_value(value).unwrap())
}

fn snapshot(replicas: i32, order: &str, machines: Vec<Arc<Machine>>) -> Snapshot {
    let set = json!({"metadata": {"name": "ms", "namespace": "metal3", "uid": "u"},
        "spec": {"clusterName": "c", "replicas": replicas, "deletion": {"order": order},
            "template": {"metadata": {"labels": {"team": "x"}}, "spec": {"clusterName": "c", "failureDomain": "rack2",
                "bootstrap": {"configRef": {"name": "kt"}}, "infrastructureRef": {"name": "t"}}}}});
    let template = json!({"metadata": {"name": "t", "namespace": "metal3"},
        "spec": {"template": {"spec": {"image": {"url": "u"}, "anything": {"else": 1}}}}});
    let config = json!({"metadata": {"name": "kt", "namespace": "metal3"},
        "spec": {"template": {"spec": {"joinConfiguration": {}}}}});
    let count = |says: &str| machines.iter().filter(|m| m.says(says)).count();
    let counts = Counts { there: machines.len(), ready: count("Ready"), available: count("Available") };
    Snapshot {
        counts,
        set: Arc::new(serde_json::from_value(set).unwrap()),
        cluster: Some(Arc::new(Cluster::default())),
        machines,
        is_current: true,
        template: serde_json::from_value(template).map(Arc::new).ok(),
        config_template: serde_json::from_value(config).map(Arc::new).ok(),
        begun: Vec::new(),
        now: "2026-08-01T00:00:00Z".to_owned(),
    }
}

fn deleted(s: &Snapshot) -> String {
    let plan = decide(s, &Rng::seeded(1));
    let name = |write: &capm3_engine::Write| match write {
        capm3_engine::Write::Delete { key, .. } => Some(key.name.clone()),
        _ => None,
    };
    plan.writes.iter().filter_map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn all_missing_machines_are_made_at_once_bootstrap_first() {
    let plan = decide(&snapshot(3, "Random", vec![machine("m", 1, "")]), &Rng::seeded(1));
    let made: Vec<(String, Value)> = plan
        .writes
        .iter()
        .filter_map(|write| match write {
            capm3_engine::Write::Create { kind, object, .. } => Some((kind.kind.clone(), object.clone())),
            _ => None,
        })
        .collect();
    let kinds: Vec<&str> = made.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["KubeadmConfig", "Metal3Machine", "Machine", "KubeadmConfig", "Metal3Machine", "Machine"]
    );
    let (infrastructure, machine) = (&made[1].1, &made[2].1);
    assert_eq!(
        infrastructure["spec"],
        json!({"image": {"url": "u"}, "anything": {"else": 1}}),
        "an exact copy"
    );
    assert_eq!(machine["spec"]["failureDomain"], "rack2");
    assert_eq!(
        machine["metadata"]["labels"],
        json!({"team": "x", "cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/set-name": "ms"})
    );
    assert_eq!(machine["metadata"]["labels"], infrastructure["metadata"]["labels"]);
    assert_ne!(made[2].1["metadata"]["name"], made[5].1["metadata"]["name"]);
}

#[test]
fn without_its_templates_a_set_waits() {
    let mut s = snapshot(1, "Random", Vec::new());
    s.config_template = None;
    assert!(decide(&s, &Rng::seeded(1)).to_string().ends_with("waits: its KubeadmConfigTemplate"));
    s.template = None;
    assert!(decide(&s, &Rng::seeded(1)).to_string().ends_with("waits: its Metal3MachineTemplate"));
}

/// Status, reason and message of a condition that the set reports.
fn says(s: &Snapshot, condition: &str) -> (String, String, String) {
    let conditions = super::status::of(s).conditions;
    let found = conditions.into_iter().find(|c| c.type_ == condition).unwrap();
    (found.status, found.reason, found.message)
}

#[test]
fn the_machines_of_a_set_are_up_to_date_together_or_not_at_all() {
    let mut s = snapshot(1, "Random", vec![machine("m", 1, "")]);
    assert_eq!(super::status::of(&s).up_to_date_replicas, Some(1));
    s.is_current = false;
    assert_eq!(super::status::of(&s).up_to_date_replicas, Some(0));
}

#[test]
fn a_set_without_its_templates_says_that_it_has_no_ready_machines_and_why() {
    let reported = |replicas: i32, machines: Vec<Arc<Machine>>, has_config: bool, has_template: bool| {
        let mut s = snapshot(replicas, "Random", machines);
        s.config_template = s.config_template.filter(|_| has_config);
        s.template = s.template.filter(|_| has_template);
        let short =
            |(status, reason, message): (String, String, String)| format!("{status} {reason} {message}");
        [short(says(&s, "MachinesReady")), short(says(&s, "ScalingUp"))]
    };
    let none = Vec::new;
    let one = || vec![machine("m", 1, "")];
    let blocked = "True ScalingUp Scaling up from 0 to 2 replicas is blocked because:\n* ";
    let rows = [
        (reported(0, none(), true, true), ["True NoReplicas ".to_owned(), "False NotScalingUp ".to_owned()]),
        (
            reported(2, none(), true, true),
            ["True NoReplicas ".to_owned(), "True ScalingUp Scaling up from 0 to 2 replicas".to_owned()],
        ),
        (
            reported(2, none(), true, false),
            [
                "False NotReady Metal3MachineTemplate does not exist".to_owned(),
                format!("{blocked}Metal3MachineTemplate does not exist"),
            ],
        ),
        (
            reported(2, none(), false, false),
            [
                "False NotReady KubeadmConfigTemplate and Metal3MachineTemplate do not exist".to_owned(),
                format!("{blocked}KubeadmConfigTemplate and Metal3MachineTemplate do not exist"),
            ],
        ),
        (
            reported(1, one(), false, true),
            [
                "True Ready ".to_owned(),
                "False NotScalingUp Scaling up would be blocked because KubeadmConfigTemplate does not exist"
                    .to_owned(),
            ],
        ),
        (
            reported(1, vec![machine("m", 1, "new")], true, true),
            ["False NotReady ".to_owned(), "False NotScalingUp ".to_owned()],
        ),
    ];
    for (found, expected) in rows {
        assert_eq!(found, expected);
    }
}

#[test]
fn the_least_useful_machines_go_first() {
    let four = |kind: &str| {
        vec![machine("a", 1, ""), machine("b", 2, ""), machine("c", 3, kind), machine("d", 4, "")]
    };
    let rows = [
        ("Random", "", 3, "a"),
        ("Oldest", "", 3, "a"),
        ("Newest", "", 3, "d"),
        ("Oldest", "new", 3, "c"),
        ("Newest", "marked", 3, "c"),
        ("Random", "going", 3, ""),
        ("Random", "going", 2, "a"),
        ("Random", "", 4, ""),
        ("Random", "given up", 4, "c"),
    ];
    for (order, kind, replicas, expected) in rows {
        assert_eq!(deleted(&snapshot(replicas, order, four(kind))), expected, "{order} {kind} {replicas}");
    }
}

#[test]
fn deletion_takes_the_machines_first() {
    let mut s = snapshot(2, "Random", vec![machine("a", 1, ""), machine("b", 2, "going")]);
    let mut going = MachineSet::clone(&s.set);
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-08-01T00:00:00Z")).unwrap();
    going.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    s.set = Arc::new(going);
    assert_eq!(deleted(&s), "a");
    s.machines.clear();
    assert!(decide(&s, &Rng::seeded(1)).to_string().contains("\"finalizers\":[]"));
}

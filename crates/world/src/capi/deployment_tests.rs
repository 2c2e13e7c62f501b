//! MachineDeployments as tables.

use super::*;

fn deployment(replicas: i32, rollout: Value) -> MachineDeployment {
    serde_json::from_value(json!({"metadata": {"name": "md", "namespace": "metal3", "uid": "u"},
        "spec": {"clusterName": "c", "replicas": replicas, "rollout": {"strategy": rollout},
            "template": {"spec": {"clusterName": "c", "version": "v2"}}}}))
    .unwrap()
}

fn set(name: &str, version: &str, wanted: i32, there: i32, available: i32) -> Arc<MachineSet> {
    Arc::new(
        serde_json::from_value(json!({"metadata": {"name": name, "namespace": "metal3", "uid": name},
            "spec": {"clusterName": "c", "replicas": wanted, "template": {"spec": {"clusterName": "c", "version": version}}},
            "status": {"replicas": there, "availableReplicas": available}}))
        .unwrap(),
    )
}

fn snapshot(deployment: MachineDeployment, sets: Vec<Arc<MachineSet>>) -> Snapshot {
    Snapshot {
        deployment: Arc::new(deployment),
        cluster: Some(Arc::new(Cluster::default())),
        sets,
        now: "2026-08-01T00:00:00Z".to_owned(),
    }
}

/// `name=replicas` of each set that is resized, `-name` of each that is deleted.
fn changes(s: &Snapshot) -> String {
    let plan = decide(s, &Rng::seeded(1));
    let one = |write: &capm3_engine::Write| match write {
        capm3_engine::Write::Patch { kind, key, patch, .. } if kind.kind == "MachineSet" => {
            Some(format!("{}={}", key.name, patch.pointer("/spec/replicas")?))
        }
        capm3_engine::Write::Delete { key, .. } => Some(format!("-{}", key.name)),
        capm3_engine::Write::Create { object, .. } => {
            Some(format!("new={}", object.pointer("/spec/replicas")?))
        }
        _ => None,
    };
    plan.writes.iter().filter_map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_deployment_without_sets_makes_one_of_full_size() {
    assert_eq!(changes(&snapshot(deployment(3, json!({})), Vec::new())), "new=3");
}

#[test]
fn a_single_set_follows_the_size() {
    let current = || vec![set("new", "v2", 3, 3, 3)];
    assert_eq!(changes(&snapshot(deployment(5, json!({})), current())), "new=5");
    assert_eq!(changes(&snapshot(deployment(2, json!({})), current())), "new=2");
    assert_eq!(changes(&snapshot(deployment(3, json!({})), current())), "");
}

#[test]
fn a_new_template_is_rolled_out_within_the_limits() {
    let surge = json!({});
    let delete_first =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
    let rows = [
        // strategy, old (wanted, there, available), new, expected
        (&surge, (3, 3, 3), None, "new=1"),
        (&surge, (3, 3, 3), Some((1, 1, 0)), ""),
        (&surge, (3, 3, 3), Some((1, 1, 1)), "old=2"),
        (&surge, (2, 3, 3), Some((1, 1, 1)), ""),
        (&surge, (2, 2, 2), Some((1, 1, 1)), "new=2"),
        (&surge, (0, 0, 0), Some((3, 3, 3)), "-old"),
        (&delete_first, (3, 3, 3), None, "new=0"),
        (&delete_first, (3, 3, 3), Some((0, 0, 0)), "old=2"),
        (&delete_first, (2, 3, 2), Some((0, 0, 0)), ""),
        (&delete_first, (2, 2, 2), Some((0, 0, 0)), "new=1"),
        (&delete_first, (2, 2, 2), Some((1, 1, 0)), ""),
        (&delete_first, (2, 2, 2), Some((1, 1, 1)), "old=1"),
    ];
    for (strategy, old, new, expected) in rows {
        let mut sets = vec![set("old", "v1", old.0, old.1, old.2)];
        sets.extend(new.map(|n: (i32, i32, i32)| set("new", "v2", n.0, n.1, n.2)));
        assert_eq!(
            changes(&snapshot(deployment(3, strategy.clone()), sets)),
            expected,
            "{strategy} {old:?} {new:?}"
        );
    }
}

#[test]
fn percentages_round_up_for_surge_and_down_for_unavailability() {
    let strategy = json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
    assert_eq!(limits(&deployment(5, strategy)), (2, 1));
    assert_eq!(limits(&deployment(5, json!({}))), (1, 0));
}

#[test]
fn what_changes_in_place_does_not_make_a_new_set() {
    let mut changed = deployment(3, json!({}));
    changed.spec.template.spec.rest.insert("minReadySeconds".to_owned(), json!(5));
    let plan = decide(&snapshot(changed, vec![set("new", "v2", 3, 3, 3)]), &Rng::seeded(1));
    assert!(plan.to_string().contains("\"minReadySeconds\":5"), "{plan}");
    assert!(!plan.to_string().contains("create"));
}

#[test]
fn deletion_takes_the_sets_first() {
    let mut going = deployment(3, json!({}));
    going.metadata.deletion_timestamp = serde_json::from_value(json!("2026-08-01T00:00:00Z")).unwrap();
    assert_eq!(changes(&snapshot(going.clone(), vec![set("new", "v2", 3, 3, 3)])), "-new");
    going.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    assert!(decide(&snapshot(going, Vec::new()), &Rng::seeded(1)).to_string().contains("\"finalizers\":[]"));
}

use std::sync::Arc;

use super::*;
use crate::baremetalhost::Absent;

fn snapshot(host: Value) -> HostSnapshot {
    HostSnapshot {
        host: Arc::new(serde_json::from_value(host).unwrap()),
        orphan: None,
        absent: None,
        reservation_is_over: false,
        rests: false,
        left_off: Vec::new(),
        is_nobodys: true,
    }
}

fn host(value: Value) -> BareMetalHost {
    serde_json::from_value(value).unwrap()
}

fn used() -> Value {
    json!({"metadata": {"name": "h", "namespace": "ns", "labels": {label::CLUSTER_NAME: "c"},
            "annotations": {annotation::BLOCK_MOVE: "", annotation::RELEASE_HOST: "ns/m"}},
        "spec": {"online": true, "image": {"url": "http://i"}, "consumerRef": {"kind": "Metal3Machine",
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "name": "m", "namespace": "ns"}},
        "status": {"provisioning": {"state": "provisioned"}}})
}

fn machine() -> ObjectKey {
    ObjectKey::new("ns", "m")
}

#[test]
fn a_release_on_request_clears_the_host_then_waits_then_gives_it_back() {
    let clears = release(&host(used()), &machine(), false);
    assert!(clears.to_string().contains("\"image\":null"), "{clears}");
    let mut clean = used();
    clean["spec"]["image"] = Value::Null;
    clean["spec"]["online"] = json!(false);
    assert!(matches!(release(&host(clean.clone()), &machine(), false).end, End::WaitFor(_)));
    clean["status"]["provisioning"]["state"] = json!("available");
    let frees = release(&host(clean), &machine(), false);
    let text = frees.to_string();
    assert!(text.contains("\"consumerRef\":null"), "{text}");
    assert!(text.contains("capm3.metal3.io/release\":null"), "the request goes with the host: {text}");
    assert_eq!(frees.events[0].reason, event::HOST_RELEASED);
}

#[test]
fn a_request_stands_only_for_the_machine_that_the_host_names_and_that_is_not_found() {
    let named = |machine: &str| {
        let mut host = used();
        host["metadata"]["annotations"][annotation::RELEASE_HOST] = json!(machine);
        self::host(host)
    };
    let mut unrequested = used();
    unrequested["metadata"]["annotations"] = json!({});
    let not_found = Orphan::NotFound(machine());
    assert_eq!(judge_request(&host(unrequested), &not_found), Request::None);
    assert_eq!(judge_request(&named("ns/m"), &not_found), Request::Stands(machine()));
    for (requested, orphan, why) in [
        ("ns/other", not_found, "the request names ns/other, but the host is consumed by Metal3Machine ns/m"),
        ("ns/m", Orphan::NotRecorded(machine()), "Metal3Machine ns/m exists"),
        (
            "ns/m",
            Orphan::Unreadable { machine: machine(), state: String::new() },
            "exists, or another Metal3Machine names the host",
        ),
    ] {
        let Request::Refused(words) = judge_request(&named(requested), &orphan) else { panic!("{orphan}") };
        assert!(words.contains(why), "{words}");
    }
}

#[test]
fn a_request_for_a_host_that_is_not_orphaned_is_taken_off_and_changes_nothing_else() {
    let plan = decide(&snapshot(used()), false);
    assert_eq!(plan.events[0].reason, event::RELEASE_REFUSED);
    let text = plan.to_string();
    assert!(text.contains("capm3.metal3.io/release\":null") && !text.contains("image"), "{text}");
}

#[test]
fn an_orphaned_host_is_reported_and_not_touched() {
    for (orphan, advice) in [
        (Orphan::NotFound(machine()), "`capm3 release host/h -n ns` releases it"),
        (
            Orphan::NotRecorded(machine()),
            "set annotation metal3.io/BareMetalHost of the Metal3Machine to ns/h",
        ),
        (Orphan::Unreadable { machine: machine(), state: "is not served".into() }, "once the kind is served"),
    ] {
        let plan = report(&host(used()), &orphan);
        assert!(plan.writes.is_empty(), "{plan}");
        assert!(plan.events[0].warning && plan.events[0].message.contains(advice), "{plan}");
        let orphaned = HostSnapshot { orphan: Some(orphan), is_nobodys: false, ..snapshot(used()) };
        assert!(decide(&orphaned, true).is_quiet(), "whatever is proven of others");
    }
}

#[test]
fn a_host_under_way_or_leaving_is_left_alone() {
    let moving = HostSnapshot { rests: true, ..snapshot(used()) };
    assert!(decide(&moving, true).is_quiet(), "being moved");
    let mut leaving = used();
    leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(decide(&snapshot(leaving), true).is_quiet(), "being deleted");
}

#[test]
fn a_reservation_ends_with_proof_and_only_on_a_host_without_image() {
    let reserved = json!({"metadata": {"name": "h", "namespace": "ns", "labels": {label::NODE_REUSE: "md-a"}},
        "spec": {"consumerRef": {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c",
            "namespace": "ns"}}});
    let mut filled = reserved.clone();
    filled["spec"]["image"] = json!({"url": "http://i"});
    let absent = Some(Absent::Cluster(ObjectKey::new("ns", "c")));
    for (what, host, absent, is_over, is_gone, ends) in [
        ("the owner goes", &reserved, None, true, false, true),
        ("the owner is proven to be gone", &reserved, absent.clone(), false, true, true),
        ("the owner is not seen", &reserved, absent.clone(), false, false, false),
        ("the reservation stands", &reserved, None, false, false, false),
        ("the owner goes, the host is in use", &filled, None, true, false, false),
        ("the owner is gone, the host is in use", &filled, absent, false, true, false),
    ] {
        let snapshot = HostSnapshot {
            absent,
            reservation_is_over: is_over,
            is_nobodys: false,
            ..snapshot(host.clone())
        };
        let plan = decide(&snapshot, is_gone);
        assert_eq!(plan.to_string().contains("node-reuse\":null"), ends, "{what}: {plan}");
    }
}

#[test]
fn a_free_host_does_not_hold_up_a_move() {
    let free = json!({"metadata": {"name": "h", "annotations": {annotation::BLOCK_MOVE: ""}}});
    let text = decide(&snapshot(free), false).to_string();
    assert!(text.contains("block-move\":null"), "{text}");
}

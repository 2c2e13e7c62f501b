//! Which machines are reconciled when a host becomes usable, or when a reserved one cannot be had any more.

use capm3_api::neighbours::BareMetalHost;
use capm3_engine::{ObjectKey, Reader};

use super::{observing::TestReader, *};
use crate::metal3machine::{Awaits, host_waiters::HostWaiters};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("metal3", name)
}

/// Machines that wait for a host, the first one for the longest time, and a host that is free.
fn queue(size: usize) -> TestReader {
    let mut reader = TestReader::default().with("BareMetalHost", host("h", json!({})));
    for n in 0..size {
        let mut waits = machine();
        merge(
            &mut waits,
            &json!({"metadata": {"name": format!("m{n}"), "ownerReferences": [
                {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "o", "uid": "uid-o"}]},
            "status": {"conditions": [{"type": "AssociateBareMetalHost", "status": "False",
                "reason": "AssociateBareMetalHostFailed", "lastTransitionTime": format!("t{n}")}]}}),
        );
        reader = reader.with("Metal3Machine", waits);
    }
    reader.with(
        "Machine",
        json!({"metadata": {"namespace": "metal3", "name": "o"}, "spec": {"clusterName": "c"}}),
    )
}

#[test]
fn when_a_host_is_taken_a_few_of_the_other_waiters_are_requeued_to_check_their_reasons() {
    for (size, expected) in [(1, vec![]), (3, vec!["m1", "m2"]), (9, vec!["m1", "m2", "m3", "m4"])] {
        let (reader, waiters) = (queue(size), HostWaiters::default());
        for n in 0..size {
            waiters.begin_reconcile(&key(&format!("m{n}")));
            let woken = waiters.end_reconcile(&reader, &key(&format!("m{n}")), &Awaits::AnyHost);
            assert!(woken.now.is_empty() && woken.later.is_empty(), "nothing was offered");
        }
        assert_eq!(waiters.offer(&reader, &key("h")), Some(key("m0")));
        let taken = reader.with("BareMetalHost", host("h", consumed_by("m0")));
        let woken = waiters.end_reconcile(&taken, &key("m0"), &Awaits::Nothing);
        assert!(woken.now.is_empty(), "the host is gone");
        assert_eq!(woken.later, expected.into_iter().map(key).collect::<Vec<_>>());
    }
}

#[test]
fn a_host_that_was_not_taken_is_offered_to_the_next_and_no_other_machine_is_requeued() {
    let (reader, waiters) = (queue(3), HostWaiters::default());
    (0..3).for_each(|n| waiters.begin_reconcile(&key(&format!("m{n}"))));
    assert_eq!(waiters.offer(&reader, &key("h")), Some(key("m0")));
    let woken = waiters.end_reconcile(&reader, &key("m0"), &Awaits::AnyHost);
    assert_eq!((woken.now, woken.later), (vec![key("m1")], vec![]));
}

/// Machines of one control plane without a host, the first one the oldest.
fn line(size: usize) -> TestReader {
    let mut reader = queue(size).with(
        "Machine",
        json!({"metadata": {"namespace": "metal3", "name": "o", "labels": {"cluster.x-k8s.io/control-plane": ""},
                "ownerReferences": [{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
                    "name": "kcp", "uid": "uid-kcp"}]},
            "spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "o"}}}),
    );
    for n in 0..size {
        let mut waits =
            serde_json::to_value(reader.get::<Metal3Machine>(&key(&format!("m{n}"))).unwrap()).unwrap();
        waits["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:{:02}:{:02}Z", n / 60, n % 60));
        reader = reader.with("Metal3Machine", waits);
    }
    reader
}

fn kept(name: &str, extra: Value) -> Value {
    let mut kept = host(
        name,
        json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/node-reuse": "cp-kcp"}},
            "status": {"provisioning": {"state": "preparing"}}}),
    );
    merge(&mut kept, &extra);
    kept
}

fn unhealthy() -> Value {
    json!({"metadata": {"annotations": {annotation::UNHEALTHY: ""}}})
}

/// Reconciles machine `n` as the controller does.
fn reconcile(
    reader: &TestReader,
    waiters: &HostWaiters,
    n: usize,
) -> (Awaits, Vec<ObjectKey>, Vec<ObjectKey>) {
    let key = key(&format!("m{n}"));
    waiters.begin_reconcile(&key);
    let ahead = crate::metal3machine::reserved_waiters::ahead_of(reader, &key, "cp-kcp");
    let hosts: Vec<Arc<BareMetalHost>> =
        reader.by_index(&crate::indexes::HOSTS_BY_NAMESPACE, "metal3").into_iter().collect();
    let snapshot = with_machine(
        MachineSnapshot {
            candidates: (hosts, ahead).into(),
            machine: reader.get(&ObjectKey::new("metal3", "o")),
            ..ready_to_choose()
        },
        json!({"metadata": {"name": key.name}}),
    );
    let awaits = decide(&snapshot, "t").awaits;
    let woken = waiters.end_reconcile(reader, &key, &awaits);
    (awaits, woken.now, woken.later)
}

#[test]
fn of_a_thousand_machines_one_waits_for_the_reserved_host_and_only_it_is_requeued_when_the_host_is_lost() {
    let taken = || host("h", consumed_by("another"));
    let reader = line(1000).with("BareMetalHost", kept("k", json!({}))).with("BareMetalHost", taken());
    let waiters = HostWaiters::default();
    let mut waiting = Vec::new();
    for n in [0, 1, 2, 999] {
        let (awaits, now, later) = reconcile(&reader, &waiters, n);
        assert!(now.is_empty() && later.is_empty(), "m{n}");
        waiting.push(awaits);
    }
    assert_eq!(waiting.remove(0), Awaits::Reservation("cp-kcp".into()));
    assert!(waiting.iter().all(|awaits| *awaits == Awaits::AnyHost), "{waiting:?}");
    let lost = reader.with("BareMetalHost", kept("k", unhealthy()));
    let woken = waiters.reservation_changed(&lost, "metal3", "cp-kcp");
    assert_eq!((woken.now, woken.later), (vec![key("m0")], vec![]));
}

#[test]
fn a_lost_reserved_host_wakes_the_last_in_the_queue_at_once_and_the_first_later() {
    let with = |reader: TestReader, extra: Value| {
        reader.with("BareMetalHost", kept("k1", json!({}))).with("BareMetalHost", kept("k2", extra))
    };
    let (reader, waiters) = (with(line(3), json!({})), HostWaiters::default());
    let begin_reconcile: Vec<_> = (0..3).map(|n| reconcile(&reader, &waiters, n).0).collect();
    let reserved = Awaits::Reservation("cp-kcp".into());
    assert_eq!(begin_reconcile, [reserved.clone(), reserved, Awaits::Nothing], "the third takes a free host");
    let woken = waiters.reservation_changed(&with(line(3), unhealthy()), "metal3", "cp-kcp");
    assert_eq!((woken.now, woken.later), (vec![key("m1")], vec![key("m0")]));
    assert!(waiters.reservation_changed(&reader, "metal3", "cp-other").now.is_empty());
}

#[test]
fn a_machine_that_comes_late_to_its_place_in_the_queue_requeues_the_others() {
    let mut late = line(2);
    let mut held = serde_json::to_value(late.get::<Metal3Machine>(&key("m0")).unwrap()).unwrap();
    let ready = held.clone();
    held["metadata"]["ownerReferences"] = json!([]);
    late = late.with("Metal3Machine", held).with("BareMetalHost", kept("k", json!({})));
    let waiters = HostWaiters::default();
    assert_eq!(reconcile(&late, &waiters, 1).0, Awaits::Reservation("cp-kcp".into()), "nobody is ahead yet");
    let both = late.with("Metal3Machine", ready);
    let (awaits, now, later) = reconcile(&both, &waiters, 0);
    assert_eq!((awaits, now, later), (Awaits::Reservation("cp-kcp".into()), vec![key("m1")], vec![]));
    assert_eq!(reconcile(&both, &waiters, 1).0, Awaits::Nothing, "it takes the free host");
}

#[test]
fn a_host_that_is_lost_during_the_pass_of_a_machine_is_not_waited_for() {
    let reader = line(1).with("BareMetalHost", kept("k", unhealthy()));
    let waiters = HostWaiters::default();
    waiters.begin_reconcile(&key("m0"));
    let woken = waiters.end_reconcile(&reader, &key("m0"), &Awaits::Reservation("cp-kcp".into()));
    assert_eq!((woken.now, woken.later), (vec![], vec![key("m0")]));
}

/// Machines that a host names, such as one that their predecessors used and that is being wiped, are in no line.
#[test]
fn machines_that_wait_outside_the_queue_do_not_wake_each_other_at_once() {
    let mut reader = line(2).with("BareMetalHost", kept("k", json!({})));
    for (wiped, machine) in [("a", "m0"), ("b", "m1")] {
        reader = reader.with("BareMetalHost", host(wiped, consumed_by(machine)));
    }
    let (waiters, reserved) = (HostWaiters::default(), Awaits::Reservation("cp-kcp".into()));
    let _first = waiters.end_reconcile(&reader, &key("m0"), &reserved);
    let woken = waiters.end_reconcile(&reader, &key("m1"), &reserved);
    assert_eq!((woken.now, woken.later), (vec![], vec![key("m0"), key("m1")]));
}

/// A wait is one event when it is first shown, and none while it goes on.
#[test]
fn a_wait_that_is_shown_is_recorded_once_as_an_event() {
    let waits = MachineSnapshot { candidates: Vec::new().into(), ..ready_to_choose() };
    let first = decide(&waits, "t");
    let recorded: Vec<_> = first.plan.events.iter().map(|event| (event.warning, event.reason)).collect();
    assert_eq!(recorded, [(true, "AssociateBareMetalHostFailed")]);
    let shown = MachineSnapshot { metal3_machine: read(applied(&waits, &first)), ..waits };
    assert!(decide(&shown, "later").plan.events.is_empty());
}

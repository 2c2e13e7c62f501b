//! Machines that wait for a host: one at a time is woken.

use std::{collections::BTreeSet, time::Duration};

use capm3_lab::{Settled, fleet::fleet};
use serde_json::json;

use crate::common::{hosts::*, *};

const WAITING: usize = 1000;

#[tokio::test(start_paused = true)]
async fn of_a_thousand_waiting_machines_one_takes_the_freed_host_and_the_others_stay_quiet() {
    let mut manifests = fleet(WAITING + 1);
    let is_spare = |m: &capm3_lab::manifests::Manifest| {
        m.kind() == "BareMetalHost" && m.key().name.as_str() > "host-00001"
    };
    let spare = manifests.iter().find(|m| is_spare(m)).unwrap().clone();
    manifests.retain(|m| !is_spare(m));
    let (lab, writes) = Writes::lab().await;
    lab.apply(&manifests).await.unwrap();
    assert_eq!(lab.settle(Duration::from_secs(3600)).await, Settled::Quiet);
    let waiting = || {
        let machines = lab.objects("Metal3Machine");
        machines.iter().filter(|m| condition(m, "AssociateBareMetalHost").0 == "False").count()
    };
    assert_eq!(waiting(), WAITING);
    writes.clear();
    let looks = || lab.provider().unwrap().looks()["metal3machine"];
    let before = looks();
    lab.apply(&[spare]).await.unwrap();
    assert_eq!(lab.settle(Duration::from_secs(3600)).await, Settled::Quiet);
    assert_eq!(waiting(), WAITING - 1, "one machine takes the host");
    let consumer = text(&get(&lab, "BareMetalHost", "host-00002"), "/spec/consumerRef/name");
    let of_others: Vec<_> =
        writes.of_provider("/metal3machines").into_iter().filter(|w| w.name != consumer).collect();
    assert!(of_others.len() <= 5, "{} writes beyond the winner's: {of_others:?}", of_others.len());
    // From the claim of its host to its Node the winner itself is woken by each step.
    let woken = looks() - before;
    assert!(woken <= 40, "{woken} looks at machines for one host");
}

/// The same where the host is given back by a machine that goes, whose MachineSet makes one more that waits.
#[tokio::test(start_paused = true)]
async fn of_a_thousand_waiting_machines_one_takes_a_released_host_and_the_others_stay_quiet() {
    let mut manifests = fleet(WAITING + 1);
    manifests.retain(|m| m.kind() != "BareMetalHost" || m.key().name.as_str() <= "host-00001");
    let (lab, writes) = Writes::lab().await;
    lab.apply(&manifests).await.unwrap();
    assert_eq!(lab.settle(Duration::from_secs(3600)).await, Settled::Quiet);
    let waiting = || {
        let machines = lab.objects("Metal3Machine").into_iter();
        let waiting = machines.filter(|m| condition(m, "AssociateBareMetalHost").0 == "False");
        waiting.map(|m| name(&m)).collect::<BTreeSet<String>>()
    };
    let before = waiting();
    assert_eq!(before.len(), WAITING);
    let released = machines(&lab, "workers-").into_iter().find(|m| !text(m, HOST).is_empty()).unwrap();
    let host = host_of(&released);
    writes.clear();
    let looks = || lab.provider().unwrap().looks()["metal3machine"];
    let looks_before = looks();
    lab.client().delete(&capi("Machine"), &data::here(&name(&released)), None).await.unwrap();
    assert_eq!(lab.settle(Duration::from_secs(3600)).await, Settled::Quiet);
    assert!(lab.object("Metal3Machine", &name(&released)).is_none());
    let winner = text(&get(&lab, "BareMetalHost", &host), "/spec/consumerRef/name");
    assert!(before.contains(&winner), "{winner} takes the host, one of those that waited");
    let after = waiting();
    assert_eq!(after.len(), WAITING, "one has a host, and one more waits");
    let fresh: Vec<&String> = after.difference(&before).collect();
    assert_eq!(fresh.len(), 1);
    let of_others: Vec<_> = writes
        .of_provider("/metal3machines")
        .into_iter()
        .filter(|w| ![&winner, &name(&released), fresh[0]].contains(&&w.name))
        .collect();
    assert!(of_others.len() <= 5, "{} writes beyond the three: {of_others:?}", of_others.len());
    // One goes, one comes up on its host, one is new: each of the three is woken by its own steps.
    let woken = looks() - looks_before;
    assert!(woken <= 80, "{woken} looks at machines for one host");
}

/// A host that is marked as unhealthy, by the older or the newer annotation, is not taken; without the mark it is, by the
/// machine that waits and without a restart.
#[tokio::test(start_paused = true)]
async fn s12_an_unhealthy_host_is_not_taken_until_the_mark_is_gone() {
    for mark in ["capi.metal3.io/unhealthy", "capm3.metal3.io/unhealthy"] {
        let mut manifests = control_plane(1);
        manifests.retain(|m| m.kind() != "BareMetalHost" || m.key().name == "rack1-host-1");
        let marked = json!({"metadata": {"annotations": {mark: ""}}});
        change(&mut manifests, "BareMetalHost", "rack1-host-1", &marked);
        let lab = settled(&manifests).await;
        let machine = machines(&lab, "my-cluster-cp")[0].clone();
        assert_eq!(text(&machine, HOST), "", "{mark}");
        assert_eq!(get(&lab, "BareMetalHost", "rack1-host-1").pointer("/spec/consumerRef"), None);
        let printed = machine.pointer("/status/conditions").unwrap().to_string();
        assert!(printed.contains("1 unhealthy"), "{printed}");
        let stuck = capm3_lab::stuck::stuck_machines(&lab);
        assert!(stuck[0].hosts[0].contains(mark), "{stuck:?}");
        patch_host(&lab, "rack1-host-1", json!({"metadata": {"annotations": {mark: null}}})).await;
        rest(&lab).await;
        let machine = get(&lab, "Metal3Machine", &name(&machine));
        assert_eq!(
            (host_of(&machine), condition(&machine, "Ready").0),
            ("rack1-host-1".into(), "True".into())
        );
    }
}

/// Two machines wait for a host that is paused; one gets it, and the other must not go on telling of a paused host.
#[tokio::test(start_paused = true)]
async fn a_machine_that_keeps_waiting_reports_the_reasons_that_are_left() {
    let printed = |lab: &capm3_lab::Lab| {
        let waiting = machines(lab, "my-cluster-workers").into_iter().filter(|m| text(m, HOST).is_empty());
        let of_host = |m: std::sync::Arc<serde_json::Value>| {
            let conditions = m.pointer("/status/conditions").unwrap().as_array().unwrap().clone();
            text(conditions.iter().find(|c| c["type"] == "AssociateBareMetalHost").unwrap(), "/message")
        };
        waiting.map(of_host).collect::<Vec<_>>()
    };
    let note = |paused: serde_json::Value, unhealthy: serde_json::Value| {
        json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": paused,
            "capm3.metal3.io/unhealthy": unhealthy}}})
    };
    let lab = settled(&three_racks()).await;
    let hosts = lab.objects("BareMetalHost");
    let is_free = |h: &&std::sync::Arc<serde_json::Value>| {
        h.pointer("/spec/consumerRef").is_none() && text(h, "/metadata/labels/cluster-role") == "worker"
    };
    let free = name(hosts.iter().find(is_free).unwrap());
    patch_host(&lab, &free, note(json!("mine"), json!(null))).await;
    scale_workers(&lab, 10).await;
    rest(&lab).await;
    assert!(printed(&lab).iter().all(|printed| printed.contains("1 paused")), "{:?}", printed(&lab));
    assert_eq!(printed(&lab).len(), 2);
    patch_host(&lab, &free, note(json!(null), json!(""))).await;
    rest(&lab).await;
    patch_host(&lab, &free, note(json!(null), json!(null))).await;
    rest(&lab).await;
    let left = printed(&lab);
    assert_eq!(left.len(), 1);
    assert!(!left[0].contains("paused") && !left[0].contains("unhealthy"), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn the_machine_that_asks_for_the_hosts_domain_goes_first_and_then_the_longest_waiting() {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "BareMetalHost" || m.key().name == "rack1-host-1");
    let hosts: Vec<_> = three_racks().into_iter().filter(|m| m.kind() == "BareMetalHost").collect();
    machine_spec(&mut manifests, "my-cluster-cp", json!({"hostSelector": null}));
    machine_spec(&mut manifests, "my-cluster-workers", json!({"hostSelector": null}));
    let lab = settled(&manifests).await;
    // One control-plane machine waits for rack2 or rack3, three workers wait anywhere and longer or as long.
    let assigned = machines(&lab, "my-cluster-cp").into_iter().find(|m| text(m, HOST).is_empty()).unwrap();
    let rack = text(&assigned, "/spec/failureDomain");
    let in_rack = hosts.iter().find(|h| text(&h.object, DOMAIN) == rack).unwrap();
    lab.apply(std::slice::from_ref(in_rack)).await.unwrap();
    rest(&lab).await;
    let winner = text(&get(&lab, "BareMetalHost", &in_rack.key().name), "/spec/consumerRef/name");
    assert_eq!(winner, name(&assigned));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_the_first_in_the_queue_cannot_use_goes_to_the_next() {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "BareMetalHost" || m.key().name == "rack1-host-1");
    let lab = settled(&manifests).await;
    let worker_host = three_racks().into_iter().find(|m| m.key().name == "rack3-host-2").unwrap();
    lab.apply(&[worker_host]).await.unwrap();
    rest(&lab).await;
    let consumer = text(&get(&lab, "BareMetalHost", "rack3-host-2"), "/spec/consumerRef/name");
    assert!(consumer.starts_with("my-cluster-workers"), "{consumer}");
}

/// A machine waits when no host matches its selector, and each host is listed with the requirement that failed.
#[tokio::test(start_paused = true)]
async fn s65_a_machine_without_a_matching_host_waits_and_every_host_is_listed() {
    let mut manifests = control_plane(1);
    machine_spec(
        &mut manifests,
        "my-cluster-cp",
        json!({"hostSelector": {"matchLabels": {"cluster-role": "gpu"}}}),
    );
    let lab = settled(&manifests).await;
    let stuck = capm3_lab::stuck::stuck_machines(&lab);
    assert_eq!(stuck.len(), 1);
    assert_eq!(stuck[0].hosts.len(), 12);
    assert!(
        stuck[0].hosts.iter().all(|h| h.contains("does not match hostSelector: cluster-role")),
        "{stuck:?}"
    );
    let machine = &lab.objects("Metal3Machine")[0];
    let printed = machine.pointer("/status/conditions").unwrap().to_string();
    assert!(printed.contains("12 hosts: 12 label mismatch"), "{printed}");
}

/// A control plane of three on three hosts with maxSurge 1: during an upgrade the fourth machine waits for a host with a
/// clear condition, and nothing fails.
#[tokio::test(start_paused = true)]
async fn s23_a_fourth_machine_without_host_waits_with_a_clear_condition() {
    let lab = settled(&control_plane(3)).await;
    patch(
        &lab,
        "controlplane.cluster.x-k8s.io/v1beta2",
        "KubeadmControlPlane",
        "my-cluster-cp",
        json!({"spec": {"version": "v1.31.0"}}),
    )
    .await;
    rest(&lab).await;
    let machines = machines(&lab, "my-cluster-cp");
    assert_eq!(machines.len(), 4);
    let waiting = machines.iter().find(|m| text(m, HOST).is_empty()).unwrap();
    let printed = waiting.pointer("/status/conditions").unwrap().to_string();
    assert!(printed.contains("no host is available: 12 hosts: 3 consumed, 9 label mismatch"), "{printed}");
    assert_eq!(waiting.pointer("/status/deprecated/v1beta1/failureReason"), None);
}

/// What a machine costs does not depend on its neighbours: a status that changes with every machine wakes nobody else.
#[tokio::test(start_paused = true)]
async fn a_machine_and_its_data_are_looked_at_as_often_in_a_large_fleet_as_in_a_small_one() {
    let looks_each = async |size: usize| {
        let lab = settled(&fleet(size)).await;
        let looks = lab.provider().unwrap().looks();
        ["metal3machine", "metal3data"].map(|controller| looks[controller] as f64 / size as f64)
    };
    let (small, large) = (looks_each(10).await, looks_each(80).await);
    for (small, large) in small.into_iter().zip(large) {
        assert!(large <= 1.2 * small, "{small} looks each in a fleet of 10, {large} in one of 80");
    }
}

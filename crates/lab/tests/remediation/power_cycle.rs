//! A node that hangs comes back.

use std::time::Duration;

use serde_json::json;

use crate::{common::*, site::*};

/// A MachineHealthCheck with a Metal3RemediationTemplate leads to a power cycle of the host, after which the Machine
/// is healthy and not replaced.
#[tokio::test(start_paused = true)]
async fn re119_a_machine_health_check_with_a_template_leads_to_a_power_cycle_of_the_host() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    let machine = text(&get(&lab, "Machine", &node), "/metadata/uid");
    fail(&lab, &node, "hang").await;
    rest(&lab).await;
    assert_eq!(power_cycles(&lab, &host), 1);
    assert_eq!(ready(&lab, &node), "True");
    assert_eq!(text(&get(&lab, "Machine", &node), "/metadata/uid"), machine, "it was not replaced");
    assert!(lab.objects("Metal3Remediation").is_empty(), "the health check has deleted it");
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

/// The status has phase, time of the attempt and retries: Running, Waiting and, after the last attempt, Deleting
/// machine.
#[tokio::test(start_paused = true)]
async fn re120_the_phases_stand_in_the_status_with_their_time_and_count() {
    let lab = up().await;
    let (node, _) = worker(&lab);
    fail(&lab, &node, "dead").await;
    rest(&lab).await;
    assert_eq!(
        past(&lab, "/status/phase"),
        ["Running", "Waiting", "Running", "Waiting", "Deleting machine"],
        "one attempt and one more"
    );
    assert_eq!(past(&lab, "/status/retryCount"), ["1"]);
    assert_eq!(past(&lab, "/status/lastRemediated").len(), 2, "one time for each attempt");
}

/// The host is powered off by annotation `reboot.metal3.io/metal3-remediation-<uid>` and on by removing it; its real
/// power state is waited for.
#[tokio::test(start_paused = true)]
async fn re121_the_power_follows_the_annotation_and_its_real_state_is_waited_for() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    fail(&lab, &node, "hang").await;
    rest(&lab).await;
    let history = lab.server().history(None, "metal3.io", "baremetalhosts").unwrap();
    let mut seen: Vec<(Option<String>, bool)> = history
        .iter()
        .filter(|it| name(&it.object) == host)
        .map(|it| {
            let annotations = it.object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
            let asked = annotations.iter().find(|(key, _)| key.starts_with(POWER_OFF));
            let is_on = it.object["status"]["poweredOn"] == json!(true);
            (asked.map(|(_, value)| value.as_str().unwrap().to_owned()), is_on)
        })
        .skip_while(|(asked, _)| asked.is_none())
        .collect();
    seen.dedup();
    let hard = Some(r#"{"mode":"hard","force":false}"#.to_owned());
    assert_eq!(seen, [(hard.clone(), true), (hard, false), (None, false), (None, true)]);
    let waits = ["WaitingForPowerOff", "WaitingForDrain", "WaitingForPowerOn"];
    let reported = reasons(&lab);
    assert!(waits.iter().all(|it| reported.contains(&(*it).to_owned())), "{reported:?}");
}

/// Where the workload cluster does not support the out-of-service taint, the Node is deleted after the power-off, and
/// gets its labels and annotations back when it returns.
#[tokio::test(start_paused = true)]
async fn re122_without_the_taint_the_node_is_deleted_and_gets_its_labels_and_annotations_back() {
    let lab = up().await;
    lab.server().report_version(Some(CLUSTER), "v1.27.9");
    let (node, _) = worker(&lab);
    let (before, id) = {
        let before = of_workload(&lab, "Node", &node).unwrap();
        (text(&before, "/metadata/uid"), text(&before, "/spec/providerID"))
    };
    let mine = json!({"metadata": {"labels": {"example.com/role": "db"}, "annotations": {"example.com/note": "kept"}}});
    patch_node(&lab, &node, mine).await;
    fail(&lab, &node, "hang").await;
    rest(&lab).await;
    let after = of_workload(&lab, "Node", &node).unwrap();
    assert_ne!(text(&after, "/metadata/uid"), before, "it was deleted and registered again");
    assert_eq!(text(&after, "/metadata/labels/example.com~1role"), "db");
    assert_eq!(text(&after, "/metadata/annotations/example.com~1note"), "kept");
    assert!(!id.is_empty());
    assert_eq!(text(&after, "/spec/providerID"), id, "its kubelet does not know it");
    assert_eq!(ready(&lab, &node), "True");
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

/// Where the version of the workload cluster supports it, the Node gets the out-of-service taint until its Pods and
/// volumes are gone, and loses it on return.
#[tokio::test(start_paused = true)]
async fn re123_with_the_taint_pods_and_volumes_go_the_node_stays_and_the_taint_is_removed() {
    let lab = up().await;
    lab.server().report_version(None, "v1.20.0");
    lab.server().report_version(Some(CLUSTER), "v1.28.1+vendor");
    let (node, _) = worker(&lab);
    let before = text(&of_workload(&lab, "Node", &node).unwrap(), "/metadata/uid");
    run_something(&lab, &node).await;
    fail(&lab, &node, "hang").await;
    rest(&lab).await;
    let after = of_workload(&lab, "Node", &node).unwrap();
    assert_eq!(text(&after, "/metadata/uid"), before, "it was not deleted");
    assert!(of_workload(&lab, "Pod", "app").is_none(), "the Pod runs elsewhere");
    assert!(of_workload(&lab, "VolumeAttachment", "va").is_none());
    assert_eq!(ready(&lab, &node), "True");
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

/// What is left of a Node is looked for in the workload cluster, and named.
#[tokio::test(start_paused = true)]
async fn re124_what_is_left_is_looked_for_in_the_workload_cluster_and_named() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    let elsewhere = json!({"metadata": {"name": "other"}, "spec": {"attacher": "csi.example.com", "nodeName": node,
        "source": {"persistentVolumeName": "pv"}}});
    lab.client().create(&resource("storage.k8s.io/v1", "VolumeAttachment"), "", elsewhere).await.unwrap();
    run_for_ever(&lab, &node).await;
    fail(&lab, &node, "hang").await;
    rest(&lab).await;
    let messages = past(&lab, "/status/conditions/0/message");
    let drain = format!("waiting for Node {node} to be drained: Pods default/app");
    assert!(messages.contains(&drain), "{messages:?}");
    assert!(messages.iter().all(|it| !it.contains("other")), "{messages:?}");
    // The Pod never goes. The host is not kept off for it without end.
    assert_eq!(get(&lab, "BareMetalHost", &host)["status"]["poweredOn"], true);
    assert_eq!(ready(&lab, &node), "True");
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

/// No timer is needed between two steps: the longest part is what the kubelet and the health check take.
#[tokio::test(start_paused = true)]
async fn a_power_cycle_takes_no_longer_than_its_parts() {
    let lab = up().await;
    let (node, _) = worker(&lab);
    fail(&lab, &node, "hang").await;
    let began = tokio::time::Instant::now();
    rest(&lab).await;
    assert!(began.elapsed() < Duration::from_secs(100), "woken, not polled: {:?}", began.elapsed());
    assert_eq!(past(&lab, "/status/retryCount"), Vec::<String>::new(), "the first attempt has helped");
}

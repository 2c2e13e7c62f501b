//! Conditions of a machine, in both generations.

use capm3_lab::Lab;
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const HOST_API: &str = "metal3.io/v1alpha1";

fn legacy(machine: &Value, type_: &str) -> String {
    let conditions = machine.pointer("/status/deprecated/v1beta1/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|c| c["type"] == type_);
    found.map(|c| text(c, "/status")).unwrap_or_default()
}

/// Both generations of `Ready`, which must agree whenever one of them is there.
fn ready(machine: &Value) -> String {
    let (new, old) = (condition(machine, "Ready").0, legacy(machine, "Ready"));
    assert_eq!(new, old, "{machine}");
    new
}

/// `Ready` of both generations from the first word of a machine to its end.
#[tokio::test(start_paused = true)]
async fn both_generations_of_ready_agree_from_the_first_word_to_the_last() {
    let lab = started_slowly(&control_plane(1)).await;
    let mut seen = std::collections::BTreeSet::new();
    let mut watch = async |lab: &Lab, until: &str| {
        for _ in 0..20_000 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let machines = lab.objects("Metal3Machine");
            let Some(machine) = machines.first() else {
                if until.is_empty() {
                    return;
                }
                continue;
            };
            let state = ready(machine);
            seen.insert((state.clone(), condition(machine, "BareMetalHostProvisioned").1));
            if state == until {
                return;
            }
        }
        panic!("never {until}");
    };
    watch(&lab, "True").await;
    rest(&lab).await;
    delete_cluster(&lab).await;
    watch(&lab, "").await;
    for printed in ["Provisioning", "Provisioned", "Deprovisioning"] {
        let ready = if printed == "Provisioned" { "True" } else { "False" };
        assert!(seen.contains(&(ready.to_owned(), printed.to_owned())), "{printed}: {seen:?}");
    }
}

/// A host that is paused while the image is put on it: nobody works on it, and the machine says so until it goes on.
#[tokio::test(start_paused = true)]
async fn a_machine_whose_host_is_paused_meanwhile_does_not_report_work() {
    let lab = started_slowly(&control_plane(1)).await;
    let is_written = |h: &std::sync::Arc<Value>| text(h, "/status/provisioning/state") == "provisioning";
    let mut host = None;
    for _ in 0..20_000 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        host = lab.objects("BareMetalHost").iter().find(|h| is_written(h)).map(|h| name(h));
        if host.is_some() {
            break;
        }
    }
    let host = host.unwrap();
    let paused = |by: Value| json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": by}}});
    patch_host(&lab, &host, paused(json!("mine"))).await;
    rest(&lab).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    assert_eq!(condition(&machine, "BareMetalHostProvisioned"), ("False".into(), "HostPaused".into()));
    let printed = machine.pointer("/status/conditions").unwrap().to_string();
    assert!(
        printed.contains(&format!("host {host} is not being provisioned: the host is paused")),
        "{printed}"
    );
    patch_host(&lab, &host, paused(Value::Null)).await;
    rest(&lab).await;
    assert_eq!(ready(&machines(&lab, "my-cluster-cp")[0]), "True");
}

/// A host that is deleted under a running machine: not ready in both generations, from the first moment to the end.
#[tokio::test(start_paused = true)]
async fn a_machine_whose_host_is_deleted_is_not_ready_and_says_why() {
    let lab = settled(&three_racks()).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    let (name, host) = (name(&machine), host_of(&machine));
    assert_eq!(ready(&machine), "True");
    patch_host(&lab, &host, json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": "mine"}}}))
        .await;
    delete(&lab, HOST_API, "BareMetalHost", &host).await;
    rest(&lab).await;
    let goes = get(&lab, "Metal3Machine", &name);
    assert_eq!(ready(&goes), "False");
    assert_eq!(condition(&goes, "BareMetalHostProvisioned"), ("False".into(), "HostDeleting".into()));
    patch_host(&lab, &host, json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": null}}}))
        .await;
    rest(&lab).await;
    assert!(lab.object("BareMetalHost", &host).is_none());
    let lost = get(&lab, "Metal3Machine", &name);
    assert_eq!(ready(&lost), "False");
    assert_eq!(condition(&lost, "BareMetalHostProvisioned"), ("False".into(), "HostMissing".into()));
    let warned = events(&lab, "HostLost");
    assert_eq!(
        warned,
        [format!(
            "{name}: host {host} is being deleted; the node of this machine was provisioned on that host and may be lost"
        )]
    );
}

/// Records of the host that are taken off by hand: repaired, and no host is left behind by a deletion.
#[tokio::test(start_paused = true)]
async fn a_machine_keeps_and_gives_back_its_host_whatever_is_done_to_the_records() {
    let mut lab = settled(&three_racks()).await;
    let machine = machines(&lab, "my-cluster-workers")[0].clone();
    let (name, host) = (name(&machine), host_of(&machine));
    for record in [json!(null), json!("metal3/rack1-host-1")] {
        patch_machine(&lab, &name, json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": record}}}))
            .await;
        rest(&lab).await;
        assert_eq!(host_of(&get(&lab, "Metal3Machine", &name)), host);
    }
    lab.stop_providers();
    patch_machine(&lab, &name, json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": null}}})).await;
    patch_host(&lab, &host, json!({"spec": {"consumerRef": null, "online": false}})).await;
    lab.start_provider();
    rest(&lab).await;
    let kept = get(&lab, "BareMetalHost", &host);
    assert_eq!(text(&kept, "/spec/consumerRef/name"), name);
    assert_eq!(kept.pointer("/spec/online"), Some(&json!(false)), "its power is the operator's");
    assert_eq!(ready(&get(&lab, "Metal3Machine", &name)), "True");
    lab.stop_providers();
    patch_machine(&lab, &name, json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": null}}})).await;
    patch_host(&lab, &host, json!({"spec": {"consumerRef": null}})).await;
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name).await;
    lab.start_provider();
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name).is_none());
    let given = get(&lab, "BareMetalHost", &host);
    if given.pointer("/spec/consumerRef").is_none_or(Value::is_null) {
        assert!(given.pointer("/spec/image").is_none_or(Value::is_null), "{given}");
    } else {
        assert_ne!(text(&given, "/spec/consumerRef/name"), name, "taken by the machine that follows");
    }
    assert!(events(&lab, "HostReleased").iter().any(|e| e.contains(&format!("host {host} is released"))));
}

//! What is told of a machine's life, each thing once.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{common::*, support::*};

/// How often each reason was told of each object.
fn counts(lab: &capm3_lab::Lab) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for event in lab.objects("Event") {
        let source = text(&event, "/source/component");
        if source == "capm3" {
            *counts.entry((text(&event, "/involvedObject/name"), text(&event, "/reason"))).or_default() += 1;
        }
    }
    counts
}

#[tokio::test(start_paused = true)]
async fn claim_data_and_provider_id_are_told_once_a_machine() {
    let lab = settled(&three_racks()).await;
    let counts = counts(&lab);
    for machine in lab.objects("Metal3Machine") {
        for reason in ["HostClaimed", "DataReady", "ProviderIDSet"] {
            assert_eq!(
                counts.get(&(name(&machine), reason.to_owned())),
                Some(&1),
                "{} {reason}",
                name(&machine)
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn release_fallback_and_refusal_are_told_once() {
    let mut manifests = control_plane(3);
    manifests.retain(|m| m.key().name != "rack3-host-1");
    let role = json!({"metadata": {"labels": {"cluster-role": "control-plane"}}});
    change(&mut manifests, "BareMetalHost", "rack1-host-2", &role);
    let lab = settled(&manifests).await;
    let fallbacks = events(&lab, "FailureDomainFallback");
    assert_eq!(fallbacks.len(), 1, "{fallbacks:?}");
    assert!(
        fallbacks[0].contains("no free host in failure domain rack3; host rack1-host-2 in rack1"),
        "{fallbacks:?}"
    );
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    let thief = json!({"spec": {"consumerRef": {"kind": "HostClaim", "apiVersion": "example.com/v1", "name": "x", "namespace": "metal3"}}});
    patch_host(&lab, &host_of(&machine), thief).await;
    rest(&lab).await;
    patch_machine(&lab, &name(&machine), json!({"metadata": {"labels": {"touched": "yes"}}})).await;
    rest(&lab).await;
    let refusals = events(&lab, "HostRefused");
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(refusals[0].contains("consumed by HostClaim metal3/x; it is never taken away"), "{refusals:?}");
    let other = machines(&lab, "my-cluster-cp")[1].clone();
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name(&other)).await;
    rest(&lab).await;
    let released = events(&lab, "HostReleased").into_iter().filter(|e| e.starts_with(&name(&other))).count();
    assert_eq!(released, 1);
}

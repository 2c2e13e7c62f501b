//! When it cannot come up, it says why and comes to rest.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use capm3_lab::stuck::{short_owners, stuck_machines};
use common::*;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn with_too_few_hosts_each_stuck_machine_names_what_it_waits_for_and_every_host_with_its_reason() {
    let mut manifests = three_racks();
    manifests.retain(|m| !m.key().name.starts_with("rack2-host") && !m.key().name.starts_with("rack3-host"));
    let unhealthy = json!({"metadata": {"annotations": {"capm3.metal3.io/unhealthy": ""}}});
    change(&mut manifests, "BareMetalHost", "rack1-host-4", &unhealthy);
    let lab = settled(&manifests).await;
    let owners: Vec<String> = short_owners(&lab)
        .iter()
        .map(|o| format!("{} {} {}/{}", o.owner.kind, o.owner.key.name, o.owner.ready, o.owner.wanted))
        .collect();
    assert_eq!(owners, ["KubeadmControlPlane my-cluster-cp 1/3", "MachineDeployment my-cluster-workers 2/3"]);
    let stuck = stuck_machines(&lab);
    assert_eq!(stuck.len(), 2, "one control-plane machine and one worker: {stuck:?}");
    for machine in &stuck {
        assert!(
            machine.reported.text.to_string().starts_with("no host is available: 4 hosts:"),
            "{machine:?}"
        );
        assert_eq!(machine.hosts.len(), 4, "{machine:?}");
    }
    let all = stuck.iter().flat_map(|m| m.hosts.clone()).collect::<Vec<_>>().join("\n");
    assert!(all.contains("rack1-host-1: consumed by Metal3Machine metal3/my-cluster-cp-"), "{all}");
    assert!(all.contains("rack1-host-2: does not match hostSelector"), "{all}");
    assert!(all.contains("rack1-host-4: marked as unhealthy"), "{all}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_goes_on_by_itself_when_a_host_comes() {
    let mut manifests = three_racks();
    let late = manifests.iter().position(|m| m.key().name == "rack3-host-1").unwrap();
    let late = manifests.remove(late);
    let lab = settled(&manifests).await;
    assert_eq!(stuck_machines(&lab).len(), 1);
    lab.apply(&[late]).await.unwrap();
    rest(&lab).await;
    assert_eq!(stuck_machines(&lab), []);
    assert_eq!(short_owners(&lab), []);
}

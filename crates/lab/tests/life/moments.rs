//! What was true at the very moment when something was written, from the server's own history.

use serde_json::{Value, json};

use crate::common::{hosts::*, *};

/// Whether a revision gives a host its first consumer; gives the consumer's name.
fn taken(past: &Past, object: &Value) -> Option<String> {
    let consumer = |host: &Value| text(host, "/spec/consumerRef/name");
    let now = consumer(object);
    let before = consumer(past.get("BareMetalHost", &name(object)));
    (object["kind"] == "BareMetalHost" && !now.is_empty() && before != now).then_some(now)
}

/// Whether a revision changes the image of a host from none to some (`true`) or from some to none (`false`).
fn image_changes(past: &Past, object: &Value, to_some: bool) -> bool {
    let has_image = |host: &Value| host.pointer("/spec/image").is_some_and(Value::is_object);
    let before = has_image(past.get("BareMetalHost", &name(object)));
    object["kind"] == "BareMetalHost" && before != to_some && has_image(object) == to_some
}

/// A Machine with a bootstrap object takes no host before its data is ready.
#[tokio::test(start_paused = true)]
async fn s30_no_host_is_taken_before_the_bootstrap_data_is_ready() {
    // With this profile bootstrap data takes a second, in which a host could be taken.
    let lab = started_slowly(&three_racks()).await;
    rest(&lab).await;
    let mut hosts_taken = 0;
    replay(&lab, &[BARE_METAL_HOSTS, MACHINES], |past, object| {
        if let Some(consumer) = taken(past, object) {
            hosts_taken += 1;
            let machine = past.get("Machine", &consumer);
            assert!(machine.pointer("/spec/bootstrap/configRef").is_some(), "{machine}");
            let secret = text(machine, "/spec/bootstrap/dataSecretName");
            assert!(!secret.is_empty(), "{} is taken by {consumer} too early", name(object));
        }
    });
    assert_eq!(hosts_taken, 6);
}

/// With maxSurge 1 and maxUnavailable 0 the new worker is up before the old host is released.
#[tokio::test(start_paused = true)]
async fn s32_the_new_worker_is_up_before_the_old_host_goes() {
    let mut manifests = three_racks();
    let one_more = json!({"spec": {"replicas": 1, "rollout": {"strategy": {"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}}});
    change(&mut manifests, "MachineDeployment", "my-cluster-workers", &one_more);
    let lab = settled(&manifests).await;
    let old = host_of(&machines(&lab, "my-cluster-workers")[0]);
    let version = json!({"spec": {"template": {"spec": {"version": "v1.31.0"}}}});
    patch(&lab, "cluster.x-k8s.io/v1beta2", "MachineDeployment", "my-cluster-workers", version).await;
    rest(&lab).await;
    let new = machines(&lab, "my-cluster-workers");
    assert_eq!(new.len(), 1);
    assert_ne!(host_of(&new[0]), old);
    let mut releases = 0;
    replay(&lab, &[BARE_METAL_HOSTS, METAL3_MACHINES], |past, object| {
        if name(object) == old && image_changes(past, object, false) {
            releases += 1;
            let is_new =
                |m: &&Value| name(m).starts_with("my-cluster-workers") && host_of(m) == host_of(&new[0]);
            let up = past.all("Metal3Machine").filter(is_new).any(|m| condition(m, "Ready").0 == "True");
            assert!(up, "{old} is released and no other worker is up");
        }
    });
    assert_eq!(releases, 1);
}

/// Fields of a host that the machine has nothing for are unset when the host is written, also where the last user of the
/// host left something.
#[tokio::test(start_paused = true)]
async fn s47_what_the_last_user_left_on_a_host_is_unset_before_anything_is_put_on_it() {
    // With no data template at all, and with one that has network data only.
    for (template, keeps) in
        [(json!(null), ["metaData", "networkData"].as_slice()), (json!({}), &["metaData"])]
    {
        let mut manifests = control_plane(1);
        manifests.retain(|m| m.kind() != "BareMetalHost" || m.key().name == "rack1-host-1");
        machine_spec(&mut manifests, "my-cluster-cp", json!({"dataTemplate": template}));
        if template.is_null() {
            let none = json!({"spec": {"failureDomainDataTemplates": null}});
            change(&mut manifests, "Metal3MachineTemplate", "my-cluster-cp", &none);
        }
        let left = json!({"name": "left", "namespace": "metal3"});
        let left = json!({"spec": {"metaData": left, "networkData": left, "userData": left}});
        change(&mut manifests, "BareMetalHost", "rack1-host-1", &left);
        let lab = settled(&manifests).await;
        let machine = machines(&lab, "my-cluster-cp")[0].clone();
        assert_eq!(condition(&machine, "Ready").0, "True", "{machine}");
        let assert_clean = |host: &Value| {
            for field in keeps {
                assert!(host.pointer(&format!("/spec/{field}")).is_none_or(Value::is_null), "{host}");
            }
            assert!(!host["spec"].to_string().contains("\"left\""), "{host}");
        };
        let mut written = 0;
        replay(&lab, &[BARE_METAL_HOSTS], |past, object| {
            if image_changes(past, object, true) {
                written += 1;
                assert_clean(object);
            }
        });
        assert_eq!(written, 1);
        assert_clean(&host(&lab, &machine));
        for field in keeps {
            assert_eq!(machine.pointer(&format!("/status/{field}")), None);
        }
    }
}

/// Without a default an unmapped machine has no data template and is provisioned without; a mapped one has its template
/// stored, and its data rendered, before anything is put on the host.
#[tokio::test(start_paused = true)]
async fn s207_without_default_only_mapped_domains_have_a_data_template() {
    let mut manifests = control_plane(3);
    machine_spec(&mut manifests, "my-cluster-cp", json!({"dataTemplate": null}));
    let only_rack2 = json!({"spec": {"failureDomainDataTemplates": [
        {"failureDomain": "rack2", "dataTemplate": {"name": "m3dt-rack2", "namespace": "metal3"}}]}});
    change(&mut manifests, "Metal3MachineTemplate", "my-cluster-cp", &only_rack2);
    let lab = settled(&manifests).await;
    let (mut mapped, mut unmapped) = (0, 0);
    replay(&lab, &[BARE_METAL_HOSTS, METAL3_MACHINES], |past, object| {
        if !image_changes(past, object, true) {
            return;
        }
        let machine = past.get("Metal3Machine", &text(object, "/spec/consumerRef/name"));
        let template = text(machine, "/spec/dataTemplate/name");
        let network_data = text(object, "/spec/networkData/name");
        if text(object, DOMAIN) == "rack2" {
            mapped += 1;
            assert_eq!(template, "m3dt-rack2", "{} is written too early", name(object));
            assert_eq!(network_data, format!("{}-networkdata", name(machine)));
        } else {
            unmapped += 1;
            assert_eq!((template.as_str(), network_data.as_str()), ("", ""));
        }
    });
    assert_eq!((mapped, unmapped), (1, 2), "images that were put on hosts");
    assert_eq!(machines(&lab, "my-cluster-cp").len(), 3);
    for machine in machines(&lab, "my-cluster-cp") {
        let host = host(&lab, &machine);
        let is_mapped = text(&host, DOMAIN) == "rack2";
        assert_eq!(machine.pointer("/spec/dataTemplate").is_some(), is_mapped);
        assert_eq!(host.pointer("/spec/networkData").is_some(), is_mapped);
        assert_eq!(condition(&machine, "Ready").0, "True");
    }
}

//! Hosts and claims of machines that went without giving them back.

use serde_json::{Value, json};

use crate::{common::*, support::*};

const API: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// A Metal3Machine that nobody owns, gone with its finalizer stripped; gives its name and host.
async fn strip(lab: &capm3_lab::Lab) -> (String, String) {
    let machine = machines(lab, "my-cluster-workers").first().unwrap().clone();
    let (name, host) = (name(&machine), host_of(&machine));
    // Cluster API must not get in the way: its Machine is left alone.
    patch(
        lab,
        "cluster.x-k8s.io/v1beta2",
        "Machine",
        &name,
        json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}),
    )
    .await;
    patch_machine(lab, &name, json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}})).await;
    delete(lab, API, "Metal3Machine", &name).await;
    patch_machine(lab, &name, json!({"metadata": {"finalizers": null}})).await;
    (name, host)
}

fn is_free(host: &Value) -> bool {
    ["consumerRef", "image", "userData", "networkData"]
        .iter()
        .all(|field| host.pointer(&format!("/spec/{field}")).is_none_or(Value::is_null))
}

#[tokio::test(start_paused = true)]
async fn the_host_and_the_claim_of_a_machine_whose_finalizer_was_stripped_are_given_back() {
    let lab = settled(&three_racks()).await;
    let (machine, host) = strip(&lab).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &machine).is_none());
    let host = get(&lab, "BareMetalHost", &host);
    assert!(is_free(&host), "{host}");
    assert_eq!(text(&host, "/status/provisioning/state"), "available");
    assert!(lab.object("Metal3DataClaim", &machine).is_none());
    assert!(lab.object("Secret", &format!("{machine}-networkdata")).is_none());
    let told = events(&lab, "HostReleased");
    assert!(told.iter().any(|e| e.contains("is gone; the host it left behind is given back")), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_did_not_see_the_machine_go_waits_a_while_before_it_wipes_the_host() {
    let mut lab = settled(&three_racks()).await;
    lab.stop_providers();
    let (machine, host) = strip(&lab).await;
    lab.start_provider();
    tokio::time::sleep(std::time::Duration::from_secs(300)).await;
    assert!(!is_free(&get(&lab, "BareMetalHost", &host)), "the machine may come yet, as after a restore");
    rest(&lab).await;
    assert!(is_free(&get(&lab, "BareMetalHost", &host)));
    assert!(lab.object("Metal3DataClaim", &machine).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_machine_made_anew_under_the_same_name_never_takes_the_used_host_as_it_is() {
    let mut lab = settled(&three_racks()).await;
    let old = machines(&lab, "my-cluster-workers").first().unwrap().as_ref().clone();
    lab.stop_providers();
    let (machine, host) = strip(&lab).await;
    let mut namesake =
        json!({"metadata": {"name": machine, "namespace": "metal3"}, "spec": old["spec"].clone()});
    for member in ["labels", "ownerReferences"] {
        namesake["metadata"][member] = old["metadata"][member].clone();
    }
    namesake["metadata"]["annotations"] = old["metadata"]["annotations"].clone();
    namesake["metadata"]["annotations"].as_object_mut().unwrap().remove("metal3.io/BareMetalHost");
    namesake["spec"].as_object_mut().unwrap().remove("providerID");
    lab.client().create(&metal3("Metal3Machine"), "metal3", namesake).await.unwrap();
    lab.start_provider();
    patch(
        &lab,
        "cluster.x-k8s.io/v1beta2",
        "Machine",
        &machine,
        json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}}),
    )
    .await;
    rest(&lab).await;
    let released = events(&lab, "HostReleased");
    assert!(
        released.iter().any(|e| e.contains(&format!("surplus host {host} is given back"))),
        "{released:?}"
    );
    let new = get(&lab, "Metal3Machine", &machine);
    assert!(!text(&new, HOST).is_empty(), "it has a host of its own");
    let claim = get(&lab, "Metal3DataClaim", &machine);
    assert_eq!(
        text(&claim, "/metadata/ownerReferences/0/uid"),
        text(&new, "/metadata/uid"),
        "and a claim of its own"
    );
    let mut hosts = lab.objects("BareMetalHost");
    hosts.retain(|h| text(h, "/spec/consumerRef/name") == machine);
    assert_eq!(hosts.len(), 1);
}

/// An old manifest that names a machine of long ago: nobody saw that machine leave this host.
#[tokio::test(start_paused = true)]
async fn a_host_that_comes_to_name_a_machine_of_long_ago_is_given_the_same_grace() {
    let lab = settled(&three_racks()).await;
    let machine = machines(&lab, "my-cluster-workers")[0].clone();
    let consumer = host(&lab, &machine)["spec"]["consumerRef"].clone();
    scale_workers(&lab, 2).await;
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &name(&machine)).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &name(&machine)).is_none());
    let hosts = lab.objects("BareMetalHost");
    let free = name(hosts.iter().find(|host| is_free(host)).unwrap());
    patch_host(&lab, &free, json!({"spec": {"consumerRef": consumer}})).await;
    tokio::time::sleep(std::time::Duration::from_secs(300)).await;
    assert!(!is_free(&get(&lab, "BareMetalHost", &free)));
    rest(&lab).await;
    assert!(is_free(&get(&lab, "BareMetalHost", &free)));
}

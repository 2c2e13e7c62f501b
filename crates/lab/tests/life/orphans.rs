//! Hosts and claims of machines that went without giving them back: left as they are, reported, and released on request.

use std::time::Duration;

use capm3_lab::{Lab, Options};
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const API: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// A Metal3Machine that nobody owns, gone with its finalizer stripped; gives its name and host.
async fn strip(lab: &Lab) -> (String, String) {
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

/// Long enough for every grace and every proof.
const LONG: Duration = Duration::from_secs(7200);

/// Asks for the release of a host, as `capm3 release` does.
async fn request(lab: &Lab, host: &str, machine: &str) {
    let request =
        json!({"metadata": {"annotations": {"capm3.metal3.io/release": format!("metal3/{machine}")}}});
    patch_host(lab, host, request).await;
}

#[tokio::test(start_paused = true)]
async fn the_host_of_a_machine_whose_finalizer_was_stripped_is_left_as_it_is_and_reported() {
    let lab = settled(&three_racks()).await;
    let (machine, host) = strip(&lab).await;
    let before = get(&lab, "BareMetalHost", &host)["spec"].clone();
    tokio::time::sleep(LONG).await;
    assert!(lab.object("Metal3Machine", &machine).is_none());
    assert_eq!(get(&lab, "BareMetalHost", &host)["spec"], before);
    assert!(lab.object("Metal3DataClaim", &machine).is_some(), "the host still uses its addresses");
    assert_eq!(lab.provider().unwrap().orphaned_hosts(), 1);
    let reported = events(&lab, "HostOrphaned");
    let command = format!("`capm3 release host/{host} -n metal3` releases it");
    assert!(matches!(reported.as_slice(), [one] if one.contains(&command)), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn an_orphaned_host_is_released_on_request_and_its_claim_goes_with_it() {
    let lab = settled(&three_racks()).await;
    let (machine, host) = strip(&lab).await;
    tokio::time::sleep(LONG).await;
    request(&lab, &host, &machine).await;
    rest(&lab).await;
    assert_blank(&lab, &host);
    let released = get(&lab, "BareMetalHost", &host);
    assert_eq!(text(&released, "/metadata/annotations/capm3.metal3.io~1release"), "");
    assert!(lab.object("Metal3DataClaim", &machine).is_none());
    assert!(lab.object("Secret", &format!("{machine}-networkdata")).is_none());
    assert_eq!(lab.provider().unwrap().orphaned_hosts(), 0);
    assert!(events(&lab, "HostReleased").iter().any(|e| e.contains("the host is released on request")));
}

/// A request that the provider never saw while it was down is carried out, once the caches prove the absence.
#[tokio::test(start_paused = true)]
async fn a_request_is_carried_out_by_a_provider_that_starts_later() {
    let mut lab = settled(&three_racks()).await;
    lab.stop_providers();
    let (machine, host) = strip(&lab).await;
    request(&lab, &host, &machine).await;
    lab.start_provider();
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert!(!is_free(&get(&lab, "BareMetalHost", &host)), "nothing is proven in the first minute");
    rest(&lab).await;
    assert_blank(&lab, &host);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_refused_while_a_machine_of_the_name_is_there_or_for_another_consumer() {
    let lab = settled(&three_racks()).await;
    let machine = machines(&lab, "my-cluster-workers")[0].clone();
    let before = host(&lab, &machine)["spec"].clone();
    for named in [name(&machine), "somebody-else".to_owned()] {
        request(&lab, &host_of(&machine), &named).await;
        rest(&lab).await;
        let kept = host(&lab, &machine);
        assert_eq!(kept["spec"], before);
        assert_eq!(text(&kept, "/metadata/annotations/capm3.metal3.io~1release"), "", "{named}");
    }
    let refused = events(&lab, "ReleaseRefused");
    assert_eq!(refused.len(), 2, "{refused:?}");
    // The request is taken off, so there is nothing to refuse again.
    tokio::time::sleep(Duration::from_secs(3 * 3600)).await;
    for event in lab.objects("Event").iter().filter(|event| text(event, "/reason") == "ReleaseRefused") {
        assert_eq!(event["count"], 1, "{event}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_manager_releases_orphaned_hosts_by_itself_only_with_its_flag() {
    let options =
        Options { release_orphaned_hosts_after: Some(Duration::from_secs(1800)), ..Options::default() };
    let mut lab = Lab::start(&options).await.unwrap();
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    lab.stop_providers();
    let (machine, host) = strip(&lab).await;
    lab.start_provider();
    tokio::time::sleep(Duration::from_secs(1790)).await;
    assert!(!is_free(&get(&lab, "BareMetalHost", &host)), "the machine may come yet, as after a restore");
    rest(&lab).await;
    assert_blank(&lab, &host);
    assert!(lab.object("Metal3DataClaim", &machine).is_none());
    let reported_text = events(&lab, "ReleaseRequested");
    assert!(
        matches!(reported_text.as_slice(), [one] if one.contains("--release-orphaned-hosts-after")),
        "{reported_text:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_machine_made_again_under_the_same_name_neither_takes_nor_clears_the_used_host() {
    let mut lab = settled(&three_racks()).await;
    let old = machines(&lab, "my-cluster-workers").first().unwrap().as_ref().clone();
    lab.stop_providers();
    let (machine, host) = strip(&lab).await;
    let before = get(&lab, "BareMetalHost", &host)["spec"].clone();
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
    tokio::time::sleep(LONG).await;
    assert_eq!(get(&lab, "BareMetalHost", &host)["spec"], before);
    let new = get(&lab, "Metal3Machine", &machine);
    assert_eq!(text(&new, HOST), "", "it has no host");
    let printed = new.pointer("/status/conditions").unwrap().to_string();
    assert!(
        printed.contains(&format!("spec.consumerRef of host {host} is this machine and the host is in use")),
        "{printed}"
    );
    let reported = events(&lab, "HostOrphaned");
    assert!(reported.iter().any(|e| e.contains("has no record of it")), "{reported:?}");
    assert!(lab.object("Metal3DataClaim", &machine).is_some(), "the host uses its addresses");
    delete(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &machine).await;
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &machine).is_none());
    assert_ne!(
        text(&get(&lab, "BareMetalHost", &host), "/spec/consumerRef/name"),
        machine,
        "its deletion releases it"
    );
}

/// An old manifest that names a machine that is long gone.
#[tokio::test(start_paused = true)]
async fn a_free_host_that_comes_to_name_a_machine_of_long_ago_is_left_so_until_somebody_asks() {
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
    tokio::time::sleep(LONG).await;
    assert!(!is_free(&get(&lab, "BareMetalHost", &free)));
    request(&lab, &free, &name(&machine)).await;
    rest(&lab).await;
    assert!(is_free(&get(&lab, "BareMetalHost", &free)));
}

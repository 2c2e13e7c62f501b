//! When data cannot be rendered: status and event say what, where and how to fix it, and once the cause is gone the
//! machine goes on by itself.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use capm3_lab::Lab;
use common::{data::*, *};
use serde_json::{Value, json};

fn ethernet(mac: Value) -> Value {
    json!({"networkData": {"links": {"ethernets": [{"id": "eno1", "type": "phy", "macAddress": mac}]}}})
}

fn on_pool(list: &str, pool: &str) -> Value {
    json!({"networkData": {"networks": {list: [{"id": "net", "link": "eno1", "ipAddressFromIPPool": pool}]}}})
}

fn machine(lab: &Lab) -> String {
    name(&worker_machines(lab)[0])
}

/// What data, claim, event and machine say must hold these words.
fn says(lab: &Lab, reason: &str, words: &[&str]) {
    let machine = machine(lab);
    let data = data_of(lab, &machine);
    let claim = get(lab, "Metal3DataClaim", &machine);
    assert_eq!(condition(&data, "Ready"), ("False".into(), reason.into()), "{data}");
    assert_eq!(condition(&claim, "Ready"), ("False".into(), reason.into()), "{claim}");
    let events = warnings(lab, "Metal3Data", &name(&data)).join("\n");
    let of_machine = get(lab, "Metal3Machine", &machine).to_string();
    for (where_, printed) in [
        ("data", text(&data, "/status/errorMessage")),
        ("claim", text(&claim, "/status/errorMessage")),
        ("event", events),
        ("machine", of_machine.replace("\\\"", "\"")),
    ] {
        for word in words {
            assert!(printed.contains(word), "{where_} does not say {word:?}: {printed}");
        }
    }
    assert!(!all_ready(lab));
}

async fn goes_on(lab: &Lab) {
    rest(lab).await;
    let data = data_of(lab, &machine(lab));
    assert_eq!(condition(&data, "Ready"), ("True".into(), "Rendered".into()), "{data}");
    assert!(text(&data, "/status/errorMessage").is_empty());
    assert!(all_ready(lab));
}

fn host_of(lab: &Lab) -> String {
    let machine = get(lab, "Metal3Machine", &machine(lab));
    text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("fleet/", "")
}

async fn annotate_host(lab: &Lab, key: &str, value: &str) {
    let kind = manifest("metal3.io/v1alpha1", "BareMetalHost", "", &json!({})).resource();
    let patch = json!({"metadata": {"annotations": {key: value}}});
    lab.patch(&kind, &here(&host_of(lab)), &patch).await.unwrap();
}

async fn set_nics(lab: &Lab, nics: Value) {
    let kind = manifest("metal3.io/v1alpha1", "BareMetalHost", "", &json!({})).resource();
    let patch = json!({"status": {"hardware": {"nics": nics}}});
    lab.client().merge_patch(&kind, &here(&host_of(lab)), Some("status"), &patch).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_unknown_nic_is_reported_with_those_that_exist() {
    let lab = settled(&workers(1, ethernet(json!({"fromHostInterface": "eth7"})))).await;
    let host = host_of(&lab);
    says(
        &lab,
        "RenderFailed",
        &[
            "NIC name not found eth7: spec.networkData.links.ethernets[0].macAddress",
            &format!("host {host} has eno1"),
        ],
    );
    set_nics(&lab, json!([{"name": "eth7", "mac": "52:54:00:00:00:07"}])).await;
    goes_on(&lab).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_annotation_is_reported_with_object_and_key() {
    let from = json!({"fromAnnotation": {"object": "baremetalhost", "annotation": "example.com/mac"}});
    let lab = settled(&workers(1, ethernet(from))).await;
    says(
        &lab,
        "RenderFailed",
        &[
            "bad MAC address: : spec.networkData.links.ethernets[0].macAddress",
            "has no annotation example.com/mac",
        ],
    );
    annotate_host(&lab, "example.com/mac", "52:54:00:00:00:08").await;
    goes_on(&lab).await;
}

#[tokio::test(start_paused = true)]
async fn a_pool_annotation_that_is_missing_is_reported_with_object_and_key() {
    let from = json!({"object": "baremetalhost", "annotation": "example.com/pool"});
    let spec = json!({"networkData": {"networks": {"ipv4": [{"id": "net", "link": "eno1", "fromPoolAnnotation": from}]}}});
    let lab = settled(&workers(1, spec)).await;
    let words = "annotation example.com/pool not found or empty on baremetalhost: \
                 spec.networkData.networks.ipv4[0].fromPoolAnnotation";
    says(&lab, "RenderFailed", &[words, &host_of(&lab)]);
    annotate_host(&lab, "example.com/pool", "fleet").await;
    goes_on(&lab).await;
}

/// A malformed MAC address is reported with its link; the node gets no Secret.
#[tokio::test(start_paused = true)]
async fn s110_a_malformed_mac_is_reported_with_its_link() {
    let lab = settled(&workers(1, ethernet(json!({"string": "XX:XX:XX:XX:XX:XX"})))).await;
    let path = "spec.networkData.links.ethernets[0].macAddress";
    says(&lab, "RenderFailed", &[&format!("bad MAC address: XX:XX:XX:XX:XX:XX: {path}")]);
    assert!(lab.object("Secret", &format!("{}-networkdata", machine(&lab))).is_none());
    let from = json!({"fromAnnotation": {"object": "baremetalhost", "annotation": "example.com/mac"}});
    let lab = settled(&workers(1, ethernet(from))).await;
    annotate_host(&lab, "example.com/mac", "YY:YY:YY:YY:YY:YY").await;
    rest(&lab).await;
    says(
        &lab,
        "RenderFailed",
        &[&format!("bad MAC address: YY:YY:YY:YY:YY:YY: {path}"), "annotation example.com/mac"],
    );
    annotate_host(&lab, "example.com/mac", "52:54:00:00:00:02").await;
    goes_on(&lab).await;
}

#[tokio::test(start_paused = true)]
async fn an_address_of_the_wrong_family_is_reported_with_its_pool() {
    for (list, range, family, right) in [
        ("ipv6", json!({"start": "10.0.0.10", "end": "10.0.0.20", "prefix": 24}), "IPv6", "2001:db8::/64"),
        ("ipv4", json!({"subnet": "2001:db8::/64", "prefix": 64}), "IPv4", "10.0.0.0/24"),
    ] {
        let mut manifests = workers(1, on_pool(list, "mixed"));
        manifests.insert(1, pool("mixed", &json!({"namePrefix": "mixed", "pools": [range.clone()]})));
        let lab = settled(&manifests).await;
        let words = format!("is not an {family} address: spec.networkData.networks.{list}[0], pool mixed");
        says(&lab, "RenderFailed", &[&words]);
        // A range of the right family comes first; the one in use may not go. The next machine gets its address there.
        let prefix = if list == "ipv6" { 64 } else { 24 };
        let spec = json!({"spec": {"pools": [{"subnet": right, "prefix": prefix}, range]}});
        lab.patch(&ipam("IPPool"), &here("mixed"), &spec).await.unwrap();
        let gone = machine(&lab);
        delete_machine(&lab, &gone).await;
        goes_on(&lab).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_pool_is_reported_and_served_when_it_grows() {
    for (range, grown, list) in [
        (
            json!({"start": "10.0.0.10", "end": "10.0.0.11", "prefix": 24}),
            json!({"end": "10.0.0.19"}),
            "ipv4",
        ),
        (
            json!({"start": "2001:db8::1", "end": "2001:db8::2", "prefix": 64}),
            json!({"end": "2001:db8::9"}),
            "ipv6",
        ),
    ] {
        let mut manifests = workers(3, on_pool(list, "small"));
        manifests.insert(1, pool("small", &json!({"namePrefix": "small", "pools": [range]})));
        let lab = settled(&manifests).await;
        let stuck: Vec<_> =
            lab.objects("Metal3Data").into_iter().filter(|d| d["status"]["ready"] != json!(true)).collect();
        assert_eq!(stuck.len(), 1);
        let message = text(&stuck[0], "/status/errorMessage");
        assert_eq!(message, "IP Allocation for small failed : Exhausted IP Pools (the pool has 2 addresses)");
        assert_eq!(condition(&stuck[0], "Ready"), ("False".into(), "IPAllocationFailed".into()));
        let claim = format!("{}-small", name(&stuck[0]));
        assert_eq!(
            warnings(&lab, "IPClaim", &claim),
            [
                "AddressNotGiven: IPPool small: Exhausted IP Pools: all 2 addresses are allocated or reserved; \
              add a range to spec.pools or delete a claim"
            ]
        );
        let mut bigger = range.clone();
        json_patch::merge(&mut bigger, &grown);
        lab.patch(&ipam("IPPool"), &here("small"), &json!({"spec": {"pools": [bigger]}})).await.unwrap();
        rest(&lab).await;
        assert!(all_ready(&lab));
        let data = get(&lab, "Metal3Data", &name(&stuck[0]));
        assert_eq!(condition(&data, "Ready").0, "True");
    }
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_claim_is_served_when_another_machine_goes() {
    let mut manifests = workers(3, on_pool("ipv4", "small"));
    let range = json!({"start": "10.0.0.10", "end": "10.0.0.11", "prefix": 24});
    manifests.insert(1, pool("small", &json!({"namePrefix": "small", "pools": [range]})));
    let lab = settled(&manifests).await;
    assert!(!all_ready(&lab));
    let served = lab.objects("Metal3Data").into_iter().find(|d| d["status"]["ready"] == json!(true)).unwrap();
    let machine = text(&served, "/spec/claim/name");
    let mark = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}});
    lab.patch(&capi("Machine"), &here(&machine), &mark).await.unwrap();
    scale(&lab, 2).await;
    assert!(all_ready(&lab), "the address that came free was given to the one that waited");
    assert_eq!(lab.objects("IPAddress").len(), 2);
}

/// A gateway that its pool does not have is an error that names the pool.
#[tokio::test(start_paused = true)]
async fn s126_a_pool_without_gateway_is_reported() {
    let route = json!({"network": "0.0.0.0", "prefix": 0, "gateway": {"fromIPPool": "bare"}});
    let network = json!({"id": "net", "link": "eno1", "ipAddressFromIPPool": "bare", "routes": [route]});
    let mut manifests = workers(1, json!({"networkData": {"networks": {"ipv4": [network]}}}));
    let range = json!({"start": "10.0.0.10", "end": "10.0.0.19", "prefix": 24});
    manifests.insert(1, pool("bare", &json!({"namePrefix": "bare", "pools": [range]})));
    let lab = settled(&manifests).await;
    says(
        &lab,
        "RenderFailed",
        &["no gateway: spec.networkData.networks.ipv4[0].routes[0].gateway, pool bare has none"],
    );
}

/// A pool that does not exist is waited for, and the wait says so.
#[tokio::test(start_paused = true)]
async fn a_pool_that_comes_later_is_waited_for() {
    let lab = settled(&workers(1, on_pool("ipv4", "late"))).await;
    let data = data_of(&lab, &machine(&lab));
    assert_eq!(condition(&data, "Ready"), ("False".into(), "WaitingForIPAddress".into()));
    assert_eq!(ready_message(&data), "waiting for an address of IPPool late, which does not exist");
    let waits = get(&lab, "Metal3Machine", &machine(&lab));
    assert_eq!(
        condition_message(&waits, "Metal3DataReady"),
        "Metal3Data fleet-0 is not rendered: waiting for an address of IPPool late, which does not exist"
    );
    let range = json!({"start": "10.0.0.10", "end": "10.0.0.19", "prefix": 24});
    lab.apply(&[pool("late", &json!({"namePrefix": "late", "pools": [range]}))]).await.unwrap();
    goes_on(&lab).await;
}

//! Addresses: the built-in manager for claims of both kinds, and address managers of others through Cluster API's contract.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use capm3_apiserver::ApiServer;
use capm3_lab::{Lab, Options, faults::RandomFaults, manifests::Manifest};
use common::{data::*, *};
use parking_lot::Mutex;
use serde_json::{Value, json};

const METAL3: &str = "ipam.metal3.io/v1alpha1";
const CAPI: &str = "ipam.cluster.x-k8s.io/v1beta2";

fn namespace() -> Manifest {
    Manifest {
        file: "test".to_owned(),
        object: json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}),
    }
}

fn ip_claim(name: &str, pool: &str) -> Manifest {
    manifest(METAL3, "IPClaim", name, &json!({"spec": {"pool": {"name": pool}}}))
}

fn capi_claim(name: &str, pool: &Value) -> Manifest {
    manifest(CAPI, "IPAddressClaim", name, &json!({"spec": {"poolRef": pool}}))
}

fn metal3_pool(name: &str) -> Value {
    json!({"name": name, "kind": "IPPool", "apiGroup": "ipam.metal3.io"})
}

/// Addresses given to claims of both kinds; what only takes a name for a claim of Cluster API is not counted.
fn given(lab: &Lab) -> Vec<String> {
    let is_lock = |a: &Value| {
        text(a, "/metadata/ownerReferences/0/kind") == "IPAddressClaim" && a["apiVersion"] == METAL3
    };
    let all = lab.objects("IPAddress");
    let mut all: Vec<String> = all.iter().filter(|a| !is_lock(a)).map(|a| text(a, "/spec/address")).collect();
    all.sort();
    all
}

#[tokio::test(start_paused = true)]
async fn claims_of_both_kinds_share_a_pool_and_never_an_address() {
    for (start, end) in [("10.0.0.10", "10.0.0.19"), ("2001:db8::10", "2001:db8::19")] {
        let range = json!({"start": start, "end": end, "prefix": 24, "gateway": start});
        let mut manifests =
            vec![namespace(), pool("shared", &json!({"namePrefix": "shared", "pools": [range]}))];
        for n in 0..4 {
            manifests.push(ip_claim(&format!("c{n}"), "shared"));
            manifests.push(capi_claim(&format!("c{n}"), &metal3_pool("shared")));
        }
        let lab = settled(&manifests).await;
        let distinct: BTreeSet<String> = given(&lab).into_iter().collect();
        assert_eq!(distinct.len(), 8, "{distinct:?}");
        assert!(!distinct.contains(start), "the gateway is nobody's");
        for n in 0..4 {
            let claim = get(&lab, "IPAddressClaim", &format!("c{n}"));
            assert_eq!(condition(&claim, "Ready"), ("True".into(), "Ready".into()));
            let address = lab
                .objects("IPAddress")
                .into_iter()
                .find(|a| a["apiVersion"] == CAPI && name(a) == text(&claim, "/status/addressRef/name"));
            let address = address.unwrap();
            assert_eq!(text(&address, "/spec/claimRef/name"), format!("c{n}"));
            assert_eq!(address["spec"]["poolRef"], metal3_pool("shared"));
            assert_eq!(address["spec"]["prefix"], 24);
        }
        lab.client().delete(&capi_ipam("IPAddressClaim"), &here("c2"), None).await.unwrap();
        rest(&lab).await;
        assert_eq!(given(&lab).len(), 7);
        assert!(lab.object("IPAddressClaim", "c2").is_none());
        // Four of each kind, and a name taken for each of Cluster API, less what the claim had.
        assert_eq!(lab.objects("IPAddress").len(), 4 + 2 * 3);
    }
}

/// Two providers without an election serve the two kinds of claims of one pool at the same time, each time from views of
/// their own: no address is ever given twice, and the last free one goes to one claim only.
#[tokio::test(start_paused = true)]
async fn two_providers_at_once_never_give_claims_of_both_kinds_one_address() {
    for seed in 1..=10 {
        for ranges in [["10.0.0.10", "10.0.0.16"], ["2001:db8::10", "2001:db8::16"]] {
            let twice: Arc<Mutex<Vec<String>>> = Arc::default();
            let server: Arc<OnceLock<ApiServer>> = Arc::default();
            let (sink, looked_at) = (Arc::clone(&twice), Arc::clone(&server));
            let observer = move |_: &capm3_apiserver::WriteRecord| {
                if let Some(server) = looked_at.get() {
                    sink.lock().extend(given_to_two(server));
                }
            };
            let storm = Arc::new(RandomFaults::new(seed, 12));
            let options = Options {
                seed,
                faults: Arc::clone(&storm) as Arc<dyn capm3_lab::faults::Faults>,
                observer: Some(Arc::new(observer)),
                ..Options::default()
            };
            let mut lab = Lab::start(&options).await.unwrap();
            server.set(lab.server().clone()).ok();
            lab.add_provider();
            let range = json!({"start": ranges[0], "end": ranges[1], "prefix": 24});
            lab.apply(&[namespace(), pool("shared", &json!({"namePrefix": "shared", "pools": [range]}))])
                .await
                .unwrap();
            for n in 0..4 {
                lab.apply(&[
                    ip_claim(&format!("c{n}"), "shared"),
                    capi_claim(&format!("c{n}"), &metal3_pool("shared")),
                ])
                .await
                .unwrap();
            }
            rest(&lab).await;
            storm.over();
            rest(&lab).await;
            assert_eq!(*twice.lock(), Vec::<String>::new(), "seed {seed}");
            let distinct: BTreeSet<String> = given(&lab).into_iter().collect();
            assert_eq!(
                (distinct.len(), given(&lab).len()),
                (7, 7),
                "seed {seed}: eight claims, seven addresses"
            );
        }
    }
}

/// Addresses that claims of both kinds have at this moment.
fn given_to_two(server: &ApiServer) -> Vec<String> {
    let of = |objects: &[Arc<Value>], kind: &str, api_version: &str| -> BTreeSet<String> {
        let owned = |a: &&Arc<Value>| {
            let owners = a["metadata"]["ownerReferences"].as_array();
            a["kind"] == "IPAddress"
                && a["apiVersion"] == api_version
                && owners.into_iter().flatten().any(|owner| owner["kind"] == kind)
        };
        objects.iter().filter(owned).map(|a| text(a, "/spec/address")).collect()
    };
    let objects = server.objects(None);
    of(&objects, "IPClaim", METAL3).intersection(&of(&objects, "IPAddressClaim", CAPI)).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_claim_of_cluster_api_says_so_and_is_served_when_an_address_comes_free() {
    let range = json!({"start": "10.0.0.10", "end": "10.0.0.10", "prefix": 24});
    let lab = settled(&[
        namespace(),
        pool("one", &json!({"namePrefix": "one", "pools": [range]})),
        capi_claim("a", &metal3_pool("one")),
    ])
    .await;
    lab.apply(&[capi_claim("b", &metal3_pool("one"))]).await.unwrap();
    rest(&lab).await;
    let claim = get(&lab, "IPAddressClaim", "b");
    assert_eq!(condition(&claim, "Ready"), ("False".into(), "PoolExhausted".into()));
    assert_eq!(ready_message(&claim), "Exhausted IP Pools");
    lab.client().delete(&capi_ipam("IPAddressClaim"), &here("a"), None).await.unwrap();
    rest(&lab).await;
    assert_eq!(condition(&get(&lab, "IPAddressClaim", "b"), "Ready"), ("True".into(), "Ready".into()));
}

#[tokio::test(start_paused = true)]
async fn a_claim_on_a_pool_of_another_kind_is_left_to_its_manager() {
    let range = json!({"start": "10.0.0.10", "end": "10.0.0.19", "prefix": 24});
    let foreign = json!({"name": "same", "kind": "InClusterIPPool", "apiGroup": "ipam.cluster.x-k8s.io"});
    let lab = settled(&[
        namespace(),
        pool("same", &json!({"namePrefix": "same", "pools": [range]})),
        capi_claim("a", &foreign),
    ])
    .await;
    let claim = get(&lab, "IPAddressClaim", "a");
    assert!(claim.get("status").is_none() && claim["metadata"].get("finalizers").is_none(), "{claim}");
    assert!(given(&lab).is_empty());
}

#[tokio::test(start_paused = true)]
async fn reservations_requested_addresses_and_several_ranges_are_honoured() {
    let spec = json!({"namePrefix": "p", "prefix": 24, "gateway": "10.0.0.1", "dnsServers": ["10.0.0.2"],
        "preAllocations": {"reserved": "10.0.0.11"},
        "pools": [{"start": "10.0.0.10", "end": "10.0.0.12"},
            {"start": "2001:db8::1", "end": "2001:db8::9", "prefix": 64, "gateway": "2001:db8::ff", "dnsServers": ["2001:db8::53"]}]});
    let requested = manifest(
        METAL3,
        "IPClaim",
        "requested",
        &json!({"metadata": {"annotations": {"ipAddress": "2001:db8::7"}},
        "spec": {"pool": {"name": "p"}}}),
    );
    let mut manifests = vec![namespace(), pool("p", &spec), requested];
    manifests.extend(["a", "b", "c", "reserved"].map(|name| ip_claim(name, "p")));
    let lab = settled(&manifests).await;
    let of = |claim: &str| {
        let claim = get(&lab, "IPClaim", claim);
        let address = get(&lab, "IPAddress", &text(&claim, "/status/address/name"));
        (
            text(&address, "/spec/address"),
            address["spec"]["prefix"].as_i64().unwrap(),
            text(&address, "/spec/gateway"),
        )
    };
    let v4 = |address: &str| (address.to_owned(), 24, "10.0.0.1".to_owned());
    let v6 = |address: &str| (address.to_owned(), 64, "2001:db8::ff".to_owned());
    assert_eq!((of("a"), of("b"), of("c")), (v4("10.0.0.10"), v4("10.0.0.12"), v6("2001:db8::1")));
    assert_eq!((of("reserved"), of("requested")), (v4("10.0.0.11"), v6("2001:db8::7")));
}

/// Address, prefix, gateway and DNS servers of a pool reach metadata and network data.
#[tokio::test(start_paused = true)]
async fn s96_what_a_pool_gives_reaches_the_node() {
    let from = |key: &str| json!([{"key": key, "name": "p"}]);
    let route = json!({"network": "0.0.0.0", "prefix": 0, "gateway": {"fromIPPool": "p"}, "services": {"dnsFromIPPool": "p"}});
    let spec = json!({
        "metaData": {"ipAddressesFromPool": from("ip"), "prefixesFromPool": from("prefix"),
            "gatewaysFromPool": from("gateway"), "dnsServersFromPool": from("dns")},
        "networkData": {"networks": {"ipv4": [{"id": "net", "link": "eno1", "ipAddressFromIPPool": "p", "routes": [route]}]},
            "services": {"dns": ["9.9.9.9"], "dnsFromIPPool": "p"}}});
    let mut manifests = workers(1, spec);
    let range = json!({"start": "10.0.0.10", "end": "10.0.0.19", "prefix": 24, "gateway": "10.0.0.1", "dnsServers": ["8.8.8.8", "8.8.4.4"]});
    manifests.insert(1, pool("p", &json!({"namePrefix": "p", "pools": [range]})));
    let lab = settled(&manifests).await;
    let (_, meta_data, network_data) = rendered(&lab).remove(0);
    let got = ["ip", "prefix", "gateway", "dns"].map(|key| value(&meta_data, key));
    assert_eq!(got, ["10.0.0.10", "24", "10.0.0.1", "8.8.8.8,8.8.4.4"]);
    assert_eq!(
        network_data,
        "links: []\nnetworks:\n- id: net\n  ip_address: 10.0.0.10\n  link: eno1\n  netmask: 255.255.255.0\n  routes:\n  \
         - gateway: 10.0.0.1\n    netmask: 0.0.0.0\n    network: 0.0.0.0\n    services:\n    - address: 8.8.8.8\n      type: dns\n    \
         - address: 8.8.4.4\n      type: dns\n  type: ipv4\nservices:\n- address: 9.9.9.9\n  type: dns\n- address: 8.8.8.8\n  type: dns\n\
         - address: 8.8.4.4\n  type: dns\n"
    );
    assert_eq!(lab.objects("IPClaim").len(), 1, "one address, however often the pool is used");
}

/// A pool of another group and kind is asked by an IPAddressClaim of Cluster API: what its manager refuses is reported, and
/// address, prefix and gateway come from the IPAddress that it gives.
#[tokio::test(start_paused = true)]
async fn ip109_ip110_a_pool_of_another_address_manager_is_asked_through_cluster_api() {
    let foreign = json!({"name": "theirs", "kind": "InClusterIPPool", "apiGroup": "ipam.cluster.x-k8s.io"});
    let routes = json!([{"network": "0.0.0.0", "prefix": 0, "gateway": {"fromPoolRef": foreign}}]);
    let spec = json!({"networkData": {"networks": {"ipv4": [
        {"id": "n", "link": "eno1", "fromPoolRef": foreign, "routes": routes}]}}});
    let lab = settled(&workers(1, spec)).await;
    assert!(lab.objects("IPClaim").is_empty());
    let claim = get(&lab, "IPAddressClaim", "fleet-0-theirs");
    assert_eq!(claim["spec"]["poolRef"], foreign);
    assert_eq!(claim["metadata"]["finalizers"], json!(["metal3data.infrastructure.cluster.x-k8s.io"]));
    assert_eq!(
        condition(&get(&lab, "Metal3Data", "fleet-0"), "Ready"),
        ("False".into(), "WaitingForIPAddress".into())
    );
    let set_status = async |status: Value| {
        let kind = capi_ipam("IPAddressClaim");
        lab.client()
            .merge_patch(&kind, &here("fleet-0-theirs"), Some("status"), &json!({"status": status}))
            .await
            .unwrap();
        rest(&lab).await;
    };
    set_status(json!({"conditions": [{"type": "Ready", "status": "False", "reason": "PoolExhausted", "message": "none left",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]}))
    .await;
    let data = get(&lab, "Metal3Data", "fleet-0");
    assert_eq!(
        text(&data, "/status/errorMessage"),
        "IP Allocation for theirs failed : PoolExhausted: none left"
    );
    let address = json!({"spec": {"address": "10.9.9.9", "prefix": 24, "gateway": "10.9.9.1", "poolRef": foreign,
        "claimRef": {"name": "fleet-0-theirs"}}});
    lab.apply(&[manifest(CAPI, "IPAddress", "their-address", &address)]).await.unwrap();
    set_status(json!({"addressRef": {"name": "their-address"}, "conditions": null})).await;
    let document = &rendered(&lab)[0].2;
    for line in ["ip_address: 10.9.9.9\n", "netmask: 255.255.255.0\n", "gateway: 10.9.9.1\n"] {
        assert!(document.contains(line), "{document}");
    }
    assert!(all_ready(&lab));
    scale(&lab, 0).await;
    assert!(lab.object("IPAddressClaim", "fleet-0-theirs").is_none(), "the claim goes with its data");
}

/// A host named like a data object must do no harm: claims are found by their owner, never by a host's name.
#[tokio::test(start_paused = true)]
async fn a_host_named_like_data_does_no_harm() {
    let spec = json!({"networkData": {"networks": {"ipv4": [{"id": "n", "link": "eno1", "ipAddressFromIPPool": "fleet"}]}}});
    let mut manifests = workers(3, spec);
    for (n, m) in manifests.iter_mut().filter(|m| m.kind() == "BareMetalHost").enumerate() {
        m.object["metadata"]["name"] = json!(format!("fleet-{n}"));
    }
    let lab = settled(&manifests).await;
    assert!(all_ready(&lab));
    let distinct: BTreeSet<String> = given(&lab).into_iter().collect();
    assert_eq!(distinct.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn two_providers_at_once_give_no_address_and_no_index_twice() {
    let spec = json!({"metaData": {"indexes": [{"key": "index"}]},
        "networkData": {"networks": {"ipv4": [{"id": "n", "link": "eno1", "ipAddressFromIPPool": "fleet"}]}}});
    let mut lab = Lab::start(&capm3_lab::Options::default()).await.unwrap();
    lab.add_provider();
    lab.apply(&workers(8, spec)).await.unwrap();
    rest(&lab).await;
    let distinct: BTreeSet<String> = given(&lab).into_iter().collect();
    assert_eq!((distinct.len(), given(&lab).len()), (8, 8));
    assert_eq!(values(&lab, "index"), ["0", "1", "2", "3", "4", "5", "6", "7"]);
}

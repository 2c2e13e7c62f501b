//! What the Go provider does about data and addresses and that takes several controllers.

use std::{collections::BTreeMap, time::Duration};

use capm3_apiserver::Revision;
use capm3_lab::{Lab, Options, manifests::Manifest};
use serde_json::{Value, json};

use crate::common::{data::*, *};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const IPAM: &str = "ipam.metal3.io";
const CAPI_IPAM: &str = "ipam.cluster.x-k8s.io";
const DATA_FINALIZER: &str = "metal3data.infrastructure.cluster.x-k8s.io";
const CLAIM_FINALIZER: &str = "metal3dataclaim.infrastructure.cluster.x-k8s.io";

/// A template whose network has an address of a pool by name.
fn on_pool(pool: &str) -> Value {
    on(json!({"ipAddressFromIPPool": pool}))
}

/// A template whose network has an address of this source.
fn on(source: Value) -> Value {
    let mut network = json!({"id": "net", "link": "eno1"});
    json_patch::merge(&mut network, &source);
    json!({"metaData": {"indexes": [{"key": "index"}]}, "networkData": {"networks": {"ipv4": [network]}}})
}

fn address_of_first(lab: &Lab) -> String {
    let (_, _, document) = rendered(lab).remove(0);
    let line = document.lines().find_map(|line| line.trim().strip_prefix("ip_address: "));
    line.unwrap_or_default().to_owned()
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| finalizers.iter().any(|f| f == finalizer))
}

fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// A lab whose server keeps every revision, at rest with these manifests.
async fn remembering(manifests: &[Manifest]) -> Lab {
    let lab = Lab::start(&Options { remembered: Some(usize::MAX), ..Options::default() }).await.unwrap();
    lab.apply(manifests).await.unwrap();
    rest(&lab).await;
    lab
}

fn history(lab: &Lab, group: &str, plural: &str) -> Vec<Revision> {
    lab.server().history(None, group, plural).unwrap()
}

/// Finalizers keep a claim until its data is taken back, and data until its addresses are released.
#[tokio::test(start_paused = true)]
async fn dt81_finalizers_keep_claim_and_data_until_what_hangs_on_them_is_released() {
    let lab = remembering(&workers(2, on_pool("fleet"))).await;
    for kind in ["Metal3DataClaim", "Metal3Data"] {
        assert_eq!(lab.objects(kind).len(), 2);
        assert!(lab.objects(kind).iter().all(|object| has_finalizer(object, CLAIM_FINALIZER)), "{kind}");
    }
    assert!(lab.objects("Metal3Data").iter().all(|data| has_finalizer(data, DATA_FINALIZER)));
    scale(&lab, 0).await;
    let resources =
        [(INFRASTRUCTURE, "metal3dataclaims"), (INFRASTRUCTURE, "metal3datas"), (IPAM, "ipclaims")];
    let mut history: Vec<Revision> =
        resources.iter().flat_map(|(group, plural)| history(&lab, group, plural)).collect();
    history.sort_by_key(|revision| revision.number);
    let mut there: BTreeMap<(String, String), Value> = BTreeMap::new();
    let mut ends = BTreeMap::from([("Metal3DataClaim", 0), ("Metal3Data", 0), ("IPClaim", 0)]);
    for Revision { removed, object, .. } in history {
        let (kind, name) = (text(&object, "/kind"), name(&object));
        if !removed {
            there.insert((kind, name), object);
            continue;
        }
        match kind.as_str() {
            "Metal3DataClaim" => {
                let data = text(&object, "/status/renderedData/name");
                let data = there.get(&("Metal3Data".to_owned(), data));
                assert!(data.is_none_or(is_deleting), "claim {name} is gone, and its data is not taken back");
            }
            "Metal3Data" => {
                let of_data = |(kind, claim): &&(String, String)| {
                    kind == "IPClaim" && claim.starts_with(&format!("{name}-"))
                };
                let claims: Vec<_> = there.keys().filter(of_data).collect();
                assert!(claims.is_empty(), "data {name} is gone, and holds {claims:?}");
            }
            _ => {}
        }
        *ends.get_mut(kind.as_str()).unwrap() += 1;
        there.remove(&(kind, name));
    }
    assert!(ends.values().all(|ends| *ends == 2), "{ends:?}");
}

/// When data is deleted its address claims are deleted and their finalizer removed, so that the addresses are free again: for an
/// IPPool, and for a pool of another address manager.
#[tokio::test(start_paused = true)]
async fn ip117_addresses_are_released_with_their_data() {
    let foreign = json!({"name": "theirs", "kind": "InClusterIPPool", "apiGroup": CAPI_IPAM});
    let mut spec = on_pool("fleet");
    spec["networkData"]["networks"]["ipv4"][0]["routes"] =
        json!([{"network": "0.0.0.0", "prefix": 0, "gateway": {"fromPoolRef": foreign}}]);
    let lab = remembering(&workers(1, spec)).await;
    let claim = get(&lab, "IPAddressClaim", "fleet-0-theirs");
    assert!(
        has_finalizer(&claim, DATA_FINALIZER)
            && has_finalizer(&get(&lab, "IPClaim", "fleet-0-fleet"), DATA_FINALIZER)
    );
    let given = lab.objects("IPAddress");
    assert_eq!(given.len(), 1);
    scale(&lab, 0).await;
    for kind in ["Metal3Data", "IPClaim", "IPAddressClaim", "IPAddress"] {
        assert!(lab.objects(kind).is_empty(), "{kind}: {:?}", lab.objects(kind));
    }
    let end = |group, plural| history(&lab, group, plural).into_iter().find(|it| it.removed).unwrap().number;
    let end_of_data = end(INFRASTRUCTURE, "metal3datas");
    for (group, plural) in [(IPAM, "ipclaims"), (CAPI_IPAM, "ipaddressclaims")] {
        assert!(end(group, plural) < end_of_data, "{plural} are not left to the garbage collector");
    }
    scale(&lab, 1).await;
    let again = lab.objects("IPAddress");
    assert_eq!(again.len(), 1);
    assert_eq!(text(&again[0], "/spec/address"), text(&given[0], "/spec/address"), "it was free again");
}

/// DNS servers of an IPPool come with its address: those of the range, else those of the pool. A reference to an IPPool by kind
/// and group is asked in the same way.
#[tokio::test(start_paused = true)]
async fn ip111_dns_servers_come_from_the_range_or_else_from_the_pool() {
    let mut spec = on(json!({"fromPoolRef": {"name": "p", "kind": "IPPool", "apiGroup": IPAM}}));
    spec["metaData"]["dnsServersFromPool"] = json!([{"key": "dns", "name": "p"}]);
    let range = |start: &str, dns: Value| {
        let mut range = json!({"start": start, "end": start, "prefix": 24});
        json_patch::merge(&mut range, &json!({ "dnsServers": dns }));
        range
    };
    let pools = [range("10.0.0.10", json!(["9.9.9.9", "8.8.8.8"])), range("10.0.0.11", Value::Null)];
    let mut manifests = workers(2, spec);
    manifests.insert(1, pool("p", &json!({"namePrefix": "p", "dnsServers": ["1.1.1.1"], "pools": pools})));
    let lab = settled(&manifests).await;
    assert!(all_ready(&lab));
    let mut servers = values(&lab, "dns");
    servers.sort();
    assert_eq!(servers, ["1.1.1.1", "9.9.9.9,8.8.8.8"]);
    assert!(lab.objects("IPAddressClaim").is_empty());
}

/// With `--enable-bmh-name-based-preallocation` an IPClaim is named after host and pool and tells data and pool by labels, so that
/// the address that the pool reserves for the host stays with it when its machine is replaced.
#[tokio::test(start_paused = true)]
async fn ip116_an_address_that_is_reserved_for_a_host_stays_with_it() {
    let options = Options { name_claims_by_host: true, ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    let mut manifests = workers(1, on_pool("fleet"));
    let reserved = [("host-00000-fleet", "10.0.0.50"), ("host-00001-fleet", "10.0.0.51")];
    let reserved: BTreeMap<&str, &str> = reserved.into();
    change(&mut manifests, "IPPool", "fleet", &json!({"spec": {"preAllocations": reserved}}));
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    let machine = name(&worker_machines(&lab)[0]);
    let claim = format!("{}-fleet", name(&host_of(&lab, &machine)));
    let labels = get(&lab, "IPClaim", &claim)["metadata"]["labels"].clone();
    assert_eq!(labels[format!("{INFRASTRUCTURE}/data-name")], "fleet-0");
    assert_eq!(labels[format!("{INFRASTRUCTURE}/pool-name")], "fleet");
    assert_eq!(address_of_first(&lab), reserved[claim.as_str()]);
    delete_machine(&lab, &machine).await;
    assert!(lab.object("Metal3Machine", &machine).is_none(), "the machine is replaced");
    assert!(all_ready(&lab));
    assert_eq!(lab.objects("IPClaim").iter().map(|it| name(it)).collect::<Vec<_>>(), [claim.as_str()]);
    assert_eq!(address_of_first(&lab), reserved[claim.as_str()]);
}

/// The CRDs of an API group.
fn definitions(group: &str) -> Vec<Manifest> {
    let all = capm3_lab::crds().into_iter();
    let found: Vec<Manifest> = all.filter(|crd| crd.key().name.ends_with(&format!(".{group}"))).collect();
    assert!(found.len() >= 2, "claims and addresses of {group}");
    found
}

/// A lab whose provider starts where the kinds of a group are not installed.
async fn lab_without(group: &str) -> Lab {
    let mut lab = Lab::start(&Options::default()).await.unwrap();
    lab.stop_providers();
    for definition in definitions(group) {
        lab.client().delete(&definition.resource(), &definition.key(), None).await.unwrap();
    }
    lab.start_provider();
    lab
}

/// A lab where a kind is not installed never settles: the provider asks every few seconds whether the kind is served.
async fn for_ten_minutes(lab: &Lab) {
    lab.settle(Duration::from_secs(600)).await;
}

/// The provider runs without the kinds of Metal3's address manager or of Cluster API's contract: pools of the other one are
/// served, and a machine that needs a kind that is not installed says which. Once it is installed, the machine goes on without a
/// restart.
#[tokio::test(start_paused = true)]
async fn ip118_an_address_manager_that_is_not_installed_is_waited_for_by_those_who_need_it() {
    let by_contract =
        json!({"fromPoolRef": {"name": "fleet", "kind": "InClusterIPPool", "apiGroup": CAPI_IPAM}});
    let by_name = json!({"ipAddressFromIPPool": "fleet"});
    for (group, works, waits, missing, other) in [
        (CAPI_IPAM, &by_name, &by_contract, "IPAddressClaim", "IPClaim"),
        (IPAM, &by_contract, &by_name, "IPClaim", "IPAddressClaim"),
    ] {
        let manifests = |source: &Value| {
            let mut manifests = workers(1, on(source.clone()));
            let pool = take_out(&mut manifests, "IPPool", "fleet");
            (manifests, pool)
        };
        let lab = lab_without(group).await;
        let (all, pool) = manifests(works);
        lab.apply(&all).await.unwrap();
        if other == "IPClaim" {
            lab.apply(&[pool]).await.unwrap();
        }
        for_ten_minutes(&lab).await;
        let claims = lab.objects(other);
        assert_eq!(claims.len(), 1, "without {group}, {other} is used");
        assert_eq!(all_ready(&lab), other == "IPClaim", "nobody serves the other manager's pools here");

        let lab = lab_without(group).await;
        let (all, pool) = manifests(waits);
        lab.apply(&all).await.unwrap();
        for_ten_minutes(&lab).await;
        let data = get(&lab, "Metal3Data", "fleet-0");
        assert_eq!(condition(&data, "Ready"), ("False".into(), format!("{missing}NotServed")));
        let words = format!("the API server does not serve {missing}, which is needed for an address of ");
        assert!(ready_message(&data).starts_with(&words), "{data}");
        let machine = &worker_machines(&lab)[0];
        assert!(condition_message(machine, "Metal3DataReady").contains(&words), "{machine}");
        lab.apply(&definitions(group)).await.unwrap();
        if missing == "IPClaim" {
            lab.apply(&[pool]).await.unwrap();
        }
        rest(&lab).await;
        assert_eq!(lab.objects(missing).len(), 1, "found without a restart");
        assert_eq!(all_ready(&lab), missing == "IPClaim");
    }
}

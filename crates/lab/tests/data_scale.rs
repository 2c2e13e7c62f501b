//! Many claims at once: each gets its own index and address, and the shared statuses are written a few times only.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{collections::BTreeSet, time::Duration};

use capm3_lab::{Lab, Options, manifests::Manifest};
use common::{data::*, *};
use serde_json::{Value, json};

const CLAIMS: usize = 1000;

fn setting() -> Vec<Manifest> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}});
    vec![
        Manifest { file: "test".to_owned(), object: namespace },
        ours("Metal3DataTemplate", "t", &json!({"metaData": {"indexes": [{"key": "index"}]}})),
        pool("p", &json!({"namePrefix": "p", "pools": [{"subnet": "2001:db8::/64", "prefix": 64}]})),
        ours("Metal3Machine", "owner", &json!({"image": {"url": "http://192.0.2.1/i", "checksum": "c"}})),
    ]
}

/// Claims on both; one machine owns them all, so that nobody collects them.
fn claims(lab: &Lab, numbers: std::ops::Range<usize>) -> Vec<Manifest> {
    let uid = text(&get(lab, "Metal3Machine", "owner"), "/metadata/uid");
    let owner = json!([{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "owner",
        "uid": uid}]);
    let both = |n: usize| {
        let name = format!("m{n:04}");
        let mut data = ours("Metal3DataClaim", &name, &json!({"template": {"name": "t"}}));
        data.object["metadata"]["ownerReferences"] = owner.clone();
        let address = json!({"spec": {"pool": {"name": "p"}}});
        [data, manifest("ipam.metal3.io/v1alpha1", "IPClaim", &name, &address)]
    };
    numbers.flat_map(both).collect()
}

fn check(lab: &Lab) {
    let data = lab.objects("Metal3Data");
    let indexes: BTreeSet<i64> = data.iter().map(|d| d["spec"]["index"].as_i64().unwrap()).collect();
    assert!(indexes.into_iter().eq(0..CLAIMS as i64), "{} data", data.len());
    assert_eq!(data.len(), CLAIMS);
    let addresses: BTreeSet<String> =
        lab.objects("IPAddress").iter().map(|a| text(a, "/spec/address")).collect();
    assert_eq!(addresses.len(), CLAIMS);
    let served = |kind: &str, pointer: &str| {
        lab.objects(kind).iter().filter(|c| c.pointer(pointer).and_then(Value::as_str).is_some()).count()
    };
    assert_eq!(served("IPClaim", "/status/address/name"), CLAIMS);
}

/// Writes of the status of a kind.
fn status_writes(lab: &Lab, resource: &str) -> u64 {
    let requests = lab.server().requests();
    let is_it = |r: &&capm3_apiserver::RequestCount| {
        r.user_agent == "capm3"
            && r.resource.ends_with(resource)
            && r.subresource == "status"
            && r.verb == "patch"
    };
    requests.iter().filter(is_it).map(|r| r.count).sum()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_claims_that_wait_at_the_start_cost_at_most_three_status_writes_each() {
    let mut lab = Lab::start(&Options::default()).await.unwrap();
    lab.stop_providers();
    lab.apply(&setting()).await.unwrap();
    lab.apply(&claims(&lab, 0..CLAIMS)).await.unwrap();
    lab.start_provider();
    rest(&lab).await;
    check(&lab);
    let (template, pool) = (status_writes(&lab, "metal3datatemplates"), status_writes(&lab, "ippools"));
    assert!(template <= 3 && pool <= 3, "template {template}, pool {pool}");
    assert!(template > 0 && pool > 0);
    let indexes = get(&lab, "Metal3DataTemplate", "t")["status"]["indexes"].as_array().unwrap().len();
    assert_eq!(indexes, CLAIMS);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_claims_over_ten_seconds_cost_at_most_fifteen_status_writes_each() {
    let lab = started(&setting()).await;
    for step in 0..100 {
        lab.apply(&claims(&lab, step * 10..step * 10 + 10)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    rest(&lab).await;
    check(&lab);
    let (template, pool) = (status_writes(&lab, "metal3datatemplates"), status_writes(&lab, "ippools"));
    assert!(template <= 15 && pool <= 15, "template {template}, pool {pool}");
}

//! Templates that share an index space, so that a rolling update from one to the other never gives an index twice.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{collections::BTreeMap, sync::Arc};

use capm3_apiserver::ApiServer;
use capm3_lab::{Lab, Options, manifests::Manifest};
use common::{data::*, *};
use parking_lot::Mutex;
use serde_json::{Value, json};

fn spec(key: Option<&str>) -> Value {
    let range = json!({"key": "ip", "start": "10.0.0.10", "end": "10.0.0.99"});
    let mut spec = json!({"metaData": {"indexes": [{"key": "local-hostname", "prefix": "node-"}], "ipAddresses": [range]}});
    if let Some(key) = key {
        spec["templateReference"] = json!(key);
    }
    spec
}

/// `size` workers on template `fleet`, hosts to spare, and a machine template `workers-2` that uses template `b`.
fn two_templates(size: usize, spare: usize, key: Option<&str>) -> (Vec<Manifest>, [Manifest; 2]) {
    let mut manifests = workers(size, spec(None));
    let all = capm3_lab::fleet::fleet(size + spare);
    let known: Vec<String> = manifests.iter().map(|m| m.key().name).collect();
    manifests
        .extend(all.into_iter().filter(|m| m.kind() == "BareMetalHost" && !known.contains(&m.key().name)));
    let old =
        manifests.iter().find(|m| m.kind() == "Metal3MachineTemplate" && m.key().name == "workers").unwrap();
    let mut next = old.clone();
    next.object["metadata"]["name"] = json!("workers-2");
    next.object["spec"]["template"]["spec"]["dataTemplate"]["name"] = json!("b");
    (manifests, [ours("Metal3DataTemplate", "b", &spec(key)), next])
}

async fn roll_out(lab: &Lab) {
    let patch = json!({"spec": {"template": {"spec": {"infrastructureRef": {"name": "workers-2"}}}}});
    lab.patch(&capi("MachineDeployment"), &here("workers"), &patch).await.unwrap();
    rest(lab).await;
}

/// Indexes that more than one data object holds at this moment.
fn doubles(server: &ApiServer) -> Vec<String> {
    let mut holders: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for data in server.objects(None).iter().filter(|o| o["kind"] == "Metal3Data") {
        holders.entry(data["spec"]["index"].as_i64().unwrap_or(-1)).or_default().push(name(data));
    }
    holders.into_values().filter(|names| names.len() > 1).map(|names| names.join(" and ")).collect()
}

/// A lab in which every write is followed by a look for indexes that are held twice.
async fn watched() -> (Lab, Arc<Mutex<Vec<String>>>) {
    let server: Arc<std::sync::OnceLock<ApiServer>> = Arc::default();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (to_look_at, found) = (Arc::clone(&server), Arc::clone(&seen));
    let observer: Arc<dyn Fn(&capm3_apiserver::WriteRecord) + Send + Sync> = Arc::new(move |record| {
        if let Some(server) = to_look_at.get().filter(|_| record.resource.ends_with("metal3datas")) {
            found.lock().extend(doubles(server));
        }
    });
    let lab = Lab::start(&Options { observer: Some(observer), ..Options::default() }).await.unwrap();
    server.set(lab.server().clone()).ok();
    (lab, seen)
}

/// Demonstration 5: three nodes move from one template to the next, one at a time. At no moment have two data objects one
/// index, and no two nodes one address; the old data stays until its machine goes.
#[tokio::test(start_paused = true)]
async fn s168_a_rolling_update_never_gives_an_index_twice() {
    for key in ["fleet", "SharedRef"] {
        let (mut manifests, next) = two_templates(3, 1, Some(key));
        if key != "fleet" {
            replace(&mut manifests, "Metal3DataTemplate", "fleet", spec(Some(key)));
        }
        let (lab, twice) = watched().await;
        lab.apply(&manifests).await.unwrap();
        rest(&lab).await;
        lab.apply(&next).await.unwrap();
        roll_out(&lab).await;
        assert!(all_ready(&lab), "{key}");
        assert_eq!(*twice.lock(), Vec::<String>::new(), "{key}");
        let templates: Vec<String> =
            lab.objects("Metal3Data").iter().map(|d| text(d, "/spec/template/name")).collect();
        assert_eq!(templates, ["b", "b", "b"], "{key}");
        let mut addresses = values(&lab, "ip");
        addresses.dedup();
        assert_eq!(addresses.len(), 3, "{key}: {addresses:?}");
        let indexes: Vec<i64> = rendered(&lab).iter().map(|r| r.0).collect();
        assert!(indexes.iter().all(|index| *index <= 4), "freed indexes are used again: {indexes:?}");
    }
}

/// Without a key, two templates count for themselves, as they always did.
#[tokio::test(start_paused = true)]
async fn without_a_key_each_template_counts_for_itself() {
    let (mut manifests, [mut template, machine_template]) = two_templates(2, 2, None);
    template.object["spec"]["metaData"]["indexes"][0]["prefix"] = json!("other-");
    manifests.extend([template, machine_template]);
    let mut second = manifests.iter().find(|m| m.kind() == "MachineDeployment").unwrap().clone();
    second.object["metadata"]["name"] = json!("second");
    let labels =
        json!({"cluster.x-k8s.io/cluster-name": "fleet", "cluster.x-k8s.io/deployment-name": "second"});
    second.object["spec"]["selector"]["matchLabels"] = labels.clone();
    second.object["spec"]["template"]["metadata"]["labels"] = labels;
    second.object["spec"]["template"]["spec"]["infrastructureRef"]["name"] = json!("workers-2");
    manifests.push(second);
    let lab = settled(&manifests).await;
    let names: Vec<String> = lab.objects("Metal3Data").iter().map(|d| name(d)).collect();
    assert_eq!(names, ["b-0", "b-1", "fleet-0", "fleet-1"]);
}

/// Two templates of one key serve their claims at the same time, and the provider dies in the middle: no index twice.
#[tokio::test(start_paused = true)]
async fn s169_two_keyed_templates_at_once_with_a_crash_between() {
    for steps in [1_u64, 4, 9, 16, 25] {
        let (mut manifests, next) = two_templates(3, 3, Some("SharedRef"));
        replace(&mut manifests, "Metal3DataTemplate", "fleet", spec(Some("SharedRef")));
        manifests.extend(next);
        let mut second = manifests.iter().find(|m| m.kind() == "MachineDeployment").unwrap().clone();
        second.object["metadata"]["name"] = json!("second");
        let labels =
            json!({"cluster.x-k8s.io/cluster-name": "fleet", "cluster.x-k8s.io/deployment-name": "second"});
        second.object["spec"]["selector"]["matchLabels"] = labels.clone();
        second.object["spec"]["template"]["metadata"]["labels"] = labels;
        second.object["spec"]["template"]["spec"]["infrastructureRef"]["name"] = json!("workers-2");
        manifests.push(second);
        let (mut lab, twice) = watched().await;
        lab.apply(&manifests).await.unwrap();
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(steps)).await;
        lab.start_provider();
        rest(&lab).await;
        assert_eq!(*twice.lock(), Vec::<String>::new());
        let mut indexes: Vec<i64> =
            lab.objects("Metal3Data").iter().map(|d| d["spec"]["index"].as_i64().unwrap()).collect();
        indexes.sort_unstable();
        assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
    }
}

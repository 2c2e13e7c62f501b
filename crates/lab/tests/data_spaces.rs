//! Templates that share an index space, so that a rolling update from one to the other never gives an index twice.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

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

/// A deployment `second` beside that of the workers, whose machines use template `b`.
fn second_deployment(manifests: &[Manifest], replicas: usize) -> Manifest {
    let mut second = manifests.iter().find(|m| m.kind() == "MachineDeployment").unwrap().clone();
    second.object["metadata"]["name"] = json!("second");
    let labels =
        json!({"cluster.x-k8s.io/cluster-name": "fleet", "cluster.x-k8s.io/deployment-name": "second"});
    let spec = &mut second.object["spec"];
    spec["replicas"] = json!(replicas);
    spec["selector"]["matchLabels"] = labels.clone();
    spec["template"]["metadata"]["labels"] = labels;
    spec["template"]["spec"]["infrastructureRef"]["name"] = json!("workers-2");
    second
}

/// `first` workers on template `fleet` with one key; when they are up, `second` machines on template `b` with another.
async fn one_after_the_other(keys: [Option<&str>; 2], first: usize, second: usize) -> Lab {
    let (mut manifests, next) = two_templates(first, second + 1, keys[1]);
    replace(&mut manifests, "Metal3DataTemplate", "fleet", spec(keys[0]));
    let lab = settled(&manifests).await;
    assert!(all_ready(&lab));
    lab.apply(&next).await.unwrap();
    lab.apply(&[second_deployment(&manifests, second)]).await.unwrap();
    rest(&lab).await;
    assert_eq!(machines(&lab, "second-").len(), second);
    lab
}

/// Name, template, index and key of all data, by index.
fn datas(lab: &Lab) -> Vec<(String, String, i64, String)> {
    let row = |data: &Arc<Value>| {
        let index = data["spec"]["index"].as_i64().unwrap();
        (name(data), text(data, "/spec/template/name"), index, text(data, "/spec/templateReference"))
    };
    let mut all: Vec<_> = lab.objects("Metal3Data").iter().map(row).collect();
    all.sort_by_key(|data| data.2);
    all
}

fn data(name: &str, template: &str, index: i64, key: &str) -> (String, String, i64, String) {
    (name.to_owned(), template.to_owned(), index, key.to_owned())
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

/// Machines that stay and whose data is being deleted or is gone at this moment.
fn without_data(server: &ApiServer) -> Vec<String> {
    let objects = server.objects(None);
    let is_going = |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some();
    let stays =
        |data: &str| objects.iter().any(|o| o["kind"] == "Metal3Data" && name(o) == data && !is_going(o));
    let machines = objects.iter().filter(|o| o["kind"] == "Metal3Machine" && !is_going(o));
    let used = machines.map(|machine| (name(machine), text(machine, "/status/renderedData/name")));
    let used = used.filter(|(_, data)| !data.is_empty() && !stays(data));
    used.map(|(machine, data)| format!("{machine} without {data}")).collect()
}

/// A lab in which every write to data is followed by a check for indexes that are held twice and for data that goes before
/// its machine. Data whose range is exceeded is replaced, so no test with such a range may use it.
async fn watched() -> (Lab, Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>) {
    let server: Arc<std::sync::OnceLock<ApiServer>> = Arc::default();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let looked: Arc<AtomicUsize> = Arc::default();
    let (to_look_at, found, looks) = (Arc::clone(&server), Arc::clone(&seen), Arc::clone(&looked));
    let observer: Arc<dyn Fn(&capm3_apiserver::WriteRecord) + Send + Sync> = Arc::new(move |record| {
        if let Some(server) = to_look_at.get().filter(|_| record.resource.ends_with("metal3datas")) {
            found.lock().extend(doubles(server).into_iter().chain(without_data(server)));
            looks.fetch_add(1, Ordering::SeqCst);
        }
    });
    let lab = Lab::start(&Options { observer: Some(observer), ..Options::default() }).await.unwrap();
    server.set(lab.server().clone()).ok();
    (lab, seen, looked)
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
        let (lab, wrong, looked) = watched().await;
        lab.apply(&manifests).await.unwrap();
        rest(&lab).await;
        lab.apply(&next).await.unwrap();
        roll_out(&lab).await;
        assert!(all_ready(&lab), "{key}");
        assert!(looked.load(Ordering::SeqCst) >= 9, "three data were made, three more, and three deleted");
        assert_eq!(*wrong.lock(), Vec::<String>::new(), "{key}");
        let templates: Vec<String> =
            lab.objects("Metal3Data").iter().map(|d| text(d, "/spec/template/name")).collect();
        assert_eq!(templates, ["b", "b", "b"], "{key}");
        let addresses: BTreeSet<String> = values(&lab, "ip").into_iter().collect();
        assert_eq!(addresses.len(), 3, "{key}: {addresses:?}");
        let indexes: Vec<i64> = rendered(&lab).iter().map(|r| r.0).collect();
        assert!(indexes.iter().all(|index| *index <= 4), "freed indexes are used again: {indexes:?}");
    }
}

/// Two templates with one key have one index space: the first data of the second template gets the lowest index that is free
/// in both.
#[tokio::test(start_paused = true)]
async fn s162_templates_with_one_key_share_their_indexes() {
    let (mut manifests, next) = two_templates(3, 2, Some("shared"));
    replace(&mut manifests, "Metal3DataTemplate", "fleet", spec(Some("shared")));
    let lab = settled(&manifests).await;
    let gone = text(&get(&lab, "Metal3Data", "shared-1"), "/spec/claim/name");
    let chosen = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}});
    lab.patch(&capi("Machine"), &here(&gone), &chosen).await.unwrap();
    scale(&lab, 2).await;
    lab.apply(&next).await.unwrap();
    lab.apply(&[second_deployment(&manifests, 2)]).await.unwrap();
    rest(&lab).await;
    let expected = [
        data("shared-0", "fleet", 0, "shared"),
        data("shared-1", "b", 1, "shared"),
        data("shared-2", "fleet", 2, "shared"),
        data("shared-3", "b", 3, "shared"),
    ];
    assert_eq!(datas(&lab), expected);
}

/// The key of a template may be the name of another one whose data carry no key: they are counted.
#[tokio::test(start_paused = true)]
async fn s165_data_without_a_key_counts_for_the_template_whose_key_is_its_templates_name() {
    let lab = one_after_the_other([None, Some("fleet")], 2, 2).await;
    let expected = [
        data("fleet-0", "fleet", 0, ""),
        data("fleet-1", "fleet", 1, ""),
        data("fleet-2", "b", 2, "fleet"),
        data("fleet-3", "b", 3, "fleet"),
    ];
    assert_eq!(datas(&lab), expected);
    scale(&lab, 3).await;
    assert_eq!(
        datas(&lab).last(),
        Some(&data("fleet-4", "fleet", 4, "")),
        "the older template sees the newer one"
    );
}

/// Data is named after the key where that is a legal name of an object; with `SharedRef`, which is none, the name of the
/// template is the prefix. Indexes are shared in both cases.
#[tokio::test(start_paused = true)]
async fn s166_data_is_named_after_a_legal_key_and_else_after_its_template() {
    for (key, first, second) in [("shared", "shared-0", "shared-1"), ("SharedRef", "fleet-0", "b-1")] {
        let lab = one_after_the_other([Some(key), Some(key)], 1, 1).await;
        assert_eq!(datas(&lab), [data(first, "fleet", 0, key), data(second, "b", 1, key)]);
    }
}

/// Data that is created from a template with a key carries it, in the field and in the annotation that survives where the
/// field is not known.
#[tokio::test(start_paused = true)]
async fn s167_data_of_a_template_with_a_key_carries_the_key() {
    let lab = one_after_the_other([None, Some("shared")], 1, 1).await;
    assert_eq!(datas(&lab).len(), 2);
    let annotation = "/metadata/annotations/capm3.metal3.io~1template-reference";
    let keyed = get(&lab, "Metal3Data", "shared-0");
    assert_eq!(
        (text(&keyed, "/spec/templateReference"), text(&keyed, annotation)),
        ("shared".into(), "shared".into())
    );
    let without = get(&lab, "Metal3Data", "fleet-0");
    assert_eq!((without.pointer("/spec/templateReference"), without.pointer(annotation)), (None, None));
}

/// A template is deleted while data of another one carries its prefix: only its own claims hold it back.
#[tokio::test(start_paused = true)]
async fn s170_only_its_own_claims_hold_a_deleted_template_back() {
    let lab = one_after_the_other([None, Some("fleet")], 1, 1).await;
    delete(&lab, "Metal3DataTemplate", "fleet").await;
    let waiting = get(&lab, "Metal3DataTemplate", "fleet");
    assert!(waiting.pointer("/metadata/deletionTimestamp").is_some(), "it waits for its own claim");
    assert_eq!(datas(&lab).len(), 2);
    scale(&lab, 0).await;
    assert!(
        lab.object("Metal3DataTemplate", "fleet").is_none(),
        "it does not wait for the claim of the other"
    );
    assert_eq!(datas(&lab), [data("fleet-1", "b", 1, "fleet")]);
    let other = machines(&lab, "second-").remove(0);
    assert_eq!(condition(&other, "Ready").0, "True", "{other}");
}

/// Without a key, two templates count for themselves, as they always did.
#[tokio::test(start_paused = true)]
async fn s163_without_a_key_each_template_counts_for_itself() {
    let (mut manifests, [mut template, machine_template]) = two_templates(2, 2, None);
    template.object["spec"]["metaData"]["indexes"][0]["prefix"] = json!("other-");
    manifests.extend([template, machine_template]);
    manifests.push(second_deployment(&manifests, 2));
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
        manifests.push(second_deployment(&manifests, 3));
        let (mut lab, wrong, looked) = watched().await;
        lab.apply(&manifests).await.unwrap();
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(steps)).await;
        lab.start_provider();
        rest(&lab).await;
        assert!(looked.load(Ordering::SeqCst) >= 6);
        assert_eq!(*wrong.lock(), Vec::<String>::new());
        let mut indexes: Vec<i64> =
            lab.objects("Metal3Data").iter().map(|d| d["spec"]["index"].as_i64().unwrap()).collect();
        indexes.sort_unstable();
        assert_eq!(indexes, [0, 1, 2, 3, 4, 5]);
    }
}

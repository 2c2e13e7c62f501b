use std::collections::BTreeMap;

use crate::plan::End;
use capm3_api::{
    neighbours::Cluster,
    v1beta2::{self, Metal3Data, Metal3DataTemplate, Metal3Machine},
};
use capm3_domain::wait::Text;
use capm3_engine::{Memory, ObjectKey};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{kinds, metal3datatemplate::observe};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("n", name)
}

fn template() -> Value {
    json!({"metadata": {"namespace": "n", "name": "t", "uid": "t", "finalizers": [finalizer::DATA_TEMPLATE],
        "labels": {"cluster.x-k8s.io/cluster-name": "c"}}})
}

fn claim(name: &str) -> Value {
    json!({"metadata": {"namespace": "n", "name": name, "uid": format!("uid-{name}"),
            "labels": {"cluster.x-k8s.io/cluster-name": "c"}, "finalizers": [finalizer::MACHINE],
            "ownerReferences": [{"apiVersion": v1beta2::API_VERSION, "kind": "Metal3Machine", "name": name,
                "uid": "m", "controller": true}]},
        "spec": {"template": {"name": "t"}}})
}

fn world(claims: &[&str]) -> Memory {
    let mut memory = kinds::memory();
    memory.put_whole::<Metal3DataTemplate>(template());
    for name in claims {
        memory.put_whole::<Metal3DataClaim>(claim(name));
    }
    memory
}

fn plan(memory: &Memory, now: u32) -> Plan {
    let now = format!("2026-01-02T{:02}:{:02}:{:02}Z", now / 3600, now / 60 % 60, now % 60);
    observe(memory, &key("t")).map_or_else(Plan::done, |snapshot| decide(&snapshot, &now))
}

fn pass(memory: &mut Memory, now: u32) -> End {
    memory.drive(|memory| Some(plan(memory, now)))
}

/// Plan in one word a write: `patch Metal3DataClaim a`.
fn writes(plan: &Plan) -> Vec<String> {
    plan.writes
        .iter()
        .map(|write| write.to_string().split(" {").next().unwrap_or_default().to_owned())
        .collect()
}

/// Claims and the data that each was given.
fn given(memory: &Memory) -> BTreeMap<String, Option<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let entry = |c: &Value| Some((text(&c["metadata"]["name"])?, text(&c["status"]["renderedData"]["name"])));
    memory.list::<Metal3DataClaim>().iter().filter_map(entry).collect()
}

fn index_of(memory: &Memory, claim: &str) -> Option<String> {
    given(memory).remove(claim).flatten()
}

/// The end of a machine: its finalizer goes, then the claim is deleted.
fn delete_claim(memory: &mut Memory, name: &str) {
    let finalizers = json!([finalizer::DATA_CLAIM]);
    memory.change::<Metal3DataClaim>(&key(name), &json!({"metadata": {"finalizers": finalizers}}));
    memory.delete::<Metal3DataClaim>(&key(name));
}

/// What the controller of the data would write first thing is there from the start, if the machine is seen and asks for it.
#[test]
fn data_is_made_with_its_finalizer_and_the_names_of_its_secrets() {
    let asks = |name: &str| {
        json!({"metadata": {"namespace": "n", "name": name}, "spec": {"image": {"url": "u"},
            "dataTemplate": {"name": "t"}, "networkData": {"name": "of-the-user"}}})
    };
    let mut other = asks("b");
    other["spec"]["dataTemplate"]["name"] = json!("another");
    let mut memory = world(&["a", "b", "c"]);
    let documents = json!({"spec": {"metaData": {}, "networkData": {}}});
    memory.change::<Metal3DataTemplate>(&key("t"), &documents);
    memory.put_whole::<Metal3Machine>(asks("a"));
    memory.put_whole::<Metal3Machine>(other);
    pass(&mut memory, 0);
    let datas = memory.list::<Metal3Data>();
    assert_eq!(datas.len(), 3);
    let both = json!([finalizer::DATA_CLAIM, finalizer::DATA]);
    for data in datas {
        let is_of_a = data["spec"]["claim"]["name"] == "a";
        let expected = if is_of_a { both.clone() } else { json!([finalizer::DATA_CLAIM]) };
        assert_eq!(data["metadata"]["finalizers"], expected, "{data}");
        let named = if is_of_a { json!("a-metadata") } else { Value::Null };
        assert_eq!(data.pointer("/spec/metaData/name").cloned().unwrap_or_default(), named, "{data}");
        assert_eq!(data.pointer("/spec/networkData"), None, "the user brings it: {data}");
    }
}

#[test]
fn a_claim_is_held_before_its_data_is_made_and_reported_afterwards() {
    let mut memory = world(&["a"]);
    let first = plan(&memory, 0);
    let expected = [
        "patch Metal3DataClaim n/a",
        "create Metal3Data n/t-0",
        "patch Metal3DataClaim/status n/a",
        "patch Metal3DataTemplate/status n/t",
    ];
    assert_eq!(writes(&first), expected);
    pass(&mut memory, 0);
    assert!(plan(&memory, 1).is_quiet());
    assert_eq!(plan(&memory, 1).end, End::Done);
}

#[test]
fn a_template_is_held_before_anything_is_given_out() {
    let mut memory = world(&["a"]);
    memory.change::<Metal3DataTemplate>(&key("t"), &json!({"metadata": {"finalizers": null}}));
    assert_eq!(writes(&plan(&memory, 0)).first().map(String::as_str), Some("patch Metal3DataTemplate n/t"));
}

#[test]
fn older_claims_come_first_then_names() {
    let mut memory = world(&[]);
    for (name, second) in [("a", 2), ("c", 1), ("b", 1)] {
        let mut claim = claim(name);
        claim["metadata"]["creationTimestamp"] = json!(format!("2026-01-01T00:00:0{second}Z"));
        memory.put_whole::<Metal3DataClaim>(claim);
    }
    pass(&mut memory, 0);
    let order = ["b", "c", "a"].map(|name| index_of(&memory, name).unwrap());
    assert_eq!(order, ["t-0", "t-1", "t-2"]);
}

/// `status.indexes` is made from the data, in the order of indexes: a status that was lost, as after a move, comes back.
#[test]
fn dt77_a_lost_list_of_indexes_is_rebuilt_from_the_data_in_order() {
    let mut memory = world(&[]);
    for (now, name) in [(0, "c"), (10, "b"), (20, "a")] {
        memory.put_whole::<Metal3DataClaim>(claim(name));
        pass(&mut memory, now);
    }
    let indexes = |memory: &Memory| memory.list::<Metal3DataTemplate>()[0]["status"]["indexes"].clone();
    let entry = |name: &str, index: i32| json!({"name": name, "index": index});
    let expected = json!([entry("c", 0), entry("b", 1), entry("a", 2)]);
    assert_eq!(indexes(&memory), expected);
    for lost in [json!(null), json!({"indexes": [entry("nobody", 0)]})] {
        memory.change::<Metal3DataTemplate>(&key("t"), &json!({"status": null}));
        memory.change::<Metal3DataTemplate>(&key("t"), &json!({"status": lost}));
        pass(&mut memory, 30);
        assert_eq!(indexes(&memory), expected);
    }
}

/// `spec.clusterName` of a template decides nothing: claims of any Cluster are served.
#[test]
fn dt86_a_template_that_names_a_cluster_serves_the_claims_of_others() {
    let mut memory = world(&["a"]);
    memory.change::<Metal3DataTemplate>(&key("t"), &json!({"spec": {"clusterName": "elsewhere"}}));
    pass(&mut memory, 0);
    assert_eq!(index_of(&memory, "a").as_deref(), Some("t-0"));
    let template = &memory.list::<Metal3DataTemplate>()[0]["metadata"];
    assert!(template.get("ownerReferences").is_none(), "{template}");
}

/// Data is owned by its claim, as controller, and by its machine, never by the template, which machines of several Clusters may
/// use.
#[test]
fn dt78_data_is_owned_by_claim_and_machine_and_clusters_share_the_template() {
    let mut memory = world(&["a"]);
    let mut other = claim("b");
    other["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "d"});
    memory.put_whole::<Metal3DataClaim>(other);
    pass(&mut memory, 0);
    let datas = memory.list::<Metal3Data>();
    assert_eq!(datas.len(), 2);
    for (data, (claim, cluster)) in datas.iter().zip([("a", "c"), ("b", "d")]) {
        let owners = data["metadata"]["ownerReferences"].as_array().unwrap().iter();
        let owners: Vec<_> =
            owners.map(|o| (&o["kind"], &o["name"], o["controller"] == json!(true))).collect();
        let (claim, name) = (json!("Metal3DataClaim"), json!(claim));
        assert_eq!(owners, [(&claim, &name, true), (&json!("Metal3Machine"), &name, false)]);
        assert_eq!(data["metadata"]["labels"], json!({"cluster.x-k8s.io/cluster-name": cluster}));
    }
}

#[test]
fn many_claims_share_one_status_write() {
    let names: Vec<String> = (0..50).map(|n| format!("c{n:02}")).collect();
    let memory = world(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let plan = plan(&memory, 0);
    assert_eq!(plan.writes.len(), 3 * 50 + 1);
}

#[test]
fn claims_that_trickle_in_within_a_second_wait_with_the_status_only() {
    let mut memory = world(&["a"]);
    pass(&mut memory, 7);
    memory.put_whole::<Metal3DataClaim>(claim("b"));
    let end = pass(&mut memory, 7);
    assert_eq!(index_of(&memory, "b").as_deref(), Some("t-1"));
    assert!(matches!(end, End::After(_)), "{end:?}");
    assert_eq!(writes(&plan(&memory, 8)), ["patch Metal3DataTemplate/status n/t"]);
}

#[test]
fn data_of_an_earlier_claim_of_the_same_name_is_not_taken_over() {
    let mut memory = world(&["a"]);
    pass(&mut memory, 0);
    let mut again = claim("a");
    again["metadata"]["uid"] = json!("another");
    memory.put_whole::<Metal3DataClaim>(again);
    pass(&mut memory, 1);
    assert_eq!(index_of(&memory, "a").as_deref(), Some("t-1"));
}

#[test]
fn data_that_was_made_before_a_crash_is_found_again() {
    let mut memory = world(&["a"]);
    let first = plan(&memory, 0);
    memory.act_until_crash(first, 2).unwrap();
    pass(&mut memory, 1);
    assert_eq!(index_of(&memory, "a").as_deref(), Some("t-0"));
    assert_eq!(memory.list::<Metal3Data>().len(), 1);
}

#[test]
fn a_claim_without_machine_is_reported_and_others_are_served() {
    let mut memory = world(&["b"]);
    let mut bad = claim("a");
    bad["metadata"]["ownerReferences"] = json!([]);
    memory.put_whole::<Metal3DataClaim>(bad);
    pass(&mut memory, 0);
    assert_eq!(index_of(&memory, "b").as_deref(), Some("t-0"));
    let message = &memory.list::<Metal3DataClaim>()[0]["status"]["errorMessage"];
    assert_eq!(message, "metal3Machine not found in owner references");
    assert!(plan(&memory, 1).is_quiet());
}

#[test]
fn a_refused_claim_is_reported_in_the_servers_words_and_others_are_served() {
    let memory = world(&["a", "b"]);
    let mut snapshot = observe(&memory, &key("t")).unwrap();
    snapshot.refused.insert("a".into(), Text::new("denied"));
    let text = decide(&snapshot, "t").to_string();
    assert!(text.contains("Failed to create associated Metal3Data object: denied"), "{text}");
    assert!(text.contains("create Metal3Data n/t-0"), "{text}");
    assert!(!text.contains("t-1"), "{text}");
}

/// Claims of a paused Cluster are neither served nor released, and wait for the end of the pause.
#[test]
fn pa66_claims_of_a_paused_cluster_are_neither_served_nor_released() {
    let mut memory = world(&["a", "b"]);
    pass(&mut memory, 0);
    memory
        .put_whole::<Cluster>(json!({"metadata": {"namespace": "n", "name": "c"}, "spec": {"paused": true}}));
    memory.put_whole::<Metal3DataClaim>(claim("new"));
    delete_claim(&mut memory, "a");
    assert!(plan(&memory, 1).is_quiet());
    assert!(matches!(plan(&memory, 1).end, End::WaitFor(_)));
    memory.delete::<Cluster>(&key("c"));
    pass(&mut memory, 2);
    let names: Vec<String> = given(&memory).into_keys().collect();
    assert_eq!(names, ["b", "new"]);
}

/// Data of a paused Cluster that goes, as when a move deletes what has been moved, is not made again until the pause ends.
#[test]
fn pa66_data_that_goes_while_its_cluster_is_paused_is_not_made_again() {
    let mut memory = world(&["a", "b"]);
    pass(&mut memory, 0);
    memory
        .put_whole::<Cluster>(json!({"metadata": {"namespace": "n", "name": "c"}, "spec": {"paused": true}}));
    memory.change::<Metal3Data>(&key("t-0"), &json!({"metadata": {"finalizers": null}}));
    memory.delete::<Metal3Data>(&key("t-0"));
    assert_eq!(memory.list::<Metal3Data>().len(), 1);
    assert!(plan(&memory, 1).is_quiet(), "{}", plan(&memory, 1));
    assert!(plan(&memory, 100).is_quiet(), "{}", plan(&memory, 100));
    memory.delete::<Cluster>(&key("c"));
    pass(&mut memory, 101);
    assert_eq!(index_of(&memory, "a").as_deref(), Some("t-0"));
    assert_eq!(memory.list::<Metal3Data>().len(), 2);
}

/// The pause annotation on a single Metal3DataTemplate stops it: claims are not served.
#[test]
fn pa67_a_paused_template_is_left_alone() {
    let mut memory = world(&["a"]);
    memory.change::<Metal3DataTemplate>(
        &key("t"),
        &json!({"metadata": {"annotations": {annotation::PAUSED: ""}}}),
    );
    assert!(plan(&memory, 0).is_quiet());
}

#[test]
fn data_goes_before_its_claim_goes() {
    let mut memory = world(&["a"]);
    pass(&mut memory, 0);
    delete_claim(&mut memory, "a");
    let expected = [
        "patch Metal3Data n/t-0",
        "delete Metal3Data n/t-0",
        "patch Metal3DataClaim n/a",
        "patch Metal3DataTemplate/status n/t",
    ];
    assert_eq!(writes(&plan(&memory, 1)), expected);
}

#[test]
fn data_that_its_own_controller_holds_is_only_deleted_and_that_controller_removes_the_finalizer() {
    let mut memory = world(&["a"]);
    pass(&mut memory, 0);
    let held = json!({"metadata": {"finalizers": [finalizer::DATA_CLAIM, finalizer::DATA]}});
    memory.change::<Metal3Data>(&key("t-0"), &held);
    delete_claim(&mut memory, "a");
    let release =
        ["delete Metal3Data n/t-0", "patch Metal3DataClaim n/a", "patch Metal3DataTemplate/status n/t"];
    assert_eq!(writes(&plan(&memory, 1)), release);
    // Without its owner the data could not tell this claim from a later one of the name.
    memory.change::<Metal3Data>(&key("t-0"), &json!({"metadata": {"ownerReferences": null}}));
    assert_eq!(writes(&plan(&memory, 1)).first().unwrap(), "patch Metal3Data n/t-0");
}

#[test]
fn data_removed_without_its_finalizer_is_made_again_with_its_index_before_others_are_served() {
    let mut memory = world(&["b"]);
    pass(&mut memory, 0);
    memory.change::<Metal3Data>(&key("t-0"), &json!({"metadata": {"finalizers": null}}));
    memory.delete::<Metal3Data>(&key("t-0"));
    memory.put_whole::<Metal3DataClaim>(claim("a"));
    pass(&mut memory, 1);
    assert_eq!(index_of(&memory, "b").as_deref(), Some("t-0"));
    assert_eq!(index_of(&memory, "a").as_deref(), Some("t-1"));
    nobody_shares(&memory);
    assert_eq!(memory.list::<Metal3Data>().len(), 2);
}

#[test]
fn data_stays_while_the_machine_still_holds_the_claim() {
    let mut memory = world(&["a"]);
    pass(&mut memory, 0);
    memory.delete::<Metal3DataClaim>(&key("a"));
    assert!(plan(&memory, 1).is_quiet());
}

#[test]
fn a_claim_never_takes_the_data_of_another_with_it() {
    let mut memory = world(&["a", "b"]);
    pass(&mut memory, 0);
    memory.change::<Metal3DataClaim>(&key("b"), &json!({"status": {"renderedData": {"name": "t-0"}}}));
    delete_claim(&mut memory, "b");
    pass(&mut memory, 1);
    let left: Vec<Value> =
        memory.list::<Metal3Data>().iter().map(|d| d["metadata"]["name"].clone()).collect();
    assert_eq!(left, ["t-0"]);
}

/// A template that is being deleted stays until it has neither claims nor data.
#[test]
fn dt80_a_template_stays_until_claims_and_data_are_gone() {
    let mut memory = world(&["a"]);
    pass(&mut memory, 0);
    memory.change::<Metal3Data>(
        &key("t-0"),
        &json!({"metadata": {"finalizers": [finalizer::DATA, finalizer::DATA_CLAIM]}}),
    );
    memory.delete::<Metal3DataTemplate>(&key("t"));
    pass(&mut memory, 1);
    assert_eq!(memory.list::<Metal3DataTemplate>().len(), 1, "a claim is left");
    delete_claim(&mut memory, "a");
    // The claim goes in the first pass; only the second one sees nothing but data.
    for second in [2, 3] {
        pass(&mut memory, second);
        assert_eq!(memory.list::<Metal3DataTemplate>().len(), 1, "its data is left");
    }
    memory.change::<Metal3Data>(&key("t-0"), &json!({"metadata": {"finalizers": []}}));
    pass(&mut memory, 4);
    assert!(memory.list::<Metal3DataTemplate>().is_empty());

    let mut unserved = world(&[]);
    let mut paused = claim("b");
    paused["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    unserved.put_whole::<Metal3DataClaim>(paused);
    unserved.delete::<Metal3DataTemplate>(&key("t"));
    pass(&mut unserved, 0);
    assert_eq!(unserved.list::<Metal3DataTemplate>().len(), 1, "a claim without data is left");
}

/// What happens around a template.
#[derive(Debug, Clone)]
enum Event {
    Create(u8),
    Delete(u8),
    /// The data controller removes the finalizer of terminating data.
    Finish,
    /// The data controller holds on to new data.
    Hold,
    /// A pass of which only so many writes reach the server.
    Crash(usize),
    Pass,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0_u8..6).prop_map(Event::Create),
        3 => (0_u8..6).prop_map(Event::Delete),
        1 => Just(Event::Finish),
        1 => Just(Event::Hold),
        2 => (0_usize..8).prop_map(Event::Crash),
        3 => Just(Event::Pass),
    ]
}

fn happen(memory: &mut Memory, event: &Event, now: u32) {
    let names = |memory: &Memory| -> Vec<(ObjectKey, bool)> {
        let name = |d: &Value| key(d["metadata"]["name"].as_str().unwrap_or_default());
        let datas = memory.list::<Metal3Data>();
        datas.iter().map(|d| (name(d), !d["metadata"]["deletionTimestamp"].is_null())).collect()
    };
    match event {
        Event::Create(n) => {
            let mut claim = claim(&format!("c{n}"));
            claim["metadata"]["uid"] = json!(format!("uid-{n}-{now}"));
            if !given(memory).contains_key(&format!("c{n}")) {
                memory.put_whole::<Metal3DataClaim>(claim);
            }
        }
        Event::Delete(n) => delete_claim(memory, &format!("c{n}")),
        Event::Finish => {
            for (data, _) in names(memory).into_iter().filter(|(_, going)| *going) {
                memory.change::<Metal3Data>(&data, &json!({"metadata": {"finalizers": null}}));
            }
        }
        Event::Hold => {
            let both = json!([finalizer::DATA_CLAIM, finalizer::DATA]);
            for (data, _) in names(memory).into_iter().filter(|(_, going)| !going) {
                memory.change::<Metal3Data>(&data, &json!({"metadata": {"finalizers": both}}));
            }
        }
        Event::Crash(writes) => {
            let plan = plan(memory, now);
            memory.act_until_crash(plan, *writes).unwrap();
        }
        Event::Pass => {
            pass(memory, now);
        }
    }
}

fn nobody_shares(memory: &Memory) {
    let mut indexes: Vec<Value> =
        memory.list::<Metal3Data>().iter().map(|d| d["spec"]["index"].clone()).collect();
    let mut given: Vec<String> = given(memory).into_values().flatten().collect();
    let (all_indexes, all_given) = (indexes.len(), given.len());
    indexes.sort_by_key(|index| index.as_i64());
    indexes.dedup();
    given.sort();
    given.dedup();
    assert_eq!((indexes.len(), given.len()), (all_indexes, all_given));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_index_ever_has_two_owners_and_all_is_quiet_at_rest(events in prop::collection::vec(event(), 1..40)) {
        let mut memory = world(&[]);
        for (now, event) in events.iter().enumerate() {
            happen(&mut memory, event, u32::try_from(now).unwrap());
            nobody_shares(&memory);
        }
        pass(&mut memory, 1000);
        happen(&mut memory, &Event::Finish, 1001);
        pass(&mut memory, 1002);
        prop_assert!(plan(&memory, 1003).is_quiet(), "{}", plan(&memory, 1003));
        prop_assert!(given(&memory).values().all(Option::is_some), "every claim is served");
        let served = given(&memory).len();
        prop_assert_eq!(memory.list::<Metal3Data>().len(), served, "nothing is left behind");
    }
}

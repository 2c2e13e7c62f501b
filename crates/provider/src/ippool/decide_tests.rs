use capm3_api::{
    ipam::{IpAddress, IpClaim},
    neighbours::IpAddressClaim,
    v1beta2::{Metal3Data, Metal3DataClaim},
};
use capm3_domain::wait::Text;
use capm3_engine::{Memory, ObjectKey};
use serde_json::{Value, json};

use super::*;
use crate::plan::waits_for;
use crate::{ippool::observe, kinds};

#[path = "decide_properties.rs"]
mod properties;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("n", name)
}

fn claim(name: &str) -> Value {
    json!({"metadata": {"namespace": "n", "name": name, "uid": format!("uid-{name}")}, "spec": {"pool": {"name": "p"}}})
}

/// A pool of two addresses, once in each family, with the addresses.
fn twins(claims: &[&str]) -> [(Memory, [&'static str; 2]); 2] {
    [["10.0.0.1", "10.0.0.2"], ["2001:db8::1", "2001:db8::2"]].map(|addresses| {
        let [start, end] = addresses;
        let range = json!({"start": start, "end": end});
        (world(json!({"namePrefix": "x", "pools": [range]}), claims), addresses)
    })
}

fn world(spec: Value, claims: &[&str]) -> Memory {
    let mut memory = kinds::memory();
    let metadata = json!({"namespace": "n", "name": "p", "uid": "p", "finalizers": [finalizer::IP_POOL]});
    memory.put_whole::<IpPool>(json!({"metadata": metadata, "spec": spec}));
    for name in claims {
        memory.put_whole::<IpClaim>(claim(name));
    }
    memory
}

fn plan(memory: &Memory, now: u32) -> Plan {
    let now = format!("2026-01-02T{:02}:{:02}:{:02}Z", now / 3600, now / 60 % 60, now % 60);
    observe(memory, &key("p")).map_or_else(Plan::done, |snapshot| decide(&snapshot, &now))
}

fn pass(memory: &mut Memory, now: u32) -> End {
    memory.drive(|memory| Some(plan(memory, now)))
}

fn writes(plan: &Plan) -> Vec<String> {
    plan.writes
        .iter()
        .map(|write| write.to_string().split(" {").next().unwrap_or_default().to_owned())
        .collect()
}

/// What a claim reports: its address, or why it has none.
fn reported(memory: &Memory, name: &str) -> String {
    let claims = memory.list::<IpClaim>();
    let claim = claims.iter().find(|claim| claim["metadata"]["name"] == json!(name)).unwrap();
    let addresses = memory.list::<IpAddress>();
    let address = addresses.iter().find(|a| a["metadata"]["name"] == claim["status"]["address"]["name"]);
    let value = address.map_or(&claim["status"]["errorMessage"], |address| &address["spec"]["address"]);
    value.as_str().unwrap_or("nothing").to_owned()
}

/// The pause annotation on a single IPPool stops it: no claim is held or served, and none is given back.
#[test]
fn pa67_a_paused_pool_is_left_alone() {
    for (mut memory, _) in twins(&["a"]) {
        let note = |value: Value| json!({"metadata": {"annotations": {annotation::PAUSED: value}}});
        memory.change::<IpPool>(&key("p"), &note(json!("")));
        let rests = plan(&memory, 0);
        assert!(rests.is_quiet(), "{rests}");
        assert_eq!(waits_for(&rests), "IPPool has the cluster.x-k8s.io/paused annotation");
        memory.change::<IpPool>(&key("p"), &note(Value::Null));
        assert!(!plan(&memory, 0).is_quiet());
    }
}

#[test]
fn a_claim_is_held_before_its_address_is_made_and_reported_afterwards() {
    for (mut memory, [first, _]) in twins(&["a"]) {
        let plan_of_all = plan(&memory, 0);
        let kinds: Vec<String> =
            writes(&plan_of_all).iter().map(|w| w.rsplit_once(' ').unwrap().0.to_owned()).collect();
        assert_eq!(
            kinds,
            ["patch IPClaim", "create IPAddress", "patch IPClaim/status", "patch IPPool/status"]
        );
        pass(&mut memory, 0);
        assert_eq!(reported(&memory, "a"), first);
        assert!(plan(&memory, 1).is_quiet());
        assert_eq!(plan(&memory, 1).end, End::Done);
    }
}

#[test]
fn an_exhausted_claim_is_reported_once_and_served_when_an_address_comes_free() {
    for (mut memory, [first, _]) in twins(&["a", "b", "c"]) {
        pass(&mut memory, 0);
        assert_eq!(reported(&memory, "c"), "Exhausted IP Pools");
        assert!(plan(&memory, 1).is_quiet());
        memory.delete::<IpClaim>(&key("a"));
        pass(&mut memory, 2);
        assert_eq!(reported(&memory, "c"), first, "in the same pass that takes the address back");
        assert!(plan(&memory, 3).is_quiet());
        assert_eq!(memory.list::<IpAddress>().len(), 2);
    }
}

#[test]
fn an_exhausted_claim_is_served_when_the_pool_grows() {
    let mut memory =
        world(json!({"namePrefix": "x", "pools": [{"start": "10.0.0.1", "end": "10.0.0.1"}]}), &["a", "b"]);
    pass(&mut memory, 0);
    memory
        .change::<IpPool>(&key("p"), &json!({"spec": {"pools": [{"start": "10.0.0.1", "end": "10.0.0.2"}]}}));
    pass(&mut memory, 1);
    assert_eq!(reported(&memory, "b"), "10.0.0.2");
}

#[test]
fn an_address_made_before_a_crash_is_found_again() {
    for (mut memory, [first, _]) in twins(&["a"]) {
        let whole = plan(&memory, 0);
        memory.act_until_crash(whole.clone(), 2).unwrap();
        pass(&mut memory, 1);
        assert_eq!(reported(&memory, "a"), first);
        assert_eq!(memory.list::<IpAddress>().len(), 1);
    }
}

#[test]
fn addresses_go_before_their_claim_goes() {
    for (mut memory, _) in twins(&["a"]) {
        pass(&mut memory, 0);
        memory.delete::<IpClaim>(&key("a"));
        let release = plan(&memory, 1);
        let kinds: Vec<String> =
            writes(&release).iter().map(|w| w.rsplit_once(' ').unwrap().0.to_owned()).collect();
        assert_eq!(kinds, ["patch IPAddress", "delete IPAddress", "patch IPClaim", "patch IPPool/status"]);
    }
}

#[test]
fn an_address_stays_while_somebody_else_holds_the_claim() {
    for (mut memory, [first, second]) in twins(&["a"]) {
        memory.change::<IpClaim>(&key("a"), &json!({"metadata": {"finalizers": [finalizer::DATA]}}));
        pass(&mut memory, 0);
        memory.delete::<IpClaim>(&key("a"));
        memory.put_whole::<IpClaim>(claim("b"));
        pass(&mut memory, 1);
        assert_eq!((reported(&memory, "a"), reported(&memory, "b")), (first.to_owned(), second.to_owned()));
    }
}

#[test]
fn an_address_of_another_claim_of_the_same_name_is_left_alone_and_the_next_one_is_given() {
    for (mut memory, [first, second]) in twins(&[]) {
        let owner = json!({"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim", "name": "z", "uid": "uid-of-an-earlier-z"});
        memory.put_whole::<IpAddress>(json!({"metadata": {"namespace": "n", "name": format!("x-{}", first.replace(['.', ':'], "-")),
            "ownerReferences": [owner]}, "spec": {"address": first, "pool": {"name": "p"}, "claim": {"name": "z"}}}));
        memory.put_whole::<IpClaim>(claim("z"));
        pass(&mut memory, 0);
        assert_eq!(reported(&memory, "z"), second);
    }
}

#[test]
fn an_address_removed_without_its_finalizer_is_made_again_before_others_are_served() {
    for (mut memory, [first, second]) in twins(&["b"]) {
        pass(&mut memory, 0);
        let address = memory.list::<IpAddress>().remove(0);
        let removed = key(address["metadata"]["name"].as_str().unwrap());
        memory.change::<IpAddress>(&removed, &json!({"metadata": {"finalizers": null}}));
        memory.delete::<IpAddress>(&removed);
        memory.put_whole::<IpClaim>(claim("a"));
        pass(&mut memory, 1);
        assert_eq!((reported(&memory, "b"), reported(&memory, "a")), (first.to_owned(), second.to_owned()));
        assert_eq!(memory.list::<IpAddress>().len(), 2);
    }
}

#[test]
fn a_claim_that_its_data_has_given_up_is_released_in_one_write_and_no_earlier() {
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    let owner = |kind: &str, name: &str, uid: &str| {
        json!({"apiVersion": infrastructure, "kind": kind,
        "name": name, "uid": uid, "controller": true})
    };
    let data = |going: bool| {
        let mut data = json!({"metadata": {"namespace": "n", "name": "d", "uid": "uid-d", "finalizers": [finalizer::DATA],
            "ownerReferences": [owner("Metal3DataClaim", "m", "uid-m")]}, "spec": {"claim": {"name": "m"}}});
        if going {
            data["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        data
    };
    let machines_claim = json!({"metadata": {"namespace": "n", "name": "m", "uid": "uid-m"}});
    for (mut memory, _) in twins(&["a"]) {
        let held = json!({"metadata": {"finalizers": [finalizer::DATA],
            "ownerReferences": [owner("Metal3Data", "d", "uid-d")]}});
        memory.change::<IpClaim>(&key("a"), &held);
        pass(&mut memory, 0);
        memory.delete::<IpClaim>(&key("a"));
        let is_quiet = |memory: &Memory| plan(memory, 1).is_quiet();
        assert!(is_quiet(&memory), "its data was not seen");
        memory.put_whole::<Metal3DataClaim>(machines_claim.clone());
        memory.put_whole::<Metal3Data>(data(false));
        assert!(is_quiet(&memory), "its data lives");
        memory.put_whole::<Metal3Data>(data(true));
        assert!(is_quiet(&memory), "the machine still runs on its data");
        memory.delete::<Metal3DataClaim>(&key("m"));
        let kinds: Vec<String> =
            writes(&plan(&memory, 1)).iter().map(|w| w.rsplit_once(' ').unwrap().0.to_owned()).collect();
        assert_eq!(kinds, ["patch IPAddress", "delete IPAddress", "patch IPClaim", "patch IPPool/status"]);
        pass(&mut memory, 1);
        assert!(memory.list::<IpClaim>().is_empty());
        assert!(memory.list::<IpAddress>().is_empty());
    }
}

#[test]
fn an_address_that_another_holds_back_is_not_given_out_again_before_it_is_gone() {
    for (mut memory, [_, second]) in twins(&["a"]) {
        pass(&mut memory, 0);
        let name = memory.list::<IpAddress>()[0]["metadata"]["name"].as_str().unwrap().to_owned();
        let both = json!([finalizer::IP_ADDRESS, "other"]);
        memory.change::<IpAddress>(&key(&name), &json!({"metadata": {"finalizers": both}}));
        memory.delete::<IpClaim>(&key("a"));
        memory.put_whole::<IpClaim>(claim("b"));
        pass(&mut memory, 1);
        assert_eq!(reported(&memory, "b"), second);
        pass(&mut memory, 2);
        assert!(plan(&memory, 3).is_quiet(), "{}", plan(&memory, 3));
    }
}

#[test]
fn a_name_in_the_way_takes_the_next_address_at_once() {
    let mut memory = world(json!({"namePrefix": "x", "pools": [{"start": "10.0.0.1"}]}), &["a"]);
    let other = json!({"metadata": {"namespace": "n", "name": "x-10-0-0-1"},
        "spec": {"address": "10.0.0.1", "pool": {"name": "other"}, "claim": {"name": "z"}}});
    memory.put_whole::<IpAddress>(other);
    memory.put_whole::<IpClaim>(claim("b"));
    let request = json!({"metadata": {"annotations": {"ipAddress": "10.0.0.1"}}});
    memory.change::<IpClaim>(&key("b"), &request);
    pass(&mut memory, 0);
    assert_eq!(reported(&memory, "a"), "10.0.0.2");
    let words = "10.0.0.1 cannot be allocated: the name x-10-0-0-1 belongs to an address of IPPool other";
    assert_eq!(reported(&memory, "b"), words);
    assert!(plan(&memory, 1).is_quiet());
    memory.delete::<IpAddress>(&key("x-10-0-0-1"));
    pass(&mut memory, 2);
    assert_eq!(reported(&memory, "b"), "10.0.0.1");
}

#[test]
fn two_addresses_of_one_name_are_never_both_given() {
    let ranges = json!([{"start": "1.2.3.4", "end": "1.2.3.4"}, {"start": "1:2:3:4::", "end": "1:2:3:4::1"}]);
    let mut memory = world(json!({"namePrefix": "x", "pools": ranges}), &["a", "b"]);
    pass(&mut memory, 0);
    assert_eq!((reported(&memory, "a").as_str(), reported(&memory, "b").as_str()), ("1.2.3.4", "1:2:3:4::1"));
}

#[test]
fn a_random_address_is_the_same_in_every_pass() {
    let spec =
        json!({"namePrefix": "x", "allocationStrategy": "random", "pools": [{"subnet": "10.0.0.0/16"}]});
    let memory = world(spec, &["a", "b"]);
    assert_eq!(plan(&memory, 0), plan(&memory, 0));
    let drawn: BTreeSet<String> =
        writes(&plan(&memory, 0)).into_iter().filter(|w| w.starts_with("create")).collect();
    assert_eq!(drawn.len(), 2);
}

#[test]
fn a_pool_joins_its_cluster_and_waits_for_it() {
    let mut memory =
        world(json!({"namePrefix": "x", "clusterName": "c", "pools": [{"start": "10.0.0.1"}]}), &["a"]);
    assert_eq!(writes(&plan(&memory, 0)), ["patch IPPool n/p"]);
    assert_eq!(waits_for(&plan(&memory, 0)), "waiting for Cluster c");
    memory.put_whole::<Cluster>(
        json!({"metadata": {"namespace": "n", "name": "c", "uid": "cu"}, "spec": {"paused": true}}),
    );
    pass(&mut memory, 1);
    assert_eq!(reported(&memory, "a"), "nothing");
    memory.change::<Cluster>(&key("c"), &json!({"spec": {"paused": false}}));
    pass(&mut memory, 2);
    assert_eq!(reported(&memory, "a"), "10.0.0.1");
    let pool = &memory.list::<IpPool>()[0]["metadata"];
    assert_eq!(pool["labels"], json!({label::CLUSTER_NAME: "c", label::PROVIDER: IPAM_PROVIDER}));
    let owner = json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "cu", "controller": false}]);
    assert_eq!(pool["ownerReferences"], owner);
    assert!(plan(&memory, 3).is_quiet());
    let other =
        json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "first", "uid": "f"});
    let owners = json!([other, owner[0]]);
    memory.change::<IpPool>(&key("p"), &json!({"metadata": {"ownerReferences": owners}}));
    assert!(plan(&memory, 4).is_quiet(), "it is among the owners, if not the first");
}

#[test]
fn a_pool_on_its_way_out_takes_no_claims_and_goes_with_its_last_address() {
    for (mut memory, _) in twins(&["a"]) {
        pass(&mut memory, 0);
        memory.delete::<IpPool>(&key("p"));
        memory.put_whole::<IpClaim>(claim("late"));
        pass(&mut memory, 1);
        assert_eq!(reported(&memory, "late"), "IPPool p is being deleted");
        memory.delete::<IpClaim>(&key("a"));
        pass(&mut memory, 2);
        pass(&mut memory, 3);
        assert!(memory.list::<IpPool>().is_empty() && memory.list::<IpAddress>().is_empty());
        memory.delete::<IpClaim>(&key("late"));
        assert!(memory.list::<IpClaim>().is_empty(), "the pool left no finalizer behind");
    }
}

#[test]
fn a_terminating_address_whose_claim_is_gone_is_released() {
    for (mut memory, _) in twins(&["a"]) {
        pass(&mut memory, 0);
        let name = memory.list::<IpAddress>()[0]["metadata"]["name"].as_str().unwrap().to_owned();
        memory.change::<IpClaim>(&key("a"), &json!({"metadata": {"finalizers": null}}));
        memory.delete::<IpAddress>(&key(&name));
        assert!(plan(&memory, 1).is_quiet(), "the claim still has it");
        memory.delete::<IpClaim>(&key("a"));
        pass(&mut memory, 2);
        assert!(memory.list::<IpAddress>().is_empty());
    }
}

#[test]
fn a_refused_claim_is_reported_in_the_servers_words_and_others_are_served() {
    for (memory, [first, _]) in twins(&["a", "b"]) {
        let mut snapshot = observe(&memory, &key("p")).unwrap();
        snapshot.refused.insert("IPClaim a".into(), Text::new("denied"));
        let plan = decide(&snapshot, "t");
        assert!(plan.to_string().contains("Failed to create associated IPAddress object: denied"), "{plan}");
        assert!(plan.to_string().contains(&format!("\"b\":\"{first}\"")), "{plan}");
    }
}

/// A pool that nobody has asked yet is as old as it is; that is reported once.
fn status_indexes(memory: &Memory) -> Value {
    memory.list::<IpPool>()[0]["status"]["indexes"].clone()
}

#[test]
fn claims_of_both_kinds_may_share_a_name_and_the_status_shows_the_address_of_the_ipclaim() {
    for (mut memory, [first, second]) in twins(&[]) {
        let pool = json!({"apiGroup": "ipam.metal3.io", "kind": "IPPool", "name": "p"});
        let capi = json!({"metadata": {"namespace": "n", "name": "a", "uid": "uid-capi"}, "spec": {"poolRef": pool}});
        memory.put_whole::<IpAddressClaim>(capi);
        pass(&mut memory, 1);
        assert_eq!(status_indexes(&memory), json!({"a": first}));
        memory.put_whole::<IpClaim>(claim("a"));
        pass(&mut memory, 3);
        assert_eq!(status_indexes(&memory), json!({"a": second}));
    }
}

#[test]
fn an_address_without_a_claim_is_shown_under_the_empty_name() {
    for (mut memory, [first, second]) in twins(&["a"]) {
        let spec = json!({"address": first, "pool": {"name": "p"}, "claim": {}});
        memory
            .put_whole::<IpAddress>(json!({"metadata": {"namespace": "n", "name": "by-hand"}, "spec": spec}));
        pass(&mut memory, 1);
        assert_eq!(status_indexes(&memory), json!({"": first, "a": second}));
    }
}

#[test]
fn the_holder_of_an_address_is_named_whatever_its_object_is_called() {
    for (mut memory, [first, _]) in twins(&["b"]) {
        let spec = json!({"address": first, "pool": {"name": "p"}, "claim": {"name": "a"}});
        memory
            .put_whole::<IpAddress>(json!({"metadata": {"namespace": "n", "name": "by-hand"}, "spec": spec}));
        memory.change::<IpPool>(&key("p"), &json!({"spec": {"preAllocations": {"b": first}}}));
        pass(&mut memory, 1);
        assert_eq!(reported(&memory, "b"), format!("Pre-allocated IP {first} is held by IPClaim a"));
    }
}

/// A status that was written in this second is not compared, and is brought up to date in the next one.
#[test]
fn a_status_is_written_once_a_second_and_not_forgotten() {
    for (mut memory, [first, second]) in twins(&["a"]) {
        pass(&mut memory, 1);
        memory.put_whole::<IpClaim>(claim("b"));
        assert_eq!(pass(&mut memory, 1), End::After(crate::batch::STATUS_PACE));
        assert_eq!(status_indexes(&memory), json!({"a": first}));
        assert_eq!(pass(&mut memory, 2), End::Done);
        assert_eq!(status_indexes(&memory), json!({"a": first, "b": second}));
        let quiet = memory.version();
        assert_eq!(pass(&mut memory, 3), End::Done);
        assert_eq!(memory.version(), quiet);
    }
}

#[test]
fn a_new_pool_says_when_it_was_made() {
    let mut memory = world(json!({"namePrefix": "x"}), &[]);
    let mut pool = memory.list::<IpPool>()[0].clone();
    pool["metadata"]["creationTimestamp"] = json!("2026-01-01T10:00:00Z");
    memory.put_whole::<IpPool>(pool);
    pass(&mut memory, 0);
    assert_eq!(memory.list::<IpPool>()[0]["status"]["lastUpdated"], "2026-01-01T10:00:00Z");
    assert_eq!(writes(&plan(&memory, 60)), Vec::<String>::new());
}

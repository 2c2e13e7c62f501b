//! Templates that count together, and data that no range can serve.

use crate::plan::End;
use capm3_api::v1beta2::{Metal3Data, Metal3DataClaim, Metal3DataTemplate};
use capm3_engine::{Memory, ObjectKey};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{decide, observe};
use crate::kinds;

fn template(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"namespace": "n", "name": name, "uid": name}, "spec": spec})
}

fn claim(name: &str, template: &str) -> Value {
    json!({"metadata": {"namespace": "n", "name": name, "uid": format!("uid-{name}"), "ownerReferences": [
            {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": name, "uid": "m"}]},
        "spec": {"template": {"name": template}}})
}

fn world(templates: &[(&str, Value)]) -> Memory {
    let mut memory = kinds::memory();
    for (name, spec) in templates {
        memory.put_whole::<Metal3DataTemplate>(template(name, spec));
    }
    memory
}

fn pass(memory: &mut Memory, template: &str) -> End {
    let key = ObjectKey::new("n", template);
    memory.drive(|memory| observe(memory, &key).map(|snapshot| decide(&snapshot, "2026-01-02T00:00:00Z")))
}

/// Name, index and key of all data.
fn datas(memory: &Memory) -> Vec<(String, i64, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shown = |data: &Value| {
        let spec = &data["spec"];
        (text(&data["metadata"]["name"]), spec["index"].as_i64().unwrap(), text(&spec["templateReference"]))
    };
    memory.list::<Metal3Data>().iter().map(shown).collect()
}

fn entry(name: &str, index: i64, key: &str) -> (String, i64, String) {
    (name.to_owned(), index, key.to_owned())
}

/// A template whose key is the name of another one goes on counting where that one is.
#[test]
fn s162_a_key_that_names_another_template_joins_its_index_space() {
    let mut memory = world(&[("a", json!({})), ("b", json!({"templateReference": "a"}))]);
    memory.put_whole::<Metal3DataClaim>(claim("m0", "a"));
    memory.put_whole::<Metal3DataClaim>(claim("m1", "a"));
    pass(&mut memory, "a");
    memory.put_whole::<Metal3DataClaim>(claim("n0", "b"));
    pass(&mut memory, "b");
    memory.put_whole::<Metal3DataClaim>(claim("m2", "a"));
    pass(&mut memory, "a");
    assert_eq!(
        datas(&memory),
        [entry("a-0", 0, ""), entry("a-1", 1, ""), entry("a-2", 2, "a"), entry("a-3", 3, "")],
        "the older template sees the newer one's data too"
    );
}

/// New data carries the key of its template, and a copy that survives CRDs without the field.
#[test]
fn s167_data_of_a_keyed_template_carries_the_key() {
    let mut memory = world(&[("b", json!({"templateReference": "shared"}))]);
    memory.put_whole::<Metal3DataClaim>(claim("m", "b"));
    pass(&mut memory, "b");
    assert_eq!(datas(&memory), [entry("shared-0", 0, "shared")]);
    for object in [&memory.list::<Metal3Data>()[0], &memory.list::<Metal3DataTemplate>()[0]] {
        assert_eq!(object["metadata"]["annotations"]["capm3.metal3.io/template-reference"], "shared");
    }
    let template = &memory.list::<Metal3DataTemplate>()[0];
    assert_eq!(template["status"]["indexes"], json!([{"name": "m", "index": 0, "dataName": "shared-0"}]));
}

#[test]
fn a_key_that_is_no_name_still_shares_its_indexes() {
    let key = json!({"templateReference": "SharedRef"});
    let mut memory = world(&[("a", key.clone()), ("b", key)]);
    for (claim_name, template) in [("m0", "a"), ("m1", "b"), ("m2", "a")] {
        memory.put_whole::<Metal3DataClaim>(claim(claim_name, template));
        pass(&mut memory, template);
    }
    assert_eq!(
        datas(&memory),
        [entry("a-0", 0, "SharedRef"), entry("a-2", 2, "SharedRef"), entry("b-1", 1, "SharedRef")]
    );
}

#[test]
fn data_made_before_its_template_got_a_key_counts_for_the_siblings() {
    let mut memory = world(&[("a", json!({}))]);
    memory.put_whole::<Metal3DataClaim>(claim("m0", "a"));
    pass(&mut memory, "a");
    memory.change::<Metal3DataTemplate>(
        &ObjectKey::new("n", "a"),
        &json!({"spec": {"templateReference": "k"}}),
    );
    memory.put_whole::<Metal3DataTemplate>(template("b", &json!({"templateReference": "k"})));
    memory.put_whole::<Metal3DataClaim>(claim("m1", "b"));
    pass(&mut memory, "b");
    assert_eq!(datas(&memory), [entry("a-0", 0, ""), entry("k-1", 1, "k")]);
}

/// The deletion of a template waits for its own claims, not for those of a template that shares its key.
#[test]
fn s170_only_its_own_claims_hold_a_template_back() {
    let mut memory = world(&[("a", json!({})), ("b", json!({"templateReference": "a"}))]);
    memory.put_whole::<Metal3DataClaim>(claim("n0", "b"));
    pass(&mut memory, "a");
    pass(&mut memory, "b");
    memory.delete::<Metal3DataTemplate>(&ObjectKey::new("n", "a"));
    pass(&mut memory, "a");
    assert_eq!(memory.list::<Metal3DataTemplate>().len(), 1, "a is gone although data a-0 is there");
    assert_eq!(datas(&memory), [entry("a-0", 0, "a")]);
}

fn two_addresses() -> Value {
    json!({"metaData": {"ipAddresses": [{"key": "ip", "start": "10.0.0.1", "end": "10.0.0.2"}]}})
}

fn free(memory: &mut Memory, claim: &str, data: &str) {
    memory.delete::<Metal3DataClaim>(&ObjectKey::new("n", claim));
    pass(memory, "t");
    memory.change::<Metal3Data>(&ObjectKey::new("n", data), &json!({"metadata": {"finalizers": null}}));
}

fn rendered(memory: &Memory, claim: &str) -> String {
    let claims = memory.list::<Metal3DataClaim>();
    let claim = claims.iter().find(|c| c["metadata"]["name"] == json!(claim)).unwrap();
    claim["status"]["renderedData"]["name"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn data_that_no_range_can_serve_takes_a_lower_index_when_one_comes_free() {
    for crash in 0..4 {
        let mut memory = world(&[("t", two_addresses())]);
        for name in ["m0", "m1", "m2", "m3"] {
            memory.put_whole::<Metal3DataClaim>(claim(name, "t"));
        }
        pass(&mut memory, "t");
        assert_eq!(rendered(&memory, "m2"), "t-2");
        free(&mut memory, "m0", "t-0");
        let key = ObjectKey::new("n", "t");
        let plan = observe(&memory, &key).map(|snapshot| decide(&snapshot, "2026-01-02T00:00:00Z")).unwrap();
        memory.act_until_crash(plan.clone(), crash).unwrap();
        pass(&mut memory, "t");
        assert_eq!(rendered(&memory, "m2"), "t-0", "the oldest of those that do not fit, crash at {crash}");
        assert_eq!(rendered(&memory, "m3"), "t-3", "there is one place only");
        assert_eq!(datas(&memory).len(), 3, "t-0, t-1 and t-3: {:?}", datas(&memory));
    }
}

#[test]
fn data_that_is_rendered_keeps_its_index() {
    let mut memory = world(&[("t", two_addresses())]);
    for name in ["m0", "m1", "m2"] {
        memory.put_whole::<Metal3DataClaim>(claim(name, "t"));
    }
    pass(&mut memory, "t");
    memory.change::<Metal3Data>(&ObjectKey::new("n", "t-2"), &json!({"status": {"ready": true}}));
    free(&mut memory, "m0", "t-0");
    pass(&mut memory, "t");
    assert_eq!(rendered(&memory, "m2"), "t-2");
}

/// The label of the Cluster stands on a template that one Cluster uses, and on no other.
#[test]
fn s84_a_template_carries_the_label_of_its_only_cluster() {
    let cluster_of = |memory: &Memory| {
        let template = memory.list::<Metal3DataTemplate>().remove(0);
        template["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"].as_str().map(str::to_owned)
    };
    let of = |name: &str, cluster: &str| {
        let mut claim = claim(name, "t");
        claim["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": cluster});
        claim
    };
    let mut memory = world(&[("t", json!({}))]);
    pass(&mut memory, "t");
    assert_eq!(cluster_of(&memory), None);
    memory.put_whole::<Metal3DataClaim>(of("m0", "one"));
    pass(&mut memory, "t");
    assert_eq!(cluster_of(&memory).as_deref(), Some("one"));
    memory.put_whole::<Metal3DataClaim>(of("m1", "two"));
    pass(&mut memory, "t");
    assert_eq!(cluster_of(&memory), None, "several Clusters share it");
    let mut memory = world(&[("t", json!({"clusterName": "named"}))]);
    memory.put_whole::<Metal3DataClaim>(of("m0", "one"));
    pass(&mut memory, "t");
    assert_eq!(cluster_of(&memory).as_deref(), Some("named"));
}

/// Templates whose ranges overlap and that share no key are warned of when the second one is taken on, and never again.
#[test]
fn s145_overlapping_ranges_of_two_templates_are_warned_of_once() {
    let ranged = |subnet: &str| json!({"metaData": {"ipAddresses": [{"key": "ip", "subnet": subnet}]}});
    let mut memory = world(&[("a", ranged("10.0.0.0/24"))]);
    let events = |memory: &Memory, name: &str| -> Vec<String> {
        let snapshot = observe(memory, &ObjectKey::new("n", name)).unwrap();
        let plan = decide(&snapshot, "2026-01-02T00:00:00Z");
        assert!(plan.events.is_empty() || !plan.writes.is_empty(), "reported with the write that adopts it");
        plan.events.iter().map(|event| format!("{} {}", event.reason, event.message)).collect()
    };
    assert_eq!(events(&memory, "a"), [""; 0]);
    pass(&mut memory, "a");
    memory.put_whole::<Metal3DataTemplate>(template("b", &ranged("10.0.0.128/25")));
    memory.put_whole::<Metal3DataTemplate>(template("c", &ranged("10.0.1.0/24")));
    let warned = events(&memory, "b");
    assert_eq!(warned.len(), 1, "{warned:?}");
    let start = "RangesOverlap inline ranges of this template and of Metal3DataTemplate a overlap: both contain 10.0.0.129";
    assert!(warned[0].starts_with(start), "{warned:?}");
    assert_eq!(events(&memory, "c"), [""; 0]);
    pass(&mut memory, "b");
    for name in ["a", "b"] {
        assert_eq!(events(&memory, name), [""; 0], "{name} is at rest");
    }
}

proptest! {
    /// Two templates of one key, claims that come and go, crashes anywhere: never one index twice, always the lowest.
    #[test]
    fn s169_templates_of_one_key_never_give_an_index_twice(
        steps in prop::collection::vec((any::<bool>(), any::<bool>(), 0_usize..8, 0_usize..5), 0..40),
        legal in any::<bool>(),
    ) {
        let key = if legal { "k" } else { "Illegal" };
        let spec = json!({"templateReference": key});
        let mut memory = world(&[("a", spec.clone()), ("b", spec)]);
        let mut made = 0;
        for (add, first, which, crash) in steps {
            let template = if first { "a" } else { "b" };
            if add {
                memory.put_whole::<Metal3DataClaim>(claim(&format!("m{made}"), template));
                made += 1;
            } else if let Some(gone) = memory.list::<Metal3DataClaim>().get(which) {
                let name = gone["metadata"]["name"].as_str().unwrap().to_owned();
                memory.delete::<Metal3DataClaim>(&ObjectKey::new("n", name));
            }
            let object = ObjectKey::new("n", template);
            let plan = observe(&memory, &object).map(|snapshot| decide(&snapshot, "2026-01-02T00:00:00Z"));
            if let Some(plan) = plan {
                memory.act_until_crash(plan, crash).unwrap();
            }
            let mut indexes: Vec<i64> = datas(&memory).iter().map(|data| data.1).collect();
            let count = indexes.len();
            indexes.sort_unstable();
            indexes.dedup();
            prop_assert_eq!(indexes.len(), count, "one index twice");
        }
        for _ in 0..3 {
            pass(&mut memory, "a");
            pass(&mut memory, "b");
        }
        let claims = memory.list::<Metal3DataClaim>();
        prop_assert_eq!(datas(&memory).len(), claims.len(), "one data for each claim");
        memory.put_whole::<Metal3DataClaim>(claim("last", "a"));
        pass(&mut memory, "a");
        let mut indexes: Vec<i64> = datas(&memory).iter().map(|data| data.1).collect();
        let newest = rendered(&memory, "last").rsplit('-').next().unwrap().parse::<i64>().unwrap();
        indexes.retain(|index| *index != newest);
        prop_assert!((0..newest).all(|index| indexes.contains(&index)), "{newest} is not the lowest free one");
    }
}

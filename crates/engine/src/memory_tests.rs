//! The rules of an API server that plans rely on.

use k8s_openapi::api::core::v1::{Node, Secret};

use super::*;

fn memory() -> Memory {
    let mut memory = Memory::new(|caches| {
        caches.add::<Node>(&[]);
        caches.add::<Secret>(&[]);
    });
    memory.put_whole::<Node>(json!({"metadata": {"name": "n", "uid": "u"}, "spec": {"podCIDR": "a"}}));
    memory
}

fn key() -> ObjectKey {
    ObjectKey::new("", "n")
}

fn node(memory: &Memory) -> Arc<Node> {
    memory.get(&key()).unwrap()
}

/// What turns the node into one with that address and phase.
fn update(memory: &Memory, address: &str, phase: &str) -> Plan {
    let old = node(memory);
    let mut new = old.as_ref().clone();
    new.spec.get_or_insert_default().pod_cidr = Some(address.to_owned());
    new.status.get_or_insert_default().phase = Some(phase.to_owned());
    let mut plan = Plan::done();
    plan.update(old.as_ref(), &new);
    plan
}

#[test]
fn a_plan_may_write_one_object_twice_but_not_one_that_others_wrote_meanwhile() {
    let mut memory = memory();
    let (first, late) = (update(&memory, "b", "x"), update(&memory, "c", "y"));
    assert_eq!(first.writes.len(), 2, "object and status");
    memory.act(first).unwrap();
    assert_eq!(memory.act(late).unwrap_err().to_string(), "Node n has changed");
    let node = node(&memory);
    assert_eq!(node.spec.as_ref().unwrap().pod_cidr.as_deref(), Some("b"));
    assert_eq!(node.status.as_ref().unwrap().phase.as_deref(), Some("x"));
}

#[test]
fn the_parts_of_a_plan_may_write_the_same_object() {
    let mut memory = memory();
    let parts = vec![update(&memory, "b", "x"), update(&memory, "b", "y")];
    memory.act_in_parts(parts.into_iter()).unwrap();
    assert_eq!(node(&memory).status.as_ref().unwrap().phase.as_deref(), Some("y"));
}

#[test]
fn a_name_is_given_once_and_what_is_created_is_kept_whole() {
    let mut memory = memory().recording();
    memory.tell_time("2026-01-01T00:00:00Z");
    let create = || {
        let mut plan: Plan = Plan::done();
        let object = json!({"metadata": {"name": "s", "namespace": "ns"}, "unknown": 1});
        plan.create_value(ResourceKind::of::<Secret>(), ObjectKey::new("ns", "s"), object);
        plan
    };
    memory.act(create()).unwrap();
    assert_eq!(memory.act(create()).unwrap_err().to_string(), "Secret ns/s already exists");
    let whole = memory.whole::<Secret>(&ObjectKey::new("ns", "s")).unwrap();
    assert_eq!((&whole["unknown"], &whole["metadata"]["uid"]), (&json!(1), &json!("s-1")));
    assert_eq!(whole["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
    assert_eq!(memory.log().len(), 1, "what was refused is not done");
}

#[test]
fn finalizers_hold_an_object_back_and_a_uid_names_the_one_that_is_meant() {
    let mut memory = memory();
    memory.change::<Node>(&key(), &json!({"metadata": {"finalizers": ["f"]}}));
    let mut other = node(&memory).as_ref().clone();
    other.metadata.uid = Some("another".to_owned());
    let mut plan: Plan = Plan::done();
    plan.delete(&other);
    assert_eq!(memory.act(plan).unwrap_err().to_string(), "Node n is another one");
    memory.delete::<Node>(&key());
    assert!(node(&memory).metadata.deletion_timestamp.is_some());
    assert!(!memory.is_known_gone::<Node>(&key(), None));
    memory.change::<Node>(&key(), &json!({"metadata": {"finalizers": null}}));
    assert!(memory.get::<Node>(&key()).is_none());
    assert!(memory.is_known_gone::<Node>(&key(), None));
    assert!(memory.list::<Node>().is_empty());
}

#[test]
fn a_copy_is_independent() {
    let mut memory = memory();
    let copy = memory.clone();
    memory.act(update(&memory, "b", "x")).unwrap();
    assert_eq!(copy.list::<Node>()[0]["spec"]["podCIDR"], "a");
    assert_eq!(memory.list::<Node>()[0]["spec"]["podCIDR"], "b");
}

#[test]
fn a_change_concerns_those_who_read_what_changes_and_nobody_else() {
    const PHASES: Index<Node> = Index {
        name: "phase",
        values: |node| node.status.iter().filter_map(|status| status.phase.clone()).collect(),
    };
    let mut memory = Memory::new(|caches| {
        caches.add(&[PHASES]);
        caches.add::<Secret>(&[]);
    })
    .tracking(&["uncounted"]);
    let node = |phase: &str| json!({"metadata": {"name": "n", "uid": "u"}, "status": {"phase": phase}});
    memory.put_whole::<Node>(node("x"));
    assert_eq!(memory.news().touched.len(), 1, "a new object");
    memory.read_by(1, |memory| memory.get::<Node>(&key()));
    memory.read_by(2, |memory| memory.by_index(&PHASES, "y"));
    memory.read_by(3, |memory| memory.count(&PHASES, "x"));
    memory.read_by(4, |memory| memory.get::<Secret>(&ObjectKey::new("ns", "s")));
    memory.read_by(5, |memory| memory.count(&Index::<Node> { name: "uncounted", ..PHASES }, "x"));
    memory.put_whole::<Node>(node("x"));
    assert_eq!(memory.news().woken, [1].into(), "the number of objects in phase x is the same");
    memory.put_whole::<Node>(node("y"));
    assert_eq!(memory.news().woken, [1, 2, 3].into());
    memory.read_by(1, |_| ());
    memory.put_whole::<Node>(node("z"));
    assert_eq!(memory.news().woken, [2].into(), "what a reader read before is forgotten");
}

#[test]
fn an_object_is_read_as_each_of_its_types_and_a_type_that_is_added_twice_has_all_indexes() {
    use kube::core::ObjectMeta;
    use serde::{Deserialize, Serialize};

    /// A Node of which only the metadata matters.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    struct Narrow {
        metadata: ObjectMeta,
    }
    impl kube::Resource for Narrow {
        type DynamicType = ();
        type Scope = kube::core::ClusterResourceScope;
        fn kind(_: &()) -> std::borrow::Cow<'_, str> {
            "Node".into()
        }
        fn group(_: &()) -> std::borrow::Cow<'_, str> {
            "".into()
        }
        fn version(_: &()) -> std::borrow::Cow<'_, str> {
            "v1".into()
        }
        fn plural(_: &()) -> std::borrow::Cow<'_, str> {
            "nodes".into()
        }
        fn meta(&self) -> &ObjectMeta {
            &self.metadata
        }
        fn meta_mut(&mut self) -> &mut ObjectMeta {
            &mut self.metadata
        }
    }
    let named = |name: &'static str| Index::<Node> { name, values: |_| vec!["all".to_owned()] };
    let mut caches = Caches::default();
    caches.add(&[named("one")]);
    caches.add::<Narrow>(&[]);
    let store = caches.add(&[named("two")]);
    assert_eq!(store.indexes().len(), 2);
    caches.feed(&ResourceKind::of::<Node>(), &json!({"metadata": {"name": "n", "resourceVersion": "7"}}));
    assert!(caches.get::<Node>(&key()).is_some() && caches.get::<Narrow>(&key()).is_some());
    assert_eq!(caches.kinds().len(), 1);
}

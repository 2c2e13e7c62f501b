//! Copies that come in any order, and lists that know better.

use std::ops::ControlFlow;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::*;

const BY_APP: Index<ConfigMap> = Index {
    name: "app",
    values: |o| {
        o.metadata.labels.iter().flatten().filter(|(k, _)| *k == "app").map(|(_, v)| v.clone()).collect()
    },
};

fn object(name: &str, version: u64, app: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"namespace": "n", "name": name,
        "resourceVersion": version.to_string(), "labels": {"app": app}}}))
    .unwrap()
}

fn recording(store: &Store<ConfigMap>) -> Arc<Mutex<Vec<String>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&log);
    store.subscribe(move |change| {
        let name =
            |o: &Option<Arc<ConfigMap>>| o.as_ref().map_or("-".to_owned(), |o| o.version().to_string());
        sink.lock().push(format!("{}>{}", name(&change.old), name(&change.new)));
    });
    log
}

/// Deleted, with this uid.
fn ending(name: &str, version: u64, finalizers: &[&str]) -> ConfigMap {
    serde_json::from_value(
        json!({"metadata": {"namespace": "n", "name": name, "uid": format!("uid-of-{name}"),
        "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers,
        "resourceVersion": version.to_string()}}),
    )
    .unwrap()
}

#[test]
fn the_end_of_an_object_is_known_only_if_its_deletion_had_begun() {
    let store = Store::<ConfigMap>::new(&[]);
    let key = |name: &str| ObjectKey::new("n", name);
    let mut live = object("live", 5, "x");
    live.metadata.uid = Some("uid-of-live".into());
    store.apply(live.clone());
    store.saw_deleted(&live);
    assert!(store.get(&key("live")).is_none());
    assert!(!store.is_known_gone(&key("live"), Some("uid-of-live")), "a watch says that of a live object");
    store.saw_deleted(&ending("held", 6, &["f"]));
    assert!(store.is_known_gone(&key("held"), Some("uid-of-held")));
    store.apply(ending("answered", 7, &["f"]));
    assert!(!store.is_known_gone(&key("answered"), Some("uid-of-answered")), "somebody holds it");
    store.apply(ending("answered", 8, &[]));
    assert!(
        store.is_known_gone(&key("answered"), Some("uid-of-answered")),
        "by the answer to the last patch"
    );
}

#[test]
fn an_object_that_is_listed_but_cannot_be_parsed_is_kept() {
    let store = Store::new(&[BY_APP]);
    store.apply(object("a", 5, "x"));
    store.apply(object("b", 6, "x"));
    let unreadable = [ObjectKey::new("n", "a")].into();
    store.replace(vec![], &unreadable, 10, store.position());
    assert!(store.get(&ObjectKey::new("n", "a")).is_some());
    assert!(store.get(&ObjectKey::new("n", "b")).is_none());
}

#[test]
fn an_older_copy_never_replaces_a_newer_one() {
    let store = Store::new(&[BY_APP]);
    let log = recording(&store);
    assert!(store.apply(object("a", 5, "x")));
    assert!(!store.apply(object("a", 4, "y")));
    assert!(!store.apply(object("a", 5, "y")));
    assert_eq!(store.by_index(&BY_APP, "x").len(), 1);
    assert_eq!((store.count(&BY_APP, "x"), store.count(&BY_APP, "y")), (1, 0));
    assert!(store.by_index(&BY_APP, "y").is_empty());
    assert_eq!(*log.lock(), ["->5"]);
}

#[test]
fn an_index_follows_an_object_that_stays_in_its_place_and_one_that_moves() {
    let store = Store::new(&[BY_APP]);
    let seen = |app: &str| {
        let mut seen = Vec::new();
        store.each(&BY_APP, app, &mut |object| {
            seen.push((object.key().name, object.version()));
            ControlFlow::Continue(())
        });
        assert_eq!(seen.len(), store.by_index(&BY_APP, app).len());
        seen
    };
    for (name, version, app) in [("a", 1, "x"), ("b", 2, "x"), ("a", 3, "x"), ("b", 4, "y")] {
        store.apply(object(name, version, app));
    }
    assert_eq!(seen("x"), [("a".to_owned(), 3)]);
    assert_eq!(seen("y"), [("b".to_owned(), 4)]);
}

#[test]
fn a_late_copy_does_not_bring_a_deleted_object_back() {
    let store = Store::new(&[BY_APP]);
    store.apply(object("a", 5, "x"));
    assert!(store.remove(&ObjectKey::new("n", "a"), 9));
    assert!(!store.apply(object("a", 8, "x")));
    assert!(store.apply(object("a", 10, "x")));
}

#[test]
fn a_relist_reports_objects_that_vanished_meanwhile() {
    let store = Store::new(&[BY_APP]);
    let log = recording(&store);
    store.apply(object("a", 1, "x"));
    store.apply(object("b", 2, "x"));
    store.apply(object("own-write", 12, "x"));
    store.replace(
        vec![object("b", 2, "x"), object("c", 8, "y")],
        &BTreeSet::new(),
        10,
        StorePosition { version: 2, deletions: 0 },
    );
    assert_eq!(*log.lock(), ["->1", "->2", "->12", "1>-", "->8"]);
    assert!(store.get(&ObjectKey::new("n", "own-write")).is_some(), "newer than the list: stays");
    assert!(store.is_synced());
}

/// A restored backup: the list is older than what was known before it was requested.
#[test]
fn a_server_that_went_back_is_believed() {
    let store = Store::new(&[BY_APP]);
    for (name, version) in [("changed", 50), ("later", 60), ("same", 5), ("gone", 20)] {
        store.apply(object(name, version, "x"));
    }
    store.remove(&ObjectKey::new("n", "gone"), 70);
    assert_eq!(store.position().version, 70);
    let log = recording(&store);
    let restored = vec![object("changed", 10, "y"), object("same", 5, "x"), object("gone", 20, "x")];
    store.replace(restored, &BTreeSet::new(), 40, store.position());
    assert_eq!(*log.lock(), ["60>-", "50>10", "5>5", "->20"]);
    assert_eq!((store.count(&BY_APP, "x"), store.count(&BY_APP, "y")), (2, 1));
    assert!(store.apply(object("later", 41, "y")), "what comes then counts as new");
    assert!(store.position().version < 50);
}

/// The server went back and on again before it was asked: no version shows it, but the list is newer.
#[test]
fn a_list_knows_better_than_anything_older() {
    let store = Store::new(&[BY_APP]);
    store.apply(object("a", 50, "x"));
    store.apply(object("own-write", 90, "x"));
    let before = StorePosition { version: 60, deletions: 0 };
    store.replace(vec![object("a", 10, "y"), object("own-write", 70, "y")], &BTreeSet::new(), 80, before);
    let version = |name: &str| store.get(&ObjectKey::new("n", name)).unwrap().version();
    assert_eq!(version("a"), 10);
    assert_eq!(version("own-write"), 90, "written while the list was under way");
}

/// The server answered "gone" without a version while the list was under way.
#[test]
fn a_list_does_not_bring_back_what_was_deleted_since_it_was_asked_for() {
    let store = Store::new(&[BY_APP]);
    store.apply(object("a", 70, "x"));
    let before = store.position();
    store.remove(&ObjectKey::new("n", "a"), 70);
    store.replace(vec![object("a", 70, "x")], &BTreeSet::new(), 80, before);
    assert!(store.get(&ObjectKey::new("n", "a")).is_none());
}

#[test]
fn an_object_without_finalizers_in_deletion_counts_as_gone() {
    let store = Store::new(&[BY_APP]);
    store.apply(object("a", 1, "x"));
    let mut gone = object("a", 2, "x");
    gone.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    assert!(store.apply(gone));
    assert!(store.get(&ObjectKey::new("n", "a")).is_none());
    assert!(store.by_index(&BY_APP, "x").is_empty());
}

#[test]
fn an_object_that_a_watch_shows_again_after_a_false_deletion_is_back() {
    let store = Store::new(&[BY_APP]);
    store.apply_watched(object("a", 5, "x"));
    store.saw_deleted(&object("a", 5, "x"));
    assert!(!store.apply(object("a", 5, "x")), "an answer that was under way is older than the deletion");
    assert!(store.apply_watched(object("a", 5, "x")));
    store.saw_deleted(&object("a", 9, "x"));
    assert!(!store.apply_watched(object("a", 8, "x")));
}

/// How often each value of a label stands.
#[derive(Clone, Default, PartialEq, Debug)]
struct Apps(BTreeMap<String, usize>);

impl Aggregate<ConfigMap> for Apps {
    type Entry = String;

    fn entries(object: &ConfigMap) -> Vec<(String, String)> {
        (BY_APP.values)(object).into_iter().map(|app| ("n".to_owned(), app)).collect()
    }

    fn add(&mut self, app: &String) {
        *self.0.entry(app.clone()).or_default() += 1;
    }

    fn remove(&mut self, app: &String) {
        match self.0.get_mut(app) {
            Some(1) => self.0.remove(app).is_some(),
            Some(count) => {
                *count -= 1;
                true
            }
            None => false,
        };
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[test]
fn an_aggregate_follows_every_change_and_a_handle_stays_as_it_was() {
    let apps = |counts: &[(&str, usize)]| {
        Apps(counts.iter().map(|(app, count)| ((*app).to_owned(), *count)).collect())
    };
    let store = Store::<ConfigMap>::new(&[]);
    store.apply(object("a", 1, "x"));
    store.maintain::<Apps>();
    store.apply(object("b", 2, "x"));
    let early = store.aggregate::<Apps>("n");
    assert_eq!(*early, apps(&[("x", 2)]));
    store.apply(object("b", 3, "y"));
    assert_eq!(*store.aggregate::<Apps>("n"), apps(&[("x", 1), ("y", 1)]));
    store.remove(&ObjectKey::new("n", "a"), 4);
    assert_eq!(*store.aggregate::<Apps>("n"), apps(&[("y", 1)]));
    store.replace(vec![object("c", 5, "z")], &BTreeSet::new(), 5, store.position());
    assert_eq!(*store.aggregate::<Apps>("n"), apps(&[("z", 1)]));
    assert_eq!(*early, apps(&[("x", 2)]));
    assert_eq!(*store.aggregate::<Apps>("another group"), Apps::default());
}

#[test]
fn an_aggregate_that_is_not_maintained_is_computed() {
    let store = Store::<ConfigMap>::new(&[]);
    store.apply(object("a", 1, "x"));
    assert_eq!(store.aggregate::<Apps>("n").0, BTreeMap::from([("x".to_owned(), 1)]));
}

//! Tables of what is synced: the rows of the reference about prefixes, sets of labels and Nodes, and ours.

use capm3_api::v1beta2::Metal3Cluster;
use serde_json::json;

use super::*;

fn settings(prefixes: &str) -> Settings {
    Settings::parse(prefixes).unwrap()
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn goal(prefixes: &str, host: &[(&str, &str)]) -> Goal {
    Goal::new(settings(prefixes), Some(&labels(host)), None)
}

/// The labels that a Node has afterwards, and its record.
fn synced(goal: &Goal, node: &[(&str, &str)], record: Option<&str>) -> (Labels, Option<String>) {
    let node = labels(node);
    let correction = goal.correct(&node, record);
    let after = correction.apply_to(&node);
    let again = goal.correct(&after, correction.record.as_deref());
    assert!(again.is_empty(), "a second look changes {again:?}");
    (after, correction.record)
}

#[test]
fn the_annotation_is_a_list_of_dns_names() {
    let table: [(&str, &[&str]); 5] = [
        ("foo.metal3.io", &["foo.metal3.io"]),
        (" foo.metal3.io, ,bar,foo.metal3.io,", &["bar", "foo.metal3.io"]),
        ("", &[]),
        (",,,", &[]),
        ("a-b.c", &["a-b.c"]),
    ];
    for (text, expected) in table {
        assert_eq!(settings(text).prefixes(), expected, "{text}");
    }
    for wrong in ["foo.m&tal3.io", "Foo", "foo/", "-a", "a..b", &"x".repeat(254)] {
        let error = Settings::parse(&format!("fine,{wrong}")).unwrap_err();
        assert_eq!(error, SettingsError::Prefix(wrong.to_owned()));
        assert!(error.to_string().contains(&wrong[..2]) && error.to_string().len() < 200, "{error}");
    }
}

#[test]
fn a_cluster_asks_by_its_annotations_and_an_unknown_default_is_an_error() {
    let cluster = |annotations: serde_json::Value| -> Metal3Cluster {
        serde_json::from_value(json!({"metadata": {"name": "c", "annotations": annotations}})).unwrap()
    };
    let (prefixes, defaults) =
        ("metal3.io/metal3-label-sync-prefixes", "metal3.io/metal3-label-sync-defaults");
    let none = cluster(json!({"other": "o"}));
    assert_eq!((Settings::of(&none), Settings::is_given(&none)), (Ok(Settings::default()), false));
    let empty = cluster(json!({prefixes: ""}));
    assert_eq!((Settings::of(&empty), Settings::is_given(&empty)), (Ok(Settings::default()), true));
    let both = Settings::of(&cluster(json!({prefixes: "a", defaults: "topology"}))).unwrap();
    assert_eq!(both, settings("a").with_zone());
    let wrong = Settings::of(&cluster(json!({defaults: "rack"}))).unwrap_err();
    assert_eq!(wrong.to_string(), "unknown default \"rack\"; supported: topology");
    assert_eq!((wrong.annotation(), wrong), (defaults, SettingsError::Default("rack".into())));
    for long in ["x".repeat(40_000), "\u{10ffff}".repeat(40_000)] {
        let shown = Settings::of(&cluster(json!({defaults: long}))).unwrap_err().to_string();
        assert!(shown.len() < 600 && shown.contains("...; supported"), "a condition has room for {shown}");
    }
}

#[test]
fn only_labels_with_exactly_a_listed_prefix_are_taken_from_a_host() {
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)]);
    let table: [Case<'_>; 8] = [
        ("a single match", "foo", &[("foo/a", "1")], &[("foo/a", "1")]),
        ("several prefixes", "foo,bar", &[("foo/a", "1"), ("bar/b", "2")], &[("bar/b", "2"), ("foo/a", "1")]),
        ("other prefixes", "foo", &[("foo/a", "1"), ("bar/b", "2"), ("c", "3")], &[("foo/a", "1")]),
        ("no prefixes", "", &[("foo/a", "1")], &[]),
        ("nothing at all", "", &[], &[]),
        ("no labels", "foo", &[], &[]),
        ("no domain below it", "metal3.io", &[("foo.metal3.io/a", "1"), ("metal3.io/", "2")], &[]),
        ("no label by which a Node is found", "metal3.io", &[("metal3.io/uuid", "x")], &[]),
    ];
    for (what, prefixes, host, expected) in table {
        assert_eq!(goal(prefixes, host).labels, labels(expected), "{what}");
    }
}

#[test]
fn a_node_has_the_labels_of_its_host_and_keeps_those_of_others() {
    type Pairs<'a> = &'a [(&'a str, &'a str)];
    let table: [(&str, &str, Pairs<'_>, Pairs<'_>, Pairs<'_>); 7] = [
        ("equal", "foo", &[("foo/a", "1")], &[("foo/a", "1")], &[("foo/a", "1")]),
        ("missing", "foo", &[("foo/a", "1")], &[], &[("foo/a", "1")]),
        (
            "several missing",
            "foo",
            &[("foo/a", "1"), ("foo/b", "2")],
            &[("other/c", "3")],
            &[("foo/a", "1"), ("foo/b", "2"), ("other/c", "3")],
        ),
        (
            "another value, and one too many",
            "foo",
            &[("foo/a", "1")],
            &[("foo/a", "0"), ("foo/b", "2")],
            &[("foo/a", "1")],
        ),
        ("no prefixes", "", &[("foo/a", "1")], &[("foo/b", "2")], &[("foo/b", "2")]),
        ("nothing on the host", "foo", &[], &[("foo/b", "2"), ("c", "3")], &[("c", "3")]),
        (
            "labels that a Node needs",
            "kubernetes.io",
            &[("kubernetes.io/hostname", "x")],
            &[("kubernetes.io/hostname", "n"), ("kubernetes.io/os", "linux"), ("kubernetes.io/role", "r")],
            &[("kubernetes.io/hostname", "n"), ("kubernetes.io/os", "linux")],
        ),
    ];
    for (what, prefixes, host, node, expected) in table {
        assert_eq!(synced(&goal(prefixes, host), node, None).0, labels(expected), "{what}");
    }
}

#[test]
fn what_was_synced_is_recorded_and_goes_with_its_prefix() {
    let both = goal("bar,foo", &[("foo/a", "1"), ("bar/b", "2")]);
    let (node, record) = synced(&both, &[("mine/c", "3")], None);
    assert_eq!(record.as_deref(), Some("bar/b,foo/a"));
    let node: Vec<(&str, &str)> = node.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let one = goal("foo", &[("foo/a", "1"), ("bar/b", "2")]);
    let (after, record) = synced(&one, &node, record.as_deref());
    assert_eq!((after, record.as_deref()), (labels(&[("foo/a", "1"), ("mine/c", "3")]), Some("foo/a")));
    let (after, record) = synced(&Goal::default(), &node, Some("bar/b,foo/a"));
    assert_eq!((after, record), (labels(&[("mine/c", "3")]), None));
}

#[test]
fn a_record_that_somebody_wrote_takes_no_label_off_that_a_node_needs() {
    let node = [("kubernetes.io/hostname", "n"), ("a", "1")];
    let (after, record) = synced(&Goal::default(), &node, Some(" kubernetes.io/hostname ,, a,gone/x"));
    assert_eq!((after, record), (labels(&node[..1]), None));
}

#[test]
fn the_zone_is_the_failure_domain_unless_somebody_else_set_it() {
    const ZONE: &str = label::NODE_ZONE;
    let goal = |zone: Option<&str>, host: &[(&str, &str)], prefixes: &str| {
        Goal::new(settings(prefixes).with_zone(), Some(&labels(host)), zone)
    };
    type Case<'a> = (&'a str, Goal, Option<&'a str>, Option<&'a str>, Option<&'a str>);
    let rack1 = || goal(Some("rack1"), &[], "");
    let table: [Case<'_>; 9] = [
        ("none yet", rack1(), None, None, Some("rack1")),
        ("ours", rack1(), Some("rack0"), Some(ZONE), Some("rack1")),
        ("somebody else's", rack1(), Some("cloud"), None, Some("cloud")),
        ("not known any more", goal(None, &[], ""), Some("rack1"), Some(ZONE), None),
        ("not known, and somebody else's", goal(None, &[], ""), Some("cloud"), None, Some("cloud")),
        ("not asked for any more", Goal::default(), Some("rack1"), Some(ZONE), None),
        ("no label value", goal(Some("a b"), &[], ""), None, None, None),
        (
            "a label of the host",
            goal(Some("r"), &[(ZONE, "z")], "topology.kubernetes.io"),
            None,
            None,
            Some("z"),
        ),
        (
            "listed, whoever set it",
            goal(Some("r"), &[], "topology.kubernetes.io"),
            Some("x"),
            None,
            Some("r"),
        ),
    ];
    for (what, goal, zone, record, expected) in table {
        let node: Vec<(&str, &str)> = zone.iter().map(|zone| (ZONE, *zone)).collect();
        let (after, _) = synced(&goal, &node, record);
        assert_eq!(after.get(ZONE).map(String::as_str), expected, "{what}");
    }
}

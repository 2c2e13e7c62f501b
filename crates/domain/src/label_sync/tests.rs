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

fn desired(prefixes: &str, host: &[(&str, &str)]) -> DesiredLabels {
    DesiredLabels::new(settings(prefixes), Some(&labels(host)), None)
}

/// The labels that a Node has afterwards, and its record.
fn synced(desired: &DesiredLabels, node: &[(&str, &str)], record: Option<&str>) -> (Labels, Option<String>) {
    synced_beside(desired, node, record, None)
}

/// The same on a Node that has labels from its Machine.
fn synced_beside(
    desired: &DesiredLabels,
    node: &[(&str, &str)],
    record: Option<&str>,
    from_machine: Option<&str>,
) -> (Labels, Option<String>) {
    let node = labels(node);
    let patch = desired.correct(&NodeLabels { labels: &node, record, from_machine });
    let after = patch.apply_to(&node);
    let record = patch.record.as_deref();
    let again = desired.correct(&NodeLabels { labels: &after, record, from_machine });
    assert!(again.is_empty(), "a second pass changes {again:?}");
    (after, patch.record)
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
    assert_eq!((Settings::of(&none), Settings::is_requested(&none)), (Ok(Settings::default()), false));
    let empty = cluster(json!({prefixes: ""}));
    assert_eq!((Settings::of(&empty), Settings::is_requested(&empty)), (Ok(Settings::default()), true));
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
        assert_eq!(desired(prefixes, host).labels, labels(expected), "{what}");
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
        assert_eq!(synced(&desired(prefixes, host), node, None).0, labels(expected), "{what}");
    }
}

#[test]
fn what_was_synced_is_recorded_and_goes_with_its_prefix() {
    let both = desired("bar,foo", &[("foo/a", "1"), ("bar/b", "2")]);
    let (node, record) = synced(&both, &[("mine/c", "3")], None);
    assert_eq!(record.as_deref(), Some("bar/b,foo/a"));
    let node: Vec<(&str, &str)> = node.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let one = desired("foo", &[("foo/a", "1"), ("bar/b", "2")]);
    let (after, record) = synced(&one, &node, record.as_deref());
    assert_eq!((after, record.as_deref()), (labels(&[("foo/a", "1"), ("mine/c", "3")]), Some("foo/a")));
    let (after, record) = synced(&DesiredLabels::default(), &node, Some("bar/b,foo/a"));
    assert_eq!((after, record), (labels(&[("mine/c", "3")]), None));
}

#[test]
fn the_record_alone_removes_no_label_that_label_sync_cannot_have_set() {
    let stays = [
        "kubernetes.io/hostname",
        "a",
        "node-restriction.kubernetes.io/tenant",
        "node.kubernetes.io/exclude-from-external-load-balancers",
        "topology.kubernetes.io/region",
        "x.k8s.io/a",
        "k8s.io/a",
        "cluster.x-k8s.io/a",
        "node.cluster.x-k8s.io/a",
        "metal3.io/uuid",
    ];
    for key in stays {
        let node = [(key, "1"), ("foo/a", "1")];
        let (after, record) =
            synced(&DesiredLabels::default(), &node, Some(&format!(" {key} ,, foo/a,gone/x")));
        assert_eq!((after, record), (labels(&node[..1]), None), "{key}");
    }
    for key in ["foo/a", "notkubernetes.io/a", "metal3.io/rack", label::NODE_ZONE] {
        let (after, record) = synced(&DesiredLabels::default(), &[(key, "1")], Some(key));
        assert_eq!((after, record), (labels(&[]), None), "{key}");
    }
    // Such a label is copied while its prefix is listed, and not recorded.
    let region = desired("topology.kubernetes.io", &[("topology.kubernetes.io/region", "r")]);
    assert_eq!(synced(&region, &[], None), (labels(&[("topology.kubernetes.io/region", "r")]), None));
}

#[test]
fn labels_that_cluster_api_keeps_on_a_node_are_neither_copied_nor_changed_nor_removed() {
    let domains = ["node-role.kubernetes.io", "node-restriction.kubernetes.io", "node.cluster.x-k8s.io"];
    for domain in domains.into_iter().flat_map(|domain| [domain.to_owned(), format!("a.{domain}")]) {
        let [role, other, new] = ["role", "other", "new"].map(|name| format!("{domain}/{name}"));
        let desired = desired(&domain, &[(&role, "host"), (&new, "host")]);
        let node = [(role.as_str(), "machine"), (other.as_str(), "machine")];
        for record in [None, Some(other.as_str())] {
            assert_eq!(synced(&desired, &node, record), (labels(&node), None), "{domain}");
        }
    }
    // A key that Cluster API names on the Node is its own, whatever its prefix is and whoever had it before.
    let both = desired("foo", &[("foo/a", "host"), ("foo/b", "host"), ("foo/gone", "host")]);
    let node = [("foo/a", "machine"), ("foo/b", "0"), ("foo/c", "machine"), ("foo/d", "0")];
    for record in [None, Some("foo/a,foo/b")] {
        let (after, record) = synced_beside(&both, &node, record, Some("foo/a, foo/c,foo/gone"));
        assert_eq!(after, labels(&[("foo/a", "machine"), ("foo/b", "host"), ("foo/c", "machine")]));
        assert_eq!(record.as_deref(), Some("foo/b"));
    }
    let zone = DesiredLabels::new(settings("").with_zone(), None, Some("rack1"));
    assert_eq!(synced_beside(&zone, &[], None, Some(label::NODE_ZONE)), (labels(&[]), None));
}

#[test]
fn a_label_that_somebody_had_set_to_the_same_value_is_theirs() {
    let host = [("foo/a", "1"), ("foo/b", "2"), ("foo/c", "3")];
    let (node, record) = synced(&desired("foo", &host), &[("foo/a", "1"), ("foo/b", "other")], None);
    assert_eq!((&node, record.as_deref()), (&labels(&host), Some("foo/b,foo/c")));
    let node: Vec<(&str, &str)> = node.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let (after, record) = synced(&DesiredLabels::default(), &node, record.as_deref());
    assert_eq!((after, record), (labels(&[("foo/a", "1")]), None));
}

#[test]
fn the_zone_is_the_failure_domain_unless_somebody_else_set_it() {
    const ZONE: &str = label::NODE_ZONE;
    let desired = |zone: Option<&str>, host: &[(&str, &str)], prefixes: &str| {
        DesiredLabels::new(settings(prefixes).with_zone(), Some(&labels(host)), zone)
    };
    type Case<'a> = (&'a str, DesiredLabels, Option<&'a str>, Option<&'a str>, Option<&'a str>);
    let rack1 = || desired(Some("rack1"), &[], "");
    let table: [Case<'_>; 9] = [
        ("none yet", rack1(), None, None, Some("rack1")),
        ("ours", rack1(), Some("rack0"), Some(ZONE), Some("rack1")),
        ("somebody else's", rack1(), Some("cloud"), None, Some("cloud")),
        ("not known any more", desired(None, &[], ""), Some("rack1"), Some(ZONE), None),
        ("not known, and somebody else's", desired(None, &[], ""), Some("cloud"), None, Some("cloud")),
        ("not asked for any more", DesiredLabels::default(), Some("rack1"), Some(ZONE), None),
        ("no label value", desired(Some("a b"), &[], ""), None, None, None),
        (
            "a label of the host",
            desired(Some("r"), &[(ZONE, "z")], "topology.kubernetes.io"),
            None,
            None,
            Some("z"),
        ),
        (
            "listed, whoever set it",
            desired(Some("r"), &[], "topology.kubernetes.io"),
            Some("x"),
            None,
            Some("r"),
        ),
    ];
    for (what, desired, zone, record, expected) in table {
        let node: Vec<(&str, &str)> = zone.iter().map(|zone| (ZONE, *zone)).collect();
        let (after, _) = synced(&desired, &node, record);
        assert_eq!(after.get(ZONE).map(String::as_str), expected, "{what}");
    }
}

use serde_json::{Value, json};

use super::*;

/// A machine with this record, provider ID and user data.
fn machine(name: &str, record: Option<&str>, id: Option<&str>, users: Option<&str>) -> Metal3Machine {
    let annotations = record.map(|host| json!({"metal3.io/BareMetalHost": format!("ns/{host}")}));
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "ns", "annotations": annotations},
        "spec": {"providerID": id},
        "status": {"userData": users.map(|name| json!({"name": name}))}}))
    .unwrap()
}

/// A host that names this machine and has this user data, and an image with it.
fn host(name: &str, consumer: Option<&str>, users: Option<&str>) -> BareMetalHost {
    let consumer = consumer.map(|name| {
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
            "name": name, "namespace": "ns"})
    });
    let image: Option<Value> = users.map(|_| json!({"url": "http://i"}));
    serde_json::from_value(json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}")},
        "spec": {"consumerRef": consumer, "image": image, "userData": users.map(|name| json!({"name": name}))}}))
    .unwrap()
}

#[test]
fn the_provider_id_binds_more_than_a_claim_and_a_claim_more_than_a_record() {
    let on = |consumer| host("h", consumer, Some("boot"));
    for (what, machine, consumer, expected) in [
        ("named alone", machine("m", None, None, None), Some("m"), Bond::None),
        ("named and filled", machine("m", None, None, Some("boot")), Some("m"), Bond::None),
        ("recorded", machine("m", Some("h"), None, None), None, Bond::Recorded),
        ("recorded, names another", machine("m", Some("h"), None, None), Some("x"), Bond::Recorded),
        ("recorded and named", machine("m", Some("h"), None, None), Some("m"), Bond::Claimed),
        ("ID", machine("m", None, Some("metal3://ns/h/m"), None), Some("x"), Bond::Identified),
        ("older ID", machine("m", None, Some("metal3://uid-h"), None), None, Bond::Identified),
        ("ID of another host", machine("m", Some("h"), Some("metal3://ns/x/m"), None), Some("m"), Bond::None),
        (
            "older ID of a host before a move",
            machine("m", Some("h"), Some("metal3://old"), None),
            Some("m"),
            Bond::Claimed,
        ),
    ] {
        assert_eq!(bond(&machine, &on(consumer)), expected, "{what}");
    }
    let mut elsewhere = machine("m", Some("h"), None, None);
    elsewhere.metadata.namespace = Some("other".into());
    assert_eq!(bond(&elsewhere, &on(None)), Bond::None);
}

#[test]
fn a_host_belongs_to_the_living_machine_that_is_bound_to_it_most() {
    let identified = || machine("w", None, Some("metal3://ns/h/w"), None);
    let recorded = || machine("w", Some("h"), None, None);
    let stranger = || machine("x", Some("other"), None, None);
    let mut leaving = identified();
    leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    let mut ends = machine("x", Some("h"), None, None);
    ends.metadata.deletion_timestamp.clone_from(&leaving.metadata.deletion_timestamp);
    for (what, asks, consumer, other, expected) in [
        ("names a stranger", stranger(), Some("x"), identified(), true),
        ("names a stranger, its machine is on the way", stranger(), Some("x"), recorded(), true),
        ("names nobody", stranger(), None, recorded(), true),
        ("names one that was never there", stranger(), Some("typo"), recorded(), true),
        ("names its machine", stranger(), Some("w"), recorded(), true),
        ("its machine goes", stranger(), Some("x"), leaving, false),
        ("nobody knows it", stranger(), Some("x"), machine("w", None, None, None), false),
        ("a damaged record", machine("x", Some("h"), None, None), Some("x"), recorded(), false),
        (
            "a damaged record against an ID",
            machine("x", Some("h"), None, None),
            Some("x"),
            identified(),
            true,
        ),
        ("a machine that goes gives back its own", ends, Some("x"), recorded(), false),
        ("two records and no claim", machine("x", Some("h"), None, None), None, recorded(), false),
        ("the machine itself", identified(), Some("x"), identified(), false),
    ] {
        let found = rightful_other(&asks, &host("h", consumer, Some("boot")), [&other]);
        assert_eq!(found.is_some(), expected, "{what}");
    }
}

/// Names of the host in use, of those to give back, of those that are held, and of those of other machines.
fn sorted(
    machine: &Metal3Machine,
    consumed: &[BareMetalHost],
    known: Option<BareMetalHost>,
    others: &[&str],
) -> [String; 4] {
    let of_another =
        |host: &BareMetalHost| others.contains(&host.metadata.name_str()).then(|| "w".to_owned());
    let consumed = consumed.iter().cloned().map(Box::new).collect();
    let found = holdings(machine, consumed, known.map(Box::new), of_another);
    let names = |hosts: Vec<Box<BareMetalHost>>| {
        hosts.iter().map(|host| host.metadata.name_str()).collect::<Vec<_>>().join(",")
    };
    let of_others = found.of_others.into_keys().collect::<Vec<_>>().join(",");
    [names(found.host.into_iter().collect()), names(found.surplus), names(found.held), of_others]
}

#[test]
fn a_machine_uses_gives_back_holds_and_leaves_alone() {
    let named = |name: &str| host(name, Some("m"), None);
    let filled = |name: &str| host(name, Some("m"), Some("boot"));
    let lost = |name: &str, users| Some(host(name, Some("x"), users));
    let fresh = || machine("m", None, None, None);
    let recorded = || machine("m", Some("k"), None, Some("boot"));
    let ready = || machine("m", Some("k"), Some("metal3://ns/k/m"), Some("boot"));
    let boot = Some("boot");
    let blank = |name: &str| Some(host(name, Some("m"), None));
    for (what, machine, consumed, known, others, expected) in [
        ("a claim not yet recorded", fresh(), vec![named("a")], None, vec![], ["a", "", "", ""]),
        (
            "two of them, none recorded",
            fresh(),
            vec![named("a"), named("b")],
            None,
            vec![],
            ["a", "", "b", ""],
        ),
        ("two of them", recorded(), vec![named("a"), named("k")], blank("k"), vec![], ["k", "a", "", ""]),
        ("in use, without a record", fresh(), vec![filled("a")], None, vec![], ["", "", "a", ""]),
        (
            "a stripped record",
            machine("m", None, None, boot),
            vec![filled("a")],
            None,
            vec![],
            ["a", "", "", ""],
        ),
        ("its own", ready(), vec![filled("k")], lost("k", boot), vec![], ["k", "", "", ""]),
        (
            "and one too many",
            ready(),
            vec![named("a"), filled("k")],
            lost("k", boot),
            vec![],
            ["k", "a", "", ""],
        ),
        (
            "and one too many, in use",
            ready(),
            vec![host("a", Some("m"), Some("x")), filled("k")],
            lost("k", boot),
            vec![],
            ["k", "", "a", ""],
        ),
        (
            "the host of another",
            ready(),
            vec![filled("a"), filled("k")],
            lost("k", boot),
            vec!["a"],
            ["k", "", "", "a"],
        ),
        ("for its own", ready(), vec![filled("a")], lost("k", boot), vec!["a"], ["k", "", "", "a"]),
        ("a blank one for its own", ready(), vec![named("a")], lost("k", boot), vec![], ["k", "a", "", ""]),
        ("the same on the way", recorded(), vec![named("a")], lost("k", boot), vec![], ["k", "a", "", ""]),
        ("a damaged record", recorded(), vec![filled("a")], lost("k", Some("x")), vec![], ["a", "", "", ""]),
        (
            "a damaged record at the start",
            recorded(),
            vec![named("a")],
            lost("k", None),
            vec![],
            ["a", "", "", ""],
        ),
        ("nothing but the host of another", fresh(), vec![filled("a")], None, vec!["a"], ["", "", "", "a"]),
        (
            "a record of the host of another",
            recorded(),
            vec![filled("k")],
            lost("k", boot),
            vec!["k"],
            ["k", "", "", "k"],
        ),
        (
            "a blank one beside a record of the host of another",
            ready(),
            vec![named("a")],
            lost("k", boot),
            vec!["k"],
            ["k", "", "a", "k"],
        ),
        ("its own is gone", ready(), vec![filled("a")], None, vec![], ["a", "", "", ""]),
        ("its own is gone, a blank one comes", ready(), vec![named("a")], None, vec![], ["", "", "a", ""]),
    ] {
        assert_eq!(sorted(&machine, &consumed, known, &others), expected, "{what}");
    }
}

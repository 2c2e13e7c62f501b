//! The rows of the acceptance list about metadata, one test per row.

use serde_json::{Value, json};

use super::{Objects, referenced_pools, testing::Setting};

/// What is rendered for the machine of the tests, without the provider id that is always there.
pub(super) fn rendered(setting: &Setting, template: Value) -> String {
    setting.meta_data(template).unwrap().replace("providerid: metal3/host-1/m3m-1\n", "")
}

pub(super) fn simple(template: Value) -> String {
    rendered(&Setting::new(json!({})), template)
}

/// `strings` give the value as it is written, quoted where YAML would read something else.
#[test]
fn s90_a_string_is_the_value_as_given() {
    for (value, expected) in [
        ("def", "abc: def\n"),
        ("", "abc: \"\"\n"),
        ("no", "abc: \"no\"\n"),
        ("007", "abc: \"007\"\n"),
        ("a: b", "abc: 'a: b'\n"),
        ("one\ntwo\n", "abc: |\n  one\n  two\n"),
    ] {
        assert_eq!(simple(json!({"strings": [{"key": "abc", "value": value}]})), expected);
    }
}

fn name_of(object: &str) -> String {
    simple(json!({"objectNames": [{"key": "name", "object": object}]}))
}

/// `objectNames` with object `machine` give the name of the Machine.
#[test]
fn s91_the_name_of_the_machine() {
    assert_eq!(name_of("machine"), "name: machine-1\n");
}

/// `objectNames` with object `metal3machine` give the name of the Metal3Machine.
#[test]
fn s91_the_name_of_the_metal3machine() {
    assert_eq!(name_of("metal3machine"), "name: m3m-1\n");
}

/// `objectNames` with object `baremetalhost` give the name of the host.
#[test]
fn s91_the_name_of_the_host() {
    assert_eq!(name_of("baremetalhost"), "name: host-1\n");
}

/// Any other kind of object is an error that names the place and the three kinds.
#[test]
fn s92_another_kind_of_object_is_not_rendered() {
    let setting = Setting::new(json!({}));
    for (list, item) in [
        ("objectNames", json!({"key": "a", "object": "node"})),
        ("fromLabels", json!({"key": "a", "object": "node", "label": "l"})),
        ("fromAnnotations", json!({"key": "a", "object": "node", "annotation": "l"})),
    ] {
        let expected = format!(
            "unknown object type: spec.metaData.{list}[0].object, node is none of machine, metal3machine, baremetalhost (key a)"
        );
        assert_eq!(setting.meta_data(json!({list: [item]})).unwrap_err(), expected);
    }
}

/// `indexes` give offset + index x step; a step that is unset or 0 counts as 1.
#[test]
fn s93_an_index_is_offset_and_steps() {
    for (item, index, expected) in [
        (json!({}), 0, "0"),
        (json!({}), 3, "3"),
        (json!({"offset": 0, "step": 1}), 7, "7"),
        (json!({"offset": 10, "step": 5}), 3, "25"),
        (json!({"offset": 10}), 3, "13"),
        (json!({"offset": 10, "step": 0}), 3, "13"),
    ] {
        let mut with_key = item.clone();
        with_key["key"] = json!("i");
        let setting = Setting::new(json!({})).at(index);
        let document = rendered(&setting, json!({"indexes": [with_key]}));
        assert_eq!(document, format!("i: \"{expected}\"\n"), "{item}, index {index}");
    }
}

/// Prefix and suffix stand around the index.
#[test]
fn s95_an_index_stands_between_prefix_and_suffix() {
    for (index, expected) in [(0, "name: worker-np1-0.x\n"), (12, "name: worker-np1-12.x\n")] {
        let item = json!({"key": "name", "prefix": "worker-np1-", "suffix": ".x"});
        assert_eq!(rendered(&Setting::new(json!({})).at(index), json!({"indexes": [item]})), expected);
    }
}

pub(super) fn pools() -> Setting {
    Setting::new(json!({
        "v4": {"address": "10.0.0.5", "prefix": 24, "gateway": "10.0.0.1", "dnsServers": ["10.0.0.2", "10.0.0.3"]},
        "v6": {"address": "2001:db8::5", "prefix": 64, "gateway": "2001:db8::1", "dnsServers": ["2001:db8::2"]},
        "bare": {"address": "10.0.0.6", "prefix": 24},
    }))
}

fn from_pools(list: &str) -> String {
    let items: Vec<Value> =
        ["v4", "v6", "bare"].iter().map(|pool| json!({"key": pool, "name": pool})).collect();
    rendered(&pools(), json!({list: items}))
}

/// The address that a pool gave to this node is rendered, in both families.
#[test]
fn s96_an_address_of_a_pool_is_rendered() {
    assert_eq!(from_pools("ipAddressesFromPool"), "bare: 10.0.0.6\nv4: 10.0.0.5\nv6: 2001:db8::5\n");
}

/// The prefix of a pool is decimal text; its gateway is text, empty where the pool has none.
#[test]
fn s97_prefix_and_gateway_of_a_pool_are_text() {
    assert_eq!(from_pools("prefixesFromPool"), "bare: \"24\"\nv4: \"24\"\nv6: \"64\"\n");
    assert_eq!(from_pools("gatewaysFromPool"), "bare: \"\"\nv4: 10.0.0.1\nv6: 2001:db8::1\n");
}

/// DNS servers of a pool are joined by commas; a pool without any gives an empty text.
#[test]
fn s98_dns_servers_of_a_pool_are_joined_by_commas() {
    assert_eq!(from_pools("dnsServersFromPool"), "bare: \"\"\nv4: 10.0.0.2,10.0.0.3\nv6: 2001:db8::2\n");
}

/// A pool of which only the name is given is an IPPool of Metal3.
#[test]
fn s99_a_pool_by_name_alone_is_one_of_metal3() {
    for list in ["ipAddressesFromPool", "prefixesFromPool", "gatewaysFromPool", "dnsServersFromPool"] {
        let spec = serde_json::from_value(json!({"metaData": {list: [{"key": "a", "name": "p"}]}})).unwrap();
        let pools = referenced_pools(&spec, Objects::default()).unwrap();
        let pool = &pools["p"];
        assert_eq!((pool.api_group.as_str(), pool.kind.as_str()), ("ipam.metal3.io", "IPPool"), "{list}");
    }
}

/// `fromHostInterfaces` give the MAC address of that interface; an interface that the host lacks is an error with the
/// names of those that it has.
#[test]
fn s101_an_interface_gives_its_mac_address() {
    let item = |interface: &str| json!({"fromHostInterfaces": [{"key": "mac", "interface": interface}]});
    assert_eq!(simple(item("enp1s0")), "mac: 52:54:00:aa:01:01\n");
    assert_eq!(
        Setting::new(json!({})).meta_data(item("eth0")).unwrap_err(),
        "NIC name not found eth0: spec.metaData.fromHostInterfaces[0].interface, host host-1 has enp1s0 (key mac)"
    );
}

/// `fromLabels` and `fromAnnotations` give the value on the named object, an empty text where it carries none.
#[test]
fn s102_labels_and_annotations_give_their_value_or_nothing() {
    let label = |object: &str, label: &str| {
        simple(json!({"fromLabels": [{"key": "a", "object": object, "label": label}]}))
    };
    let annotation = |object: &str, annotation: &str| {
        simple(json!({"fromAnnotations": [{"key": "a", "object": object, "annotation": annotation}]}))
    };
    assert_eq!(label("machine", "role"), "a: worker\n");
    assert_eq!(label("metal3machine", "role"), "a: \"\"\n", "another object's label is not taken");
    assert_eq!(label("baremetalhost", "none"), "a: \"\"\n");
    assert_eq!(annotation("baremetalhost", "rack"), "a: r7\n");
    assert_eq!(annotation("machine", "rack"), "a: \"\"\n");
}

/// Whatever the template says, the document is one map of text to text, and its bytes do not depend on the order in
/// which the template lists things.
#[test]
fn s104_metadata_is_a_map_of_texts_with_stable_bytes() {
    let strings = vec![
        json!({"key": "b", "value": "true"}),
        json!({"key": "a", "value": "12"}),
        json!({"key": "Z", "value": "null"}),
        json!({"key": "1", "value": "2026-01-02"}),
    ];
    let template = |strings: Vec<Value>| {
        json!({"strings": strings, "indexes": [{"key": "i"}], "prefixesFromPool": [{"key": "p", "name": "v4"}],
            "objectNames": [{"key": "o", "object": "machine"}], "namespaces": [{"key": "n"}]})
    };
    let document = pools().meta_data(template(strings.clone())).unwrap();
    let turned = strings.into_iter().rev().collect();
    assert_eq!(pools().meta_data(template(turned)).unwrap(), document);
    let read: Value = serde_saphyr::from_str(&document).unwrap();
    let map = read.as_object().unwrap();
    assert_eq!(map.len(), 9, "{document}");
    assert!(map.values().all(Value::is_string), "{document}");
}

/// There is no language in templates: what looks like a variable is copied as it stands.
#[test]
fn s105_what_looks_like_a_variable_is_copied() {
    for value in ["{{ index }}", "$(INDEX)", "${index}", "{{ ds.meta_data.name }}", "%d"] {
        let document = simple(json!({"strings": [{"key": "a", "value": value}]}));
        let read: Value = serde_saphyr::from_str(&document).unwrap();
        assert_eq!(read["a"], value, "{document}");
        let item = json!({"indexes": [{"key": "a", "prefix": value}]});
        let read: Value = serde_saphyr::from_str(&simple(item)).unwrap();
        assert_eq!(read["a"], format!("{value}0"));
    }
}

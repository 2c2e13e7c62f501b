//! Capabilities of the Go provider about metadata, one test each.

use serde_json::{Value, json};

use super::{
    rows_metadata_tests::{pools, rendered, simple},
    testing::Setting,
};

/// `strings` render their value, `namespaces` the namespace of the data.
#[test]
fn md87_strings_and_namespaces_are_rendered() {
    let template = json!({"strings": [{"key": "role", "value": "worker"}, {"key": "flag", "value": "yes"}],
        "namespaces": [{"key": "namespace"}, {"key": "again"}]});
    assert_eq!(simple(template), "again: metal3\nflag: \"yes\"\nnamespace: metal3\nrole: worker\n");
}

/// `objectNames` render the name of the machine, the Metal3Machine or the host, in any letter case; another object is an
/// error.
#[test]
fn md88_names_of_the_three_objects_are_rendered_in_any_letter_case() {
    let item = |object: &str| json!({"objectNames": [{"key": "name", "object": object}]});
    for (object, expected) in
        [("machine", "machine-1"), ("metal3machine", "m3m-1"), ("baremetalhost", "host-1")]
    {
        for object in [object.to_owned(), object.to_uppercase(), object.replacen('m', "M", 1)] {
            assert_eq!(simple(item(&object)), format!("name: {expected}\n"), "{object}");
        }
    }
    for object in ["node", "machines", ""] {
        let error = Setting::new(json!({})).meta_data(item(object)).unwrap_err();
        assert!(error.starts_with("unknown object type: spec.metaData.objectNames[0].object"), "{error}");
    }
}

/// `indexes` render prefix, offset + index x step, and suffix; a step of 0 counts as 1.
#[test]
fn md89_an_index_is_counted_from_its_offset_in_steps() {
    for (item, index, expected) in [
        (json!({"prefix": "n-", "offset": 10, "step": 5, "suffix": ".x"}), 3, "n-25.x"),
        (json!({"prefix": "n-", "offset": 10, "step": 0}), 3, "n-13"),
        (json!({"suffix": ".x"}), 3, "3.x"),
        (json!({"prefix": "n-", "offset": 10, "step": 5}), 0, "n-10"),
    ] {
        let mut with_key = item.clone();
        with_key["key"] = json!("i");
        let document = rendered(&Setting::new(json!({})).at(index), json!({"indexes": [with_key]}));
        assert_eq!(document, format!("i: {expected}\n"), "{item}, index {index}");
    }
}

/// `fromLabels` and `fromAnnotations` render what each of the three objects carries; a missing key gives an empty text.
#[test]
fn md90_labels_and_annotations_of_the_three_objects_are_rendered() {
    let cases = [
        ("fromLabels", "label", "machine", "role", "worker"),
        ("fromLabels", "label", "metal3machine", "zone", "z1"),
        ("fromLabels", "label", "baremetalhost", "disk", "nvme"),
        ("fromAnnotations", "annotation", "machine", "pool6", "v6"),
        ("fromAnnotations", "annotation", "metal3machine", "asset", "a-9"),
        ("fromAnnotations", "annotation", "baremetalhost", "rack", "r7"),
    ];
    for (list, member, object, name, expected) in cases {
        let item = |name: &str| json!({list: [{"key": "k", "object": object, member: name}]});
        assert_eq!(simple(item(name)), format!("k: {expected}\n"), "{list} {object}");
        assert_eq!(simple(item("missing")), "k: \"\"\n", "{list} {object}");
    }
}

/// `fromHostInterfaces` render the MAC address of that network card; a card that the host does not have, and a host without
/// a list of cards, are errors.
#[test]
fn md91_the_mac_address_of_a_network_card_is_rendered() {
    let item = |interface: &str| json!({"fromHostInterfaces": [{"key": "mac", "interface": interface}]});
    let nics =
        json!([{"name": "eno1", "mac": "52:54:00:aa:01:01"}, {"name": "eno2", "mac": "52:54:00:aa:01:02"}]);
    let host = Setting::new(json!({})).on(json!({}), json!({"hardware": {"nics": nics}}));
    assert_eq!(rendered(&host, item("eno2")), "mac: 52:54:00:aa:01:02\n");
    let error = host.meta_data(item("eno3")).unwrap_err();
    assert!(error.starts_with("NIC name not found eno3"), "{error}");
    for status in [json!({}), json!({"hardware": {}}), json!({"hardware": {"nics": []}})] {
        let error =
            Setting::new(json!({})).on(json!({}), status.clone()).meta_data(item("eno1")).unwrap_err();
        assert!(error.contains("NICs list not populated"), "{status}: {error}");
    }
}

/// `fromBootMAC` renders the MAC address from which the host boots; a host without one is an error.
#[test]
fn md92_the_mac_address_from_which_the_host_boots_is_rendered() {
    let item = || json!({"fromHostInterfaces": [{"key": "mac", "fromBootMAC": true}]});
    let booting = |mac: Value| Setting::new(json!({})).on(json!({"bootMACAddress": mac}), json!({}));
    assert_eq!(rendered(&booting(json!("52:54:00:aa:02:01")), item()), "mac: 52:54:00:aa:02:01\n");
    for none in [Value::Null, json!("")] {
        let error = booting(none).meta_data(item()).unwrap_err();
        assert!(error.contains("BareMetalHost metal3/host-1 spec.bootMACAddress is empty"), "{error}");
    }
}

/// `ipAddressesFromPool`, `prefixesFromPool` and `gatewaysFromPool` render the address that the pool gave, its prefix and its
/// gateway, in both families.
#[test]
fn md93_address_prefix_and_gateway_of_a_pool_are_rendered() {
    for (pool, expected) in [
        ("v4", "address: 10.0.0.5\ngateway: 10.0.0.1\nprefix: \"24\"\n"),
        ("v6", "address: 2001:db8::5\ngateway: 2001:db8::1\nprefix: \"64\"\n"),
    ] {
        let item = |key: &str| json!([{"key": key, "name": pool}]);
        let template = json!({"ipAddressesFromPool": item("address"), "prefixesFromPool": item("prefix"),
            "gatewaysFromPool": item("gateway")});
        assert_eq!(rendered(&pools(), template), expected);
    }
}

/// `dnsServersFromPool` claim an address of the pool, and render its DNS servers.
#[test]
fn md94_the_dns_servers_of_a_pool_are_claimed_and_rendered() {
    let template = json!({"dnsServersFromPool": [{"key": "dns", "name": "v4"}]});
    assert_eq!(pools().pools(json!({"metaData": template})).unwrap(), ["ipam.metal3.io/IPPool/v4"]);
    assert_eq!(rendered(&pools(), template), "dns: 10.0.0.2,10.0.0.3\n");
}

/// The key `providerid` is always there, with namespace, host and Metal3Machine; nothing in the template changes it.
#[test]
fn md95_the_provider_id_is_always_there() {
    let setting = Setting::new(json!({}));
    for template in [json!({}), json!({"strings": [{"key": "providerid", "value": "mine"}]})] {
        assert_eq!(setting.meta_data(template).unwrap(), "providerid: metal3/host-1/m3m-1\n");
    }
}

/// The document is YAML with sorted keys, all values text; where two lists have the same key, the later list wins.
#[test]
fn md96_keys_are_sorted_and_a_later_list_wins() {
    let on_pool = |list: &'static str, value| (list, json!({"name": "v4"}), value);
    let lists = [
        ("fromHostInterfaces", json!({"interface": "enp1s0"}), "52:54:00:aa:01:01"),
        on_pool("ipAddressesFromPool", "10.0.0.5"),
        on_pool("prefixesFromPool", "\"24\""),
        on_pool("gatewaysFromPool", "10.0.0.1"),
        ("indexes", json!({"offset": 7}), "\"7\""),
        ("namespaces", json!({}), "metal3"),
        ("objectNames", json!({"object": "machine"}), "machine-1"),
        ("fromLabels", json!({"object": "machine", "label": "role"}), "worker"),
        ("fromAnnotations", json!({"object": "baremetalhost", "annotation": "rack"}), "r7"),
        ("strings", json!({"value": "null"}), "\"null\""),
    ];
    let mut template = json!({});
    for (list, item, expected) in lists {
        let item = |key: &str| {
            let mut item = item.clone();
            item["key"] = json!(key);
            item
        };
        // Only the first list has the other keys.
        template[list] = match template.as_object().is_some_and(|lists| lists.is_empty()) {
            true => json!([item("same"), item("z-10"), item("z-2"), item("A")]),
            false => json!([item("same")]),
        };
        let mac = "52:54:00:aa:01:01";
        assert_eq!(
            pools().meta_data(template.clone()).unwrap(),
            format!("A: {mac}\nproviderid: metal3/host-1/m3m-1\nsame: {expected}\nz-2: {mac}\nz-10: {mac}\n"),
            "{list}"
        );
    }
}

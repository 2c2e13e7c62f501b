//! What the embedded server lets pass and refuses of data templates, on the wire and in both versions.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "common/wire.rs"]
mod wire;

use capm3_lab::Lab;
use serde_json::{Value, json};
use wire::{Answer, NEW, OLD, create, lab, object, patch, read_as, try_create};

/// A template with this spec; what only the older version requires is there.
fn template(version: &str, mut spec: Value) -> Value {
    if version == OLD {
        spec["clusterName"] = json!("c");
    }
    object(version, "Metal3DataTemplate", spec)
}

async fn offer(lab: &Lab, version: &str, spec: Value) -> Answer {
    try_create(lab, &template(version, spec)).await
}

fn assert_refused(answer: &Answer, words: &str, what: &str) {
    assert_eq!(answer.code, 422, "{what}: {}", answer.message());
    assert!(answer.message().contains(words), "{what}: {}", answer.message());
}

/// An object kind other than the three is refused by the schema, in each list that names one.
#[tokio::test(start_paused = true)]
async fn s92_another_kind_of_object_is_refused() {
    let lab = lab().await;
    for version in [OLD, NEW] {
        for (list, more) in [
            ("objectNames", json!({})),
            ("fromLabels", json!({"label": "l"})),
            ("fromAnnotations", json!({"annotation": "a"})),
        ] {
            for (object, good) in
                [("machine", true), ("metal3machine", true), ("baremetalhost", true), ("node", false)]
            {
                let mut item = json!({"key": "k", "object": object});
                item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let answer = offer(&lab, version, json!({"metaData": {list: [item]}})).await;
                let what = format!("{version} {list} {object}");
                if good {
                    assert_eq!(answer.code, 201, "{what}: {}", answer.message());
                } else {
                    assert_refused(&answer, &format!("spec.metaData.{list}[0].object"), &what);
                }
            }
        }
    }
}

/// A negative offset or step is refused in both versions.
#[tokio::test(start_paused = true)]
async fn s94_a_negative_offset_or_step_is_refused() {
    let lab = lab().await;
    for version in [OLD, NEW] {
        for member in ["offset", "step"] {
            let spec = |number: i32| json!({"metaData": {"indexes": [{"key": "i", member: number}]}});
            let answer = offer(&lab, version, spec(-1)).await;
            assert_refused(&answer, &format!("spec.metaData.indexes[0].{member}"), version);
            assert_eq!(offer(&lab, version, spec(1)).await.code, 201, "{version} {member}");
        }
    }
}

/// A pool of which only key and name are given is accepted in both versions.
#[tokio::test(start_paused = true)]
async fn s99_a_pool_needs_only_key_and_name() {
    let lab = lab().await;
    for (version, ending) in [(OLD, "FromIPPool"), (NEW, "FromPool")] {
        for list in ["ipAddresses", "prefixes", "gateways", "dnsServers"] {
            let spec = json!({"metaData": {format!("{list}{ending}"): [{"key": "k", "name": "p"}]}});
            let answer = offer(&lab, version, spec).await;
            assert_eq!(answer.code, 201, "{version} {list}: {}", answer.message());
        }
    }
}

/// An item without key is refused, whichever list it is in.
#[tokio::test(start_paused = true)]
async fn s103_an_item_without_key_is_refused() {
    let lab = lab().await;
    for (list, item) in [
        ("strings", json!({"value": "v"})),
        ("objectNames", json!({"object": "machine"})),
        ("indexes", json!({"offset": 1})),
        ("namespaces", json!({})),
        ("ipAddresses", json!({"subnet": "10.0.0.0/24"})),
        ("ipAddressesFromPool", json!({"name": "p"})),
        ("prefixesFromPool", json!({"name": "p"})),
        ("gatewaysFromPool", json!({"name": "p"})),
        ("dnsServersFromPool", json!({"name": "p"})),
        ("fromHostInterfaces", json!({"interface": "eth0"})),
        ("fromLabels", json!({"object": "machine", "label": "l"})),
        ("fromAnnotations", json!({"object": "machine", "annotation": "a"})),
    ] {
        let answer = offer(&lab, NEW, json!({"metaData": {list: [item]}})).await;
        assert_refused(&answer, &format!("spec.metaData.{list}[0].key: Required value"), list);
        let mut with_key = item;
        with_key["key"] = json!("k");
        let answer = offer(&lab, NEW, json!({"metaData": {list: [with_key]}})).await;
        assert_eq!(answer.code, 201, "{list}: {}", answer.message());
    }
}

fn links(list: &str, link: Value) -> Value {
    json!({"networkData": {"links": {list: [link]}}})
}

/// Nine types of an ethernet are accepted, every other one is refused, in both versions.
#[tokio::test(start_paused = true)]
async fn s109_the_types_of_an_ethernet() {
    let lab = lab().await;
    for version in [OLD, NEW] {
        let ethernet = |type_: &str| {
            links("ethernets", json!({"id": "e", "type": type_, "macAddress": {"fromHostInterface": "e"}}))
        };
        for type_ in ["bridge", "dvs", "hw_veb", "hyperv", "ovs", "tap", "vhostuser", "vif", "phy"] {
            let answer = offer(&lab, version, ethernet(type_)).await;
            assert_eq!(answer.code, 201, "{version} {type_}: {}", answer.message());
        }
        let answer = offer(&lab, version, ethernet("ethernet")).await;
        assert_refused(&answer, "spec.networkData.links.ethernets[0].type", version);
    }
}

/// Seven modes of a bond are accepted; `802.1ad`, which is none, is refused.
#[tokio::test(start_paused = true)]
async fn s114_the_modes_of_a_bond() {
    let lab = lab().await;
    for version in [OLD, NEW] {
        let bond = |mode: &str| {
            let mac = json!({"fromHostInterface": "e"});
            links("bonds", json!({"id": "b", "bondMode": mode, "macAddress": mac, "bondLinks": ["e"]}))
        };
        for mode in [
            "802.3ad",
            "balance-rr",
            "active-backup",
            "balance-xor",
            "broadcast",
            "balance-tlb",
            "balance-alb",
        ] {
            let answer = offer(&lab, version, bond(mode)).await;
            assert_eq!(answer.code, 201, "{version} {mode}: {}", answer.message());
        }
        let answer = offer(&lab, version, bond("802.1ad")).await;
        assert_refused(&answer, "spec.networkData.links.bonds[0].bondMode", version);
    }
}

/// A bond needs no parameters.
#[tokio::test(start_paused = true)]
async fn s116_a_bond_without_parameters_is_accepted() {
    let lab = lab().await;
    let bond = json!({"id": "b", "bondMode": "802.3ad", "bondLinks": ["e"], "macAddress": {"fromHostInterface": "e"}});
    for version in [OLD, NEW] {
        let answer = offer(&lab, version, links("bonds", bond.clone())).await;
        assert_eq!(answer.code, 201, "{version}: {}", answer.message());
    }
}

/// What a template renders cannot be edited; the refusal proposes a new template that goes on with the indexes.
#[tokio::test(start_paused = true)]
async fn s186_an_edit_is_refused_and_a_new_template_is_proposed() {
    let lab = lab().await;
    let spec = json!({"metaData": {"strings": [{"key": "a", "value": "1"}]},
        "networkData": {"services": {"dns": ["8.8.8.8"]}}});
    let template = template(NEW, spec);
    assert_eq!(create(&lab, &template).await.code, 201);
    for (change, field) in [
        (json!({"metaData": {"strings": [{"key": "a", "value": "2"}]}}), "spec.MetaData"),
        (json!({"networkData": {"services": {"dns": ["9.9.9.9"]}}}), "spec.NetworkData"),
        (json!({"networkData": null}), "spec.NetworkData"),
    ] {
        let refused = patch(&lab, &template, &json!({"spec": change})).await;
        assert_refused(&refused, field, field);
        for words in ["Create a new Metal3DataTemplate", "templateReference"] {
            assert!(refused.message().contains(words), "{}", refused.message());
        }
    }
    assert_eq!(read_as(&lab, &template, NEW).await["spec"]["metaData"]["strings"][0]["value"], "1");
}

/// Metadata and network data have no kinds of their own; one template holds one of them, both or none, and is fixed.
#[tokio::test(start_paused = true)]
async fn s195_one_kind_of_template_for_one_part_or_both() {
    let lab = lab().await;
    for kind in ["Metal3MetaData", "Metal3MetaDataTemplate", "Metal3NetworkData", "Metal3NetworkDataTemplate"]
    {
        let answer = try_create(&lab, &object(NEW, kind, json!({}))).await;
        assert_eq!(answer.code, 404, "{kind}: {}", answer.message());
    }
    let meta_data = json!({"strings": [{"key": "a", "value": "1"}]});
    let network_data = json!({"services": {"dns": ["8.8.8.8"]}});
    for spec in [
        json!({"metaData": meta_data}),
        json!({"networkData": network_data}),
        json!({"metaData": meta_data, "networkData": network_data}),
        json!({}),
    ] {
        let answer = offer(&lab, NEW, spec.clone()).await;
        assert_eq!(answer.code, 201, "{spec}: {}", answer.message());
    }
}

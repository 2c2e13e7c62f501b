//! Addresses that follow the index, without any pool.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{data::*, *};
use serde_json::{Value, json};

/// The printed template of the first design: ranges in metadata and in both families of networks.
fn printed() -> Value {
    let v4 = json!({"start": "192.168.0.10", "end": "192.168.0.100", "subnet": "192.168.0.0/24", "step": 1});
    let v6 = json!({"start": "2001:0db8:85a3::8a2e:0370:a", "end": "2001:0db8:85a3::8a2e:0370:fff0",
        "subnet": "2001:0db8:85a3::8a2e:0370:0/64", "step": 10});
    let mut key = v4.clone();
    key["key"] = json!("ip");
    json!({
        "metaData": {"ipAddresses": [key], "indexes": [{"key": "index"}]},
        "networkData": {
            "links": {"ethernets": [{"id": "eno1", "type": "phy", "macAddress": {"fromHostInterface": "eno1"}}]},
            "networks": {
                "ipv4": [{"id": "Baremetal", "link": "eno1", "ipAddress": v4}],
                "ipv6": [{"id": "Baremetal6", "link": "eno1", "ipAddress": v6}]}}})
}

fn without_pool(size: usize, spec: Value) -> Vec<capm3_lab::manifests::Manifest> {
    let mut manifests = workers(size, spec);
    take_out(&mut manifests, "IPPool", "fleet");
    manifests
}

fn addresses(document: &str) -> Vec<String> {
    let lines = document.lines().filter_map(|line| line.trim_start().strip_prefix("ip_address: "));
    lines.map(|address| address.trim_matches('\'').to_owned()).collect()
}

/// The printed template of the older design, ranges written into it, renders without any address manager.
#[tokio::test(start_paused = true)]
async fn s81_a_template_with_ranges_renders_without_an_address_manager() {
    let lab = settled(&without_pool(2, printed())).await;
    let rendered = rendered(&lab);
    assert_eq!(rendered.len(), 2);
    assert!(
        rendered[1].1.starts_with("index: \"1\"\nip: 192.168.0.11\nproviderid: fleet/"),
        "{}",
        rendered[1].1
    );
    let network_data = rendered[1].2.split_once("networks:\n").unwrap().1;
    assert_eq!(
        network_data,
        "- id: Baremetal\n  ip_address: 192.168.0.11\n  link: eno1\n  netmask: 255.255.255.0\n  routes: []\n  type: ipv4\n\
         - id: Baremetal6\n  ip_address: 2001:db8:85a3::8a2e:370:14\n  link: eno1\n  netmask: 'ffff:ffff:ffff:ffff::'\n  \
         routes: []\n  type: ipv6\nservices: []\n"
    );
}

/// A list of ranges in metadata gives start + index x step.
#[tokio::test(start_paused = true)]
async fn s131_ranges_in_metadata_follow_the_index() {
    let range = json!({"key": "ip", "start": "10.0.0.10", "end": "10.0.0.90", "step": 10});
    let lab = settled(&without_pool(3, json!({"metaData": {"ipAddresses": [range]}}))).await;
    assert_eq!(values(&lab, "ip"), ["10.0.0.10", "10.0.0.20", "10.0.0.30"]);
}

/// One range in metadata and network gives a node one and the same address.
#[tokio::test(start_paused = true)]
async fn s142_one_range_in_both_documents_gives_one_address() {
    let lab = settled(&without_pool(3, printed())).await;
    assert_eq!(rendered(&lab).len(), 3);
    for (index, meta_data, network_data) in rendered(&lab) {
        let expected = format!("192.168.0.{}", 10 + index);
        assert_eq!(value(&meta_data, "ip"), expected);
        assert_eq!(addresses(&network_data)[0], expected);
    }
}

/// The range of a network as printed gives the machine of index 0 192.168.0.10, that of index 1 .11 and that of index 90
/// .100, the last one, each with the mask of the subnet.
#[tokio::test(start_paused = true)]
async fn s133_the_printed_range_gives_nodes_the_addresses_from_start_to_end() {
    let mut spec = printed();
    spec["networkData"]["networks"].as_object_mut().unwrap().remove("ipv6");
    let lab = settled(&without_pool(91, spec)).await;
    let rendered = rendered(&lab);
    assert_eq!(rendered.len(), 91);
    for (index, address) in [(0, "192.168.0.10"), (1, "192.168.0.11"), (90, "192.168.0.100")] {
        let (_, _, network_data) = rendered.iter().find(|row| row.0 == index).unwrap();
        let network = format!("  ip_address: {address}\n  link: eno1\n  netmask: 255.255.255.0\n");
        assert!(network_data.contains(&network), "index {index}: {network_data}");
    }
}

/// The one worker with index 5.
fn with_index_5(lab: &capm3_lab::Lab) -> String {
    let mut found: Vec<String> = worker_machines(lab).iter().map(|m| name(m)).collect();
    found.retain(|machine| data_of(lab, machine)["spec"]["index"] == 5);
    assert_eq!(found.len(), 1, "{found:?} have index 5");
    found.remove(0)
}

/// The node with index 5 is replaced: its successor gets index 5 and exactly its address, whether it comes after the old
/// machine is gone or, where every address is in use, is there before.
#[tokio::test(start_paused = true)]
async fn s143_a_successor_gets_the_address_of_its_predecessor() {
    for is_range_full in [false, true] {
        let mut spec = printed();
        if is_range_full {
            let end = json!("192.168.0.16");
            spec["metaData"]["ipAddresses"][0]["end"] = end.clone();
            spec["networkData"]["networks"]["ipv4"][0]["ipAddress"]["end"] = end;
        }
        let mut manifests = without_pool(7, spec);
        // A spare host, so that the successor does not have to wait for the old one.
        manifests.extend(capm3_lab::fleet::fleet(8).into_iter().filter(|m| m.key().name == "host-00008"));
        let lab = settled(&manifests).await;
        assert_eq!(rendered(&lab).len(), 7);
        let fifth = with_index_5(&lab);
        if is_range_full {
            delete_machine(&lab, &fifth).await;
        } else {
            let chosen = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}});
            lab.patch(&capi("Machine"), &here(&fifth), &chosen).await.unwrap();
            scale(&lab, 6).await;
            scale(&lab, 7).await;
        }
        assert!(lab.object("Metal3Machine", &fifth).is_none());
        assert_eq!(worker_machines(&lab).len(), 7);
        let successor = with_index_5(&lab);
        assert_ne!(successor, fifth);
        let meta_data = secret(&lab, &format!("{successor}-metadata"), "metaData").unwrap();
        let network_data = secret(&lab, &format!("{successor}-networkdata"), "networkData").unwrap();
        assert_eq!(value(&meta_data, "ip"), "192.168.0.15");
        assert_eq!(addresses(&network_data)[0], "192.168.0.15");
        assert!(all_ready(&lab), "range full: {is_range_full}");
    }
}

/// Nobody is asked for an address, and none is claimed.
#[tokio::test(start_paused = true)]
async fn s144_static_addresses_need_no_address_manager() {
    let lab = settled(&without_pool(1, printed())).await;
    assert!(all_ready(&lab));
    for kind in ["IPPool", "IPClaim", "IPAddress", "IPAddressClaim"] {
        assert!(lab.objects(kind).is_empty(), "{kind}");
    }
}

/// A machine beyond the last address gets no Secret; data, claim and event say path, index, address and bound.
#[tokio::test(start_paused = true)]
async fn s134_an_index_beyond_the_range_is_reported_on_data_and_claim() {
    let range = json!({"start": "192.168.0.10", "end": "192.168.0.11", "subnet": "192.168.0.0/24"});
    let spec = json!({"networkData": {"networks": {"ipv4": [{"id": "Baremetal", "link": "eno1", "ipAddress": range}]}}});
    let lab = settled(&without_pool(3, spec)).await;
    let words = "IP address out of bounds: networkData.networks.ipv4[0] (Baremetal): \
                 index 2, step 1 gives 192.168.0.12, end is 192.168.0.11";
    let data = get(&lab, "Metal3Data", "fleet-2");
    assert_eq!(data["status"]["ready"], json!(false));
    assert_eq!(text(&data, "/status/errorMessage"), words);
    assert_eq!(condition(&data, "Ready"), ("False".into(), "IPAllocationFailed".into()));
    let machine = text(&data, "/spec/claim/name");
    let claim = get(&lab, "Metal3DataClaim", &machine);
    assert_eq!(text(&claim, "/status/errorMessage"), words);
    assert_eq!(condition(&claim, "Ready"), ("False".into(), "IPAllocationFailed".into()));
    let reported = format!(
        "IPAllocationFailed: Metal3DataTemplate fleet: {words}; ask for fewer machines, or widen the range in a new \
         Metal3DataTemplate (templateReference: that of the old template or, if it has none, the name of the old template) and roll out a Metal3MachineTemplate that \
         refers to it"
    );
    assert_eq!(warnings(&lab, "Metal3Data", "fleet-2"), [reported]);
    assert!(lab.object("Secret", &format!("{machine}-networkdata")).is_none());
    let message = get(&lab, "Metal3Machine", &machine).to_string();
    assert!(message.contains("end is 192.168.0.11"), "the machine says it too: {message}");
}

/// Demonstration 4: 92 machines on the printed template; 91 have the addresses .10 to .100, the 92nd says why it has
/// none; when a machine goes, its index and address are taken again, and the one that waited goes on by itself.
#[tokio::test(start_paused = true)]
async fn demonstration_4_ranges_without_an_address_manager() {
    let mut spec = printed();
    spec["networkData"]["networks"].as_object_mut().unwrap().remove("ipv6");
    let lab = settled(&without_pool(92, spec)).await;
    let rendered_now = rendered(&lab);
    let expected: Vec<String> = (10..=100).map(|n| format!("192.168.0.{n}")).collect();
    let given: Vec<String> = rendered_now.iter().flat_map(|(_, _, document)| addresses(document)).collect();
    assert_eq!(given, expected);
    let last = get(&lab, "Metal3Data", "fleet-91");
    assert!(text(&last, "/status/errorMessage").contains("index 91, step 1 gives 192.168.0.101"));
    let waiting = text(&last, "/spec/claim/name");
    let gone = text(&get(&lab, "Metal3Data", "fleet-40"), "/spec/claim/name");
    // One machine less: the one that waited takes the place.
    let patch = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}});
    lab.patch(&capi("Machine"), &here(&gone), &patch).await.unwrap();
    lab.patch(&capi("MachineDeployment"), &here("workers"), &json!({"spec": {"replicas": 91}}))
        .await
        .unwrap();
    rest(&lab).await;
    assert!(lab.object("Metal3Machine", &gone).is_none(), "the machine that was asked for went");
    assert_eq!(data_of(&lab, &waiting)["spec"]["index"], 40);
    let given: Vec<String> = rendered(&lab).iter().flat_map(|(_, _, document)| addresses(document)).collect();
    assert_eq!(given, expected, "every address is used again");
    assert!(all_ready(&lab));
    assert!(lab.object("Metal3Data", "fleet-91").is_none());
}

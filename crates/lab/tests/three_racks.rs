//! The example: three racks, each with its own VLAN, subnet and addresses.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;

use capm3_lab::{Lab, report::report};
use common::*;
use serde_json::{Value, json};

/// The Metal3Machine whose host stands in a rack, by rack, for machines of that name.
fn by_rack(lab: &Lab, prefix: &str) -> BTreeMap<String, Vec<String>> {
    let mut racks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in report(lab, 0).machines {
        if row.name.starts_with(prefix) {
            racks.entry(row.failure_domain.unwrap_or_default()).or_default().push(row.name);
        }
    }
    racks
}

const RACK_1_NETWORK_DATA: &str = "\
links:
- ethernet_mac_address: 52:54:00:aa:01:01
  id: enp1s0
  mtu: 1500
  type: phy
- id: enp1s0.100
  mtu: 1500
  type: vlan
  vlan_id: 100
  vlan_link: enp1s0
  vlan_mac_address: 52:54:00:aa:01:01
networks:
- id: rack1-net
  ip_address: 10.0.1.10
  link: enp1s0.100
  netmask: 255.255.255.0
  routes:
  - gateway: 10.0.1.1
    netmask: 0.0.0.0
    network: 0.0.0.0
    services: []
  type: ipv4
services:
- address: 8.8.8.8
  type: dns
";

#[tokio::test(start_paused = true)]
async fn the_network_data_of_the_rack1_control_plane_machine_is_exact_to_the_byte() {
    let lab = settled(&three_racks()).await;
    let machine = by_rack(&lab, "my-cluster-cp")["rack1"][0].clone();
    let document = secret(&lab, &format!("{machine}-networkdata"), "networkData");
    assert_eq!(document.as_deref(), Some(RACK_1_NETWORK_DATA));
    let given = lab.world().node_data(&key("rack1-host-1")).unwrap();
    assert_eq!(given.network_data.as_deref(), Some(RACK_1_NETWORK_DATA), "what the node itself finds");
}

#[tokio::test(start_paused = true)]
async fn every_machine_has_the_vlan_and_subnet_of_its_hosts_rack_and_nothing_is_used_twice() {
    let lab = settled(&three_racks()).await;
    let report = report(&lab, 0);
    assert_eq!(report.machines.len(), 6);
    assert_eq!(report.duplicates(), Vec::<String>::new());
    for row in &report.machines {
        let rack = row.failure_domain.as_deref().unwrap().strip_prefix("rack").unwrap().to_owned();
        let number: i64 = rack.parse().unwrap();
        assert_eq!(row.vlans, [number * 100], "{row:?}");
        assert!(row.addresses[0].starts_with(&format!("10.0.{number}.")), "{row:?}");
        assert_eq!(row.data_template.as_deref(), Some(format!("m3dt-rack{number}").as_str()));
        let host = row.host.as_deref().unwrap();
        assert_eq!(row.provider_id.as_deref(), Some(format!("metal3://metal3/{host}/{}", row.name).as_str()));
        assert!(row.ready, "{row:?}");
    }
}

/// Three IPPools are accepted as printed, and the first address of each is 10.0.N.10.
#[tokio::test(start_paused = true)]
async fn s198_pools_are_accepted_as_printed_and_start_at_ten() {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "MachineDeployment");
    let lab = settled(&manifests).await;
    let addresses: Vec<String> = lab.objects("IPAddress").iter().map(|a| text(a, "/spec/address")).collect();
    assert_eq!(addresses, ["10.0.1.10", "10.0.2.10", "10.0.3.10"]);
    let pool = get(&lab, "IPPool", "pool-rack2");
    let claimed: Vec<_> =
        pool.pointer("/status/indexes").and_then(Value::as_object).unwrap().values().collect();
    assert_eq!(claimed, [&json!("10.0.2.10")]);
}

/// With failure domains rack1 to rack3 and labelled hosts, the control plane is spread and each host is in its rack.
#[tokio::test(start_paused = true)]
async fn s203_the_control_plane_is_spread_over_the_racks() {
    let lab = settled(&three_racks()).await;
    let domains =
        get(&lab, "Metal3Cluster", "my-cluster").pointer("/status/failureDomains").cloned().unwrap();
    assert_eq!(domains.as_array().map(Vec::len), Some(3));
    let racks = by_rack(&lab, "my-cluster-cp");
    assert_eq!(racks.keys().collect::<Vec<_>>(), ["rack1", "rack2", "rack3"]);
    for (rack, names) in racks {
        assert_eq!(text(&get(&lab, "Machine", &names[0]), "/spec/failureDomain"), rack);
    }
}

/// The failure domain of a Machine is copied to its Metal3Machine.
#[tokio::test(start_paused = true)]
async fn s204_the_failure_domain_of_the_machine_is_copied() {
    let lab = settled(&three_racks()).await;
    assert_eq!(machines(&lab, "my-cluster-cp").len(), 3);
    for machine in machines(&lab, "my-cluster-cp") {
        let assigned = text(&get(&lab, "Machine", &name(&machine)), "/spec/failureDomain");
        assert!(!assigned.is_empty());
        assert_eq!(text(&machine, "/spec/failureDomain"), assigned);
        assert_eq!(
            text(&machine, "/status/failureDomain"),
            assigned,
            "where it really stands is reported too"
        );
    }
}

/// A domain in the map replaces `spec.dataTemplate`, stored before the claim is made.
#[tokio::test(start_paused = true)]
async fn s205_mapped_domain_replaces_data_template_before_the_claim() {
    let (lab, moments) = Moments::lab("/metal3dataclaims", |server, machine| {
        let asked = stored(server, "Metal3Machine", machine, "/spec/dataTemplate/name");
        let claimed = stored(server, "Metal3DataClaim", machine, "/spec/template/name");
        format!("{}: {asked} {claimed}", asked == claimed)
    })
    .await;
    lab.apply(&three_racks()).await.unwrap();
    rest(&lab).await;
    let moments = moments.seen();
    assert_eq!(moments.len(), 6);
    assert!(moments.iter().all(|m| m.starts_with("true: m3dt-rack")), "{moments:?}");
    for machine in lab.objects("Metal3Machine") {
        let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("metal3/", "");
        let label = "/metadata/labels/infrastructure.cluster.x-k8s.io~1failure-domain";
        let rack = text(&get(&lab, "BareMetalHost", &host), label);
        assert_eq!(text(&machine, "/spec/dataTemplate/name"), format!("m3dt-{rack}"));
    }
}

/// A domain that is not in the map, or no domain at all, leaves the default data template of the
/// Metal3MachineTemplate.
#[tokio::test(start_paused = true)]
async fn s206_an_unmapped_domain_keeps_the_default_template() {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "MachineDeployment");
    let only_rack2 = json!({"spec": {"failureDomainDataTemplates": [
        {"failureDomain": "rack2", "dataTemplate": {"name": "m3dt-rack2", "namespace": "metal3"}}]}});
    change(&mut manifests, "Metal3MachineTemplate", "my-cluster-cp", &only_rack2);
    let no_label = json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/failure-domain": null}}});
    change(&mut manifests, "BareMetalHost", "rack3-host-1", &no_label);
    let lab = settled(&manifests).await;
    let templates: BTreeMap<String, String> = machines(&lab, "my-cluster-cp")
        .iter()
        .map(|m| {
            let host = text(m, "/metadata/annotations/metal3.io~1BareMetalHost");
            (host, text(m, "/spec/dataTemplate/name"))
        })
        .collect();
    assert_eq!(templates["metal3/rack1-host-1"], "m3dt-rack1", "rack1 is not mapped: the default");
    assert_eq!(templates["metal3/rack2-host-1"], "m3dt-rack2");
    assert_eq!(templates["metal3/rack3-host-1"], "m3dt-rack1", "neither label nor mapping: the default");
}

/// The other half: neither the machine nor its host has a domain.
#[tokio::test(start_paused = true)]
async fn s206_without_any_domain_the_default_template_stays() {
    let mut manifests = three_racks();
    let no_label = json!({"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/failure-domain": null}}});
    let hosts: Vec<String> =
        manifests.iter().filter(|m| m.kind() == "BareMetalHost").map(|m| m.key().name).collect();
    for host in hosts {
        change(&mut manifests, "BareMetalHost", &host, &no_label);
    }
    // Not the first of the map, so that a guess would show.
    let default = json!({"spec": {"template": {"spec": {"dataTemplate": {"name": "m3dt-rack3"}}}}});
    change(&mut manifests, "Metal3MachineTemplate", "my-cluster-workers", &default);
    let lab = settled(&manifests).await;
    let workers = machines(&lab, "my-cluster-workers");
    assert_eq!(workers.len(), 3);
    for machine in workers {
        assert_eq!(machine.pointer("/spec/failureDomain"), None);
        assert_eq!(text(&machine, "/spec/dataTemplate/name"), "m3dt-rack3");
        assert_eq!(condition(&machine, "Ready").0, "True");
    }
}

/// The Secret of a rack1 machine has VLAN 100, an address of 10.0.1.0/24, gateway 10.0.1.1 and DNS 8.8.8.8; rack2
/// and rack3 alike with 200 and 300.
#[tokio::test(start_paused = true)]
async fn s208_each_rack_has_its_own_network() {
    let lab = settled(&three_racks()).await;
    let racks = by_rack(&lab, "my-cluster");
    assert_eq!(racks.keys().collect::<Vec<_>>(), ["rack1", "rack2", "rack3"]);
    assert_eq!(racks.values().map(Vec::len).sum::<usize>(), 6);
    for (rack, names) in racks {
        let number = rack.strip_prefix("rack").unwrap();
        for machine in names {
            let document = secret(&lab, &format!("{machine}-networkdata"), "networkData").unwrap();
            for part in [
                format!("vlan_id: {number}00\n"),
                format!("ip_address: 10.0.{number}."),
                "netmask: 255.255.255.0\n".to_owned(),
                format!("gateway: 10.0.{number}.1\n"),
                "address: 8.8.8.8\n".to_owned(),
            ] {
                assert!(document.contains(&part), "{machine} lacks {part}:\n{document}");
            }
        }
    }
}

/// Templates without metaData make no metadata Secret and leave the host's metaData unset.
#[tokio::test(start_paused = true)]
async fn s209_templates_without_meta_data_make_no_meta_data_secret() {
    let lab = settled(&three_racks()).await;
    let secrets: Vec<String> = lab.objects("Secret").iter().map(|s| name(s)).collect();
    assert!(secrets.iter().any(|s| s.ends_with("-networkdata")));
    assert!(!secrets.iter().any(|s| s.ends_with("-metadata")), "{secrets:?}");
    for host in lab.objects("BareMetalHost") {
        assert!(host.pointer("/spec/metaData").is_none());
    }
}

//! Values that reach a node: those of its own, those of the user, and an upgrade to them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{collections::BTreeSet, sync::Arc};

use capm3_lab::{Lab, fleet::fleet, manifests::Manifest};
use common::{data::*, *};
use serde_json::{Value, json};

/// A pool of each family, with a gateway and servers.
fn two_pools() -> [Manifest; 2] {
    let v4 = json!({"start": "10.0.0.10", "end": "10.0.0.99", "prefix": 24, "gateway": "10.0.0.1",
        "dnsServers": ["10.0.0.2", "10.0.0.3"]});
    // Written with zeros that nobody needs: what is given out is written the short way.
    let v6 = json!({"start": "2001:0db8:0000::0010", "end": "2001:0db8:0000::0099", "prefix": 64,
        "gateway": "2001:db8::1", "dnsServers": ["2001:db8::2"]});
    [
        pool("v4", &json!({"namePrefix": "v4", "pools": [v4]})),
        pool("v6", &json!({"namePrefix": "v6", "pools": [v6]})),
    ]
}

async fn one_worker(spec: Value) -> (String, String) {
    let mut manifests = workers(1, spec);
    manifests.splice(1..1, two_pools());
    let lab = settled(&manifests).await;
    assert!(all_ready(&lab));
    let (_, meta_data, network_data) = rendered(&lab).remove(0);
    (meta_data, network_data)
}

/// The DNS servers of a pool reach the node's metadata, joined by commas; from a pool of each family.
#[tokio::test(start_paused = true)]
async fn s98_dns_servers_of_a_pool_reach_the_metadata() {
    let servers = json!([{"key": "dns4", "name": "v4"}, {"key": "dns6", "name": "v6"}]);
    let (meta_data, _) = one_worker(json!({"metaData": {"dnsServersFromPool": servers}})).await;
    assert_eq!(value(&meta_data, "dns4"), "10.0.0.2,10.0.0.3");
    assert_eq!(value(&meta_data, "dns6"), "2001:db8::2");
}

/// A static network of each family has the address that its pool gave, written the short way, and the pool's mask.
#[tokio::test(start_paused = true)]
async fn s120_static_networks_have_addresses_of_their_pools() {
    let network = |pool: &str| json!([{"id": pool, "link": "eno1", "ipAddressFromIPPool": pool}]);
    let spec = json!({"networkData": {"networks": {"ipv4": network("v4"), "ipv6": network("v6")}}});
    let (_, network_data) = one_worker(spec).await;
    assert_eq!(
        network_data,
        "links: []\nnetworks:\n- id: v4\n  ip_address: 10.0.0.10\n  link: eno1\n  netmask: 255.255.255.0\n  routes: []\n  \
         type: ipv4\n- id: v6\n  ip_address: 2001:db8::10\n  link: eno1\n  netmask: 'ffff:ffff:ffff:ffff::'\n  routes: []\n  \
         type: ipv6\nservices: []\n"
    );
}

/// Servers of a pool reach a route and the node, after those that the template lists.
#[tokio::test(start_paused = true)]
async fn s129_dns_servers_of_a_pool_reach_routes_and_node() {
    let services = json!({"dns": ["2001:db8::99"], "dnsFromIPPool": "v6"});
    let route = json!({"network": "::", "gateway": {"fromIPPool": "v6"}, "services": services});
    let network = json!([{"id": "net", "link": "eno1", "routes": [route]}]);
    let spec = json!({"networkData": {"networks": {"ipv6SLAAC": network}, "services": services}});
    let (_, network_data) = one_worker(spec).await;
    let document: Value = serde_saphyr::from_str(&network_data).unwrap();
    let expected =
        json!([{"address": "2001:db8::99", "type": "dns"}, {"address": "2001:db8::2", "type": "dns"}]);
    assert_eq!(document["services"], expected);
    assert_eq!(document["networks"][0]["routes"][0]["services"], expected);
    assert_eq!(document["networks"][0]["routes"][0]["gateway"], "2001:db8::1");
}

/// Names and addresses of all machines, control plane and workers; no two share one.
fn own_values(lab: &Lab) -> BTreeSet<(String, String)> {
    let of = |machine: &Arc<Value>| {
        let machine = name(machine);
        let meta_data = secret(lab, &format!("{machine}-metadata"), "metaData").unwrap();
        let network_data = secret(lab, &format!("{machine}-networkdata"), "networkData").unwrap();
        let address =
            network_data.lines().find_map(|l| l.trim().strip_prefix("ip_address: ")).unwrap().to_owned();
        let index = data_of(lab, &machine)["spec"]["index"].as_i64().unwrap();
        let node = value(&meta_data, "name");
        assert!(node.ends_with(&format!("-{index}")), "{node} of index {index}");
        (node, address)
    };
    let machines = lab.objects("Metal3Machine");
    let all: BTreeSet<(String, String)> = machines.iter().map(of).collect();
    let count = |part: fn(&(String, String)) -> &String| all.iter().map(part).collect::<BTreeSet<_>>().len();
    assert_eq!((count(|v| &v.0), count(|v| &v.1)), (machines.len(), machines.len()), "{all:?}");
    all
}

/// Three workers of a MachineDeployment and three machines of a control plane each get values of their own, metadata and
/// network, and so do the machines that replace them in an upgrade.
#[tokio::test(start_paused = true)]
async fn s188_every_node_has_its_own_values_through_an_upgrade() {
    let spec = |prefix: &str| {
        json!({"metaData": {"indexes": [{"key": "name", "prefix": prefix}]},
            "networkData": {"networks": {"ipv4": [{"id": "net", "link": "eno1", "ipAddressFromIPPool": "fleet"}]}}})
    };
    let mut manifests = fleet(8);
    replace(&mut manifests, "Metal3DataTemplate", "fleet", spec("worker-"));
    manifests.insert(1, ours("Metal3DataTemplate", "control-plane", &spec("control-")));
    let data = json!({"spec": {"template": {"spec": {"dataTemplate": {"name": "control-plane"}}}}});
    change(&mut manifests, "Metal3MachineTemplate", "control-plane", &data);
    change(&mut manifests, "MachineDeployment", "workers", &json!({"spec": {"replicas": 3}}));
    change(&mut manifests, "KubeadmControlPlane", "control-plane", &json!({"spec": {"replicas": 3}}));
    let lab = settled(&manifests).await;
    let names = |values: &BTreeSet<(String, String)>| values.iter().map(|v| v.0.clone()).collect::<Vec<_>>();
    let before = own_values(&lab);
    assert_eq!(names(&before), ["control-0", "control-1", "control-2", "worker-0", "worker-1", "worker-2"]);
    let old: BTreeSet<String> = lab.objects("Metal3Machine").iter().map(|m| name(m)).collect();
    let workers = json!({"spec": {"template": {"spec": {"version": "v1.36.1"}}}});
    lab.patch(&capi("MachineDeployment"), &here("workers"), &workers).await.unwrap();
    let kind = manifest("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", "", &json!({}));
    lab.patch(&kind.resource(), &here("control-plane"), &json!({"spec": {"version": "v1.36.1"}}))
        .await
        .unwrap();
    rest(&lab).await;
    let new: BTreeSet<String> = lab.objects("Metal3Machine").iter().map(|m| name(m)).collect();
    assert_eq!(new.len(), 6);
    assert!(new.is_disjoint(&old), "every machine was replaced: {old:?} {new:?}");
    let after = own_values(&lab);
    assert_eq!(after.iter().filter(|v| v.0.starts_with("control-")).count(), 3);
    assert_eq!(lab.objects("Metal3Data").len(), 6);
}

/// Network data that a user wrote.
const NETWORK: &str = "links: []\nnetworks: []\nservices:\n- {type: dns, address: 192.0.2.53}\n";

/// What a machine or its host brings of its own reaches cloud-init: Secrets that the machine names, and labels and
/// annotations of the host.
#[tokio::test(start_paused = true)]
async fn s189_values_of_the_user_reach_the_node() {
    let given = json!({"metaData": {"name": "mine"}, "networkData": {"name": "my-net"}});
    for own in [true, false] {
        let from = json!([{"key": "rack", "object": "baremetalhost", "annotation": "example.com/rack"}]);
        let mut manifests = workers(1, json!({"metaData": {"fromAnnotations": from}}));
        for m in manifests.iter_mut().filter(|m| m.kind() == "BareMetalHost") {
            m.object["metadata"]["annotations"]["example.com/rack"] = json!("r7");
        }
        if own {
            let patch = json!({"spec": {"template": {"spec": given}}});
            change(&mut manifests, "Metal3MachineTemplate", "workers", &patch);
            let network = json!({"stringData": {"networkData": NETWORK}});
            manifests.insert(1, manifest("v1", "Secret", "my-net", &network));
            manifests.insert(
                1,
                manifest("v1", "Secret", "mine", &json!({"stringData": {"metaData": "own: value\n"}})),
            );
        }
        let lab = settled(&manifests).await;
        assert!(all_ready(&lab));
        let machine = worker_machines(&lab).remove(0);
        let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("fleet/", "");
        let node = lab.world().node_data(&here(&host)).unwrap();
        if own {
            assert_eq!(node.text("own").as_deref(), Some("value"));
            assert_eq!(text(&get(&lab, "BareMetalHost", &host), "/spec/networkData/name"), "my-net");
            assert_eq!(node.network_data.as_deref(), Some(NETWORK), "the network data of the user too");
        } else {
            assert_eq!(node.text("rack").as_deref(), Some("r7"));
        }
    }
}

/// Data that a user has put on a host reaches the node of a machine that brings none, and is still there when the machine
/// is gone.
#[tokio::test(start_paused = true)]
async fn s189_data_that_a_user_put_on_a_host_reaches_the_node_and_outlives_the_machine() {
    for template in [json!(null), json!({"name": "fleet"})] {
        let mut manifests = workers(1, json!({}));
        let patch = json!({"spec": {"template": {"spec": {"dataTemplate": template}}}});
        change(&mut manifests, "Metal3MachineTemplate", "workers", &patch);
        let data = json!({"metaData": "own: value\n", "networkData": NETWORK});
        manifests.insert(1, manifest("v1", "Secret", "mine", &json!({"stringData": data})));
        for m in manifests.iter_mut().filter(|m| m.kind() == "BareMetalHost") {
            m.object["spec"]["metaData"] = json!({"name": "mine"});
            m.object["spec"]["networkData"] = json!({"name": "mine", "namespace": "fleet"});
        }
        let lab = settled(&manifests).await;
        assert!(all_ready(&lab));
        let machine = worker_machines(&lab).remove(0);
        let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("fleet/", "");
        let node = lab.world().node_data(&here(&host)).unwrap();
        assert_eq!(node.text("own").as_deref(), Some("value"));
        assert_eq!(node.network_data.as_deref(), Some(NETWORK));
        scale(&lab, 0).await;
        let host = get(&lab, "BareMetalHost", &host);
        assert_eq!(text(&host, "/status/provisioning/state"), "available", "{host}");
        assert_eq!(host["spec"]["image"], Value::Null);
        for field in ["metaData", "networkData"] {
            assert_eq!(text(&host, &format!("/spec/{field}/name")), "mine", "{field}");
        }
    }
}

/// Machines that ran before there were data templates are left as they are when the provider that knows them starts, even
/// after a template for such machines was created.
#[tokio::test(start_paused = true)]
async fn s194_machines_without_the_feature_are_untouched_by_an_upgrade() {
    let mut manifests = workers(2, json!({"metaData": {"indexes": [{"key": "i"}]}}));
    let template = take_out(&mut manifests, "Metal3DataTemplate", "fleet");
    let without = json!({"spec": {"template": {"spec": {"dataTemplate": null}}}});
    change(&mut manifests, "Metal3MachineTemplate", "workers", &without);
    let mut lab = settled(&manifests).await;
    assert!(all_ready(&lab));
    lab.stop_providers();
    // What an older release did not write.
    for machine in lab.objects("Metal3Machine") {
        let wiped = json!({"status": {"conditions": null}});
        lab.client()
            .merge_patch(&metal3("Metal3Machine"), &here(&name(&machine)), Some("status"), &wiped)
            .await
            .unwrap();
    }
    let hosts = |lab: &Lab| -> Vec<Value> {
        lab.objects("BareMetalHost")
            .iter()
            .map(|h| json!([h["metadata"]["name"], h["spec"], h["status"]]))
            .collect()
    };
    let specs = |lab: &Lab| -> Vec<Value> {
        lab.objects("Metal3Machine").iter().map(|m| m["spec"].clone()).collect()
    };
    let before = (hosts(&lab), specs(&lab));
    lab.start_provider();
    lab.apply(&[template]).await.unwrap();
    rest(&lab).await;
    assert_eq!((hosts(&lab), specs(&lab)), before);
    assert!(all_ready(&lab));
    for kind in ["Metal3DataClaim", "Metal3Data", "IPClaim"] {
        assert!(lab.objects(kind).is_empty(), "{kind}");
    }
}

//! A small site, and the provider that dies at each of its writes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{play_site, site::Site, tally::Tally};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// The provider is through with the machines after fewer writes.
const WRITES: u64 = 40;

fn object(api_version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "left"}, "spec": spec})
}

fn ours(kind: &str, name: &str, spec: &Value) -> Value {
    object(&format!("{INFRASTRUCTURE}/v1beta2"), kind, name, spec)
}

/// One machine of each deployment. The template that is served first, `one`, gives the data `z-0`, whose claim has a higher
/// name than that of `two-0`.
fn site(dies_at: u64) -> Site {
    let reference = |kind: &str, name: &str| json!({"apiGroup": INFRASTRUCTURE, "kind": kind, "name": name});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "boot", "namespace": "left"},
        "stringData": {"value": "x"}});
    let pool =
        json!({"namePrefix": "p", "prefix": 24, "pools": [{"start": "10.1.0.10", "end": "10.1.0.99"}]});
    let endpoint = json!({"controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443}});
    let mut before = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "left"}}),
        secret,
        object(
            "cluster.x-k8s.io/v1beta2",
            "Cluster",
            "c",
            &json!({"infrastructureRef": reference("Metal3Cluster", "c")}),
        ),
        ours("Metal3Cluster", "c", &endpoint),
        object("ipam.metal3.io/v1alpha1", "IPPool", "p", &pool),
    ];
    for (name, template, key) in [("a", "one", Some("z")), ("b", "two", None)] {
        let data = json!({"templateReference": key, "metaData": {"ipAddressesFromIPPool": [{"key": "ip", "name": "p"}]}, "networkData":
            {"networks": {"ipv4": [{"id": "p", "link": "eno1", "ipAddressFromIPPool": "p"}]},
            "links": {"ethernets": [{"id": "eno1", "type": "phy", "macAddress": {"string": "52:54:00:00:00:01"}}]}}});
        let machine = json!({"image": {"url": "http://192.0.2.1/i", "checksum": "http://192.0.2.1/s"},
            "dataTemplate": {"name": template, "namespace": "left"}});
        let labels = json!({"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/deployment-name": name});
        let spec = json!({"clusterName": "c", "version": "v1.36.0", "bootstrap": {"dataSecretName": "boot"},
            "infrastructureRef": reference("Metal3MachineTemplate", name)});
        let deployment = json!({"clusterName": "c", "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec}});
        before.extend([
            ours("Metal3DataTemplate", template, &data),
            ours("Metal3MachineTemplate", name, &json!({"template": {"spec": machine}})),
            object("cluster.x-k8s.io/v1beta2", "MachineDeployment", name, &deployment),
        ]);
    }
    let host = |number: u64| {
        object(
            "metal3.io/v1alpha1",
            "BareMetalHost",
            &format!("h{number}"),
            &json!({"online": true, "bmc": {"address": format!("redfish+http://192.0.2.1/{number}"), "credentialsName": "boot"}}),
        )
    };
    let (first_hosts, hosts) = (Vec::new(), (0..2).map(host).collect());
    let pause = Duration::from_millis(100);
    Site { before, first_hosts, hosts, changes: Vec::new(), dies_at: Some(dies_at), pause }
}

#[test]
fn the_forecast_is_right_at_whichever_write_the_provider_died() {
    let mut tally = Tally::default();
    (1..=WRITES).for_each(|write| tally.add(write, &play_site(1, &site(write))));
    println!("{tally}");
    tally.assert_that_all_get_data();
    tally.assert_that_nothing_is_wrong();
}

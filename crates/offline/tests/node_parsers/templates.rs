//! Generated manifests: a host that was inspected, pools, and a Metal3DataTemplate.

use serde_json::{Map, Value, json};

use crate::{
    choice::Choice,
    links::{MAC_ANNOTATION, NICS, links},
};

const SERVERS: [&str; 6] =
    ["192.0.2.53", "192.0.2.54", "8.8.8.8", "2001:db8::53", "2001:4860:4860::8888", "10.0.0.2"];

/// All objects.
pub fn objects(choice: &Choice) -> Vec<Value> {
    let nics: Vec<Value> = NICS.iter().map(|(mac, name)| json!({ "mac": mac, "name": name })).collect();
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": { "name": "host-1", "namespace": "ns", "annotations": {
            "inspect.metal3.io/hardwaredetails": json!({ "nics": nics }).to_string(),
            MAC_ANNOTATION: NICS[0].0,
        }},
    });
    let (links, ids) = links(choice);
    let mut data = json!({ "links": links, "networks": networks(choice, &ids) });
    data["services"] = services(choice);
    let template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "Metal3DataTemplate",
        "metadata": { "name": "generated", "namespace": "ns" },
        "spec": { "clusterName": "cluster-1", "networkData": data },
    });
    let mut objects = vec![host, template];
    objects.push(pool("pool-1", "10.0.0", "10.0.0.1", 24, &["192.0.2.53"]));
    objects.push(pool("pool-2", "10.1.0", "10.1.0.1", 26, &[]));
    // The gateway is outside the subnet.
    objects.push(pool("pool-3", "10.2.0", "172.31.1.1", 32, &["192.0.2.54", "2001:db8::53"]));
    objects.push(pool("pool6-1", "2001:db8:1:", "2001:db8:1::1", 64, &["2001:db8::53"]));
    objects.push(pool("pool6-2", "2001:db8:2:", "fe80::1", 64, &[]));
    objects
}

fn pool(name: &str, network: &str, gateway: &str, prefix: u8, servers: &[&str]) -> Value {
    let dot = if network.ends_with(':') { ":" } else { "." };
    json!({
        "apiVersion": "ipam.metal3.io/v1alpha1",
        "kind": "IPPool",
        "metadata": { "name": name, "namespace": "ns" },
        "spec": {
            "namePrefix": name,
            "pools": [{ "start": format!("{network}{dot}10"), "end": format!("{network}{dot}40") }],
            "prefix": prefix,
            "gateway": gateway,
            "dnsServers": servers,
        },
    })
}

fn networks(choice: &Choice, ids: &[String]) -> Value {
    let mut networks: Map<String, Value> = Map::new();
    for at in 0..choice.between(0, 4) {
        let kind = *choice.of(&["ipv4", "ipv4", "ipv4", "ipv6", "ipv6", "ipv4DHCP", "ipv6DHCP", "ipv6SLAAC"]);
        let link = if choice.once_in(30) { "vlan111".to_owned() } else { choice.of(ids).clone() };
        let mut network = json!({ "id": format!("net{at}"), "link": link });
        let v6 = kind.starts_with("ipv6");
        let pool = *choice.of(if v6 {
            &["pool6-1", "pool6-2"][..]
        } else {
            &["pool-1", "pool-1", "pool-2", "pool-3"][..]
        });
        if matches!(kind, "ipv4" | "ipv6") {
            network["ipAddressFromIPPool"] = json!(pool);
        }
        let routes: Vec<Value> = (0..choice.between(0, 2)).map(|_| route(choice, v6, pool)).collect();
        if !routes.is_empty() {
            network["routes"] = Value::Array(routes);
        }
        networks.entry(kind).or_insert_with(|| json!([])).as_array_mut().unwrap().push(network);
    }
    Value::Object(networks)
}

fn route(choice: &Choice, v6: bool, pool: &str) -> Value {
    let targets: &[(&str, u8)] = if v6 {
        &[("::", 0), ("::", 0), ("2001:db8:20::", 48), ("2001:db8:30::1", 128)]
    } else {
        &[("0.0.0.0", 0), ("0.0.0.0", 0), ("10.20.0.0", 16), ("192.168.7.0", 24), ("192.168.8.9", 32)]
    };
    let (network, prefix) = choice.of(targets);
    let gateway = match choice.between(0, 5) {
        0..=3 => json!({ "fromIPPool": pool }),
        4 => json!({ "string": if v6 { "2001:db8:1::fe" } else { "10.0.0.254" } }),
        _ => json!({ "string": if v6 { "2001:db8:99::1" } else { "10.99.0.1" } }),
    };
    let mut route = json!({ "network": network, "prefix": prefix, "gateway": gateway });
    if choice.once_in(4) {
        route["services"] = json!({ "dns": choice.some(&SERVERS[..3], 1) });
    }
    route
}

fn services(choice: &Choice) -> Value {
    match choice.between(0, 5) {
        0..=1 => json!({}),
        2..=3 => json!({ "dns": choice.some(&SERVERS, 1) }),
        4 => json!({ "dnsFromIPPool": "pool-1" }),
        _ => json!({ "dns": choice.some(&SERVERS[..2], 1), "dnsFromIPPool": "pool6-1" }),
    }
}

//! The network data of a machine that does not exist.
//!
//! Takes a template and what its pools would give; gives the document that a machine would get on a host that has every NIC and
//! every annotation that the template asks for. So a template can be judged where no host and no machine is given.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{
    neighbours::{BareMetalHost, HostHardware, HostNic, Machine},
    v1beta2::{
        FromAnnotation, MacAddress, Metal3Data, Metal3DataTemplate, Metal3Machine, NetworkData, Route,
    },
};
use kube::core::ObjectMeta;
use serde_json::Value;

use crate::render::{
    Address, Inputs, Objects, PoolRef, RenderError, network_data_value, place_of_pool, referenced_pools,
};

/// The document of an invented machine, without network data none. `address_of` gives what a pool gives to its first claim, as far
/// as the pool is known.
pub fn sketch(
    template: &Metal3DataTemplate,
    address_of: impl Fn(&PoolRef) -> Option<Address>,
) -> Result<Option<Value>, RenderError> {
    let Some(network_data) = &template.spec.network_data else { return Ok(None) };
    let annotations = annotations_of(network_data);
    let metadata = |kind: &str| ObjectMeta {
        name: Some("any".to_owned()),
        namespace: template.metadata.namespace.clone(),
        annotations: annotations.get(kind).cloned(),
        ..ObjectMeta::default()
    };
    let metal3_machine = Metal3Machine { metadata: metadata("metal3machine"), ..Metal3Machine::default() };
    let machine = Machine { metadata: metadata("machine"), ..Machine::default() };
    let mut host = BareMetalHost { metadata: metadata("baremetalhost"), ..BareMetalHost::default() };
    host.status.hardware = Some(HostHardware { nics: nics_of(network_data), ..HostHardware::default() });
    let objects =
        Objects { metal3_machine: Some(&metal3_machine), machine: Some(&machine), host: Some(&host) };
    let pools = referenced_pools(&template.spec, objects)?;
    let addresses: BTreeMap<String, Address> = pools
        .into_iter()
        .map(|(name, pool)| {
            let is_v6 = place_of_pool(&template.spec, objects, &name)
                .is_some_and(|place| place.path.contains(".networks.ipv6"));
            let address = address_of(&pool).unwrap_or_else(|| stand_in(is_v6));
            (name, address)
        })
        .collect();
    let data = Metal3Data::default();
    network_data_value(network_data, &Inputs { data: &data, objects, addresses: &addresses }).map(Some)
}

/// What a pool might give that nobody knows: an address of those that are set aside for examples.
fn stand_in(is_v6: bool) -> Address {
    let (address, prefix, gateway) =
        if is_v6 { ("2001:db8::10", 64, "2001:db8::1") } else { ("192.0.2.10", 24, "192.0.2.1") };
    Address {
        address: address.to_owned(),
        prefix: Some(prefix),
        gateway: gateway.to_owned(),
        dns_servers: Vec::new(),
    }
}

fn macs(network_data: &NetworkData) -> Vec<&MacAddress> {
    let Some(links) = &network_data.links else { return Vec::new() };
    let ethernets = links.ethernets.iter().map(|link| link.mac_address.as_ref());
    let bonds = links.bonds.iter().map(|link| link.mac_address.as_ref());
    let vlans = links.vlans.iter().map(|link| link.mac_address.as_ref());
    ethernets.chain(bonds).chain(vlans).flatten().collect()
}

/// A NIC for each name that the template asks for, each with a MAC of its own.
fn nics_of(network_data: &NetworkData) -> Vec<HostNic> {
    let names: BTreeSet<&str> =
        macs(network_data).iter().filter_map(|mac| mac.from_host_interface.as_deref()).collect();
    let nic = |(number, name): (usize, &str)| HostNic {
        name: Some(name.into()),
        mac: Some(mac(number).into()),
        ip: None,
    };
    names.into_iter().enumerate().map(nic).collect()
}

/// MACs of local administration, which no card has.
fn mac(number: usize) -> String {
    format!("02:00:00:00:{:02x}:{:02x}", number >> 8 & 0xff, number & 0xff)
}

/// Values for the annotations that the template reads, by the word for the object that has them.
fn annotations_of(network_data: &NetworkData) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut annotations: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut put = |source: &FromAnnotation, value: String| {
        let of_object = annotations.entry(source.object.to_lowercase()).or_default();
        of_object.entry(source.annotation.clone()).or_insert(value);
    };
    for (number, found) in macs(network_data).iter().enumerate() {
        if let Some(source) = &found.from_annotation {
            put(source, mac(0x1000 + number));
        }
    }
    let networks = network_data.networks.clone().unwrap_or_default();
    for network in networks.ipv4.iter().chain(&networks.ipv6) {
        if let Some(source) = &network.from_pool_annotation {
            put(source, source.annotation.clone());
        }
        gateways(&network.routes).for_each(|source| put(source, source.annotation.clone()));
    }
    for network in networks.ipv4_dhcp.iter().chain(&networks.ipv6_dhcp).chain(&networks.ipv6_slaac) {
        gateways(&network.routes).for_each(|source| put(source, source.annotation.clone()));
    }
    annotations
}

fn gateways(routes: &[Route]) -> impl Iterator<Item = &FromAnnotation> {
    routes.iter().filter_map(|route| route.gateway.from_pool_annotation.as_ref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_is_rendered_without_hosts_machines_and_pools() {
        let template: Metal3DataTemplate = serde_json::from_value(json!({"metadata": {"name": "t"}, "spec": {"networkData": {
            "links": {"ethernets": [
                {"id": "a", "type": "phy", "macAddress": {"fromHostInterface": "eno1"}},
                {"id": "b", "type": "phy", "macAddress": {"fromAnnotation": {"object": "BareMetalHost", "annotation": "mac"}}}]},
            "networks": {
                "ipv4": [{"id": "n", "link": "a", "ipAddressFromIPPool": "known",
                    "routes": [{"network": "0.0.0.0", "gateway": {"fromIPPool": "known"}}]}],
                "ipv6": [{"id": "m", "link": "b", "fromPoolAnnotation": {"object": "machine", "annotation": "pool"}}]}}}}))
        .unwrap();
        let known = Address {
            address: "10.0.0.9".into(),
            prefix: Some(24),
            gateway: "10.0.0.1".into(),
            dns_servers: vec![],
        };
        let document =
            sketch(&template, |pool| (pool.name == "known").then(|| known.clone())).unwrap().unwrap();
        assert_eq!(document["links"][0]["ethernet_mac_address"], "02:00:00:00:00:00");
        assert_eq!(document["links"][1]["ethernet_mac_address"], "02:00:00:00:10:01");
        assert_eq!(document["networks"][0]["ip_address"], "10.0.0.9");
        assert_eq!(document["networks"][0]["routes"][0]["gateway"], "10.0.0.1");
        assert_eq!(document["networks"][1]["ip_address"], "2001:db8::10");
    }
}

//! Links of a node: bonds, then ethernets, then VLANs, each in the order of the template.

use capm3_api::v1beta2::{BondLink, EthernetLink, MacAddress, NetworkLinks, VlanLink};
use serde_json::{Map, Value, json};

use super::{
    error::{Problem, RenderError},
    mac,
    objects::Objects,
};

/// What the schema of the template gives to a link that says nothing.
const USUAL_MTU: i32 = 1500;

type Link = Map<String, Value>;

pub(super) fn render(links: &NetworkLinks, objects: Objects<'_>) -> Result<Vec<Value>, RenderError> {
    let mut rendered = Vec::new();
    for (index, bond) in links.bonds.iter().enumerate() {
        let link = render_bond(bond, objects, &format!("spec.networkData.links.bonds[{index}]"));
        rendered.push(link.map_err(|error| error.of("link", &bond.id))?);
    }
    for (index, ethernet) in links.ethernets.iter().enumerate() {
        let link = render_ethernet(ethernet, objects, &format!("spec.networkData.links.ethernets[{index}]"));
        rendered.push(link.map_err(|error| error.of("link", &ethernet.id))?);
    }
    for (index, vlan) in links.vlans.iter().enumerate() {
        let link = render_vlan(vlan, objects, &format!("spec.networkData.links.vlans[{index}]"));
        rendered.push(link.map_err(|error| error.of("link", &vlan.id))?);
    }
    Ok(rendered)
}

fn render_ethernet(ethernet: &EthernetLink, objects: Objects<'_>, path: &str) -> Result<Value, RenderError> {
    let mut link = begin(&ethernet.type_, &ethernet.id, ethernet.name.as_deref(), ethernet.mtu);
    add_mac(&mut link, "ethernet_mac_address", ethernet.mac_address.as_ref(), objects, path)?;
    Ok(link.into())
}

/// A hash policy that is unset is left out: consumers refuse an empty one.
fn render_bond(bond: &BondLink, objects: Objects<'_>, path: &str) -> Result<Value, RenderError> {
    let mut link = begin("bond", &bond.id, bond.name.as_deref(), bond.mtu);
    add_mac(&mut link, "ethernet_mac_address", bond.mac_address.as_ref(), objects, path)?;
    link.insert("bond_mode".into(), json!(bond.bond_mode));
    link.insert("bond_links".into(), json!(bond.bond_links));
    if let Some(policy) = bond.bond_xmit_hash_policy.as_ref().filter(|policy| !policy.is_empty()) {
        link.insert("bond_xmit_hash_policy".into(), json!(policy));
    }
    add_parameters(&mut link, bond, path)?;
    Ok(link.into())
}

/// Parameters must not repeat each other or what has a field of its own, set or not.
fn add_parameters(link: &mut Link, bond: &BondLink, path: &str) -> Result<(), RenderError> {
    let mut illegal = Vec::new();
    for parameter in &bond.parameters {
        let key = format!("bond_{}", parameter.name);
        if key == "bond_xmit_hash_policy" || link.contains_key(&key) {
            illegal.push(parameter.name.clone());
        } else {
            link.insert(key, parameter.value.clone().unwrap_or_default());
        }
    }
    if illegal.is_empty() {
        return Ok(());
    }
    let problem = Problem::IllegalBondParameters { names: illegal, link: bond.id.clone() };
    Err(RenderError::new(problem, format!("{path}.parameters"), ""))
}

fn render_vlan(vlan: &VlanLink, objects: Objects<'_>, path: &str) -> Result<Value, RenderError> {
    let mut link = begin("vlan", &vlan.id, vlan.name.as_deref(), vlan.mtu);
    let Some(vlan_id) = vlan.vlan_id else {
        let problem = Problem::NoVlanId { link: vlan.id.clone() };
        return Err(RenderError::new(problem, format!("{path}.vlanID"), ""));
    };
    link.insert("vlan_id".into(), json!(vlan_id));
    link.insert("vlan_link".into(), json!(vlan.vlan_link));
    add_mac(&mut link, "vlan_mac_address", vlan.mac_address.as_ref(), objects, path)?;
    Ok(link.into())
}

fn begin(type_: &str, id: &str, name: Option<&str>, mtu: Option<i32>) -> Link {
    let mut link = Link::new();
    link.insert("type".into(), json!(type_));
    link.insert("id".into(), json!(id));
    link.insert("mtu".into(), json!(mtu.unwrap_or(USUAL_MTU)));
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        link.insert("name".into(), json!(name));
    }
    link
}

fn add_mac(
    link: &mut Link,
    key: &str,
    source: Option<&MacAddress>,
    objects: Objects<'_>,
    path: &str,
) -> Result<(), RenderError> {
    if let Some(source) = source {
        let mac = mac::of_link(source, objects, &format!("{path}.macAddress"))?;
        link.insert(key.into(), mac.into());
    }
    Ok(())
}

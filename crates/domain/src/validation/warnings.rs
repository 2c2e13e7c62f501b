//! What is allowed in a Metal3DataTemplate and probably not meant: reported as warnings, because a template that the Go
//! provider accepts must stay accepted.

use std::collections::{BTreeMap, BTreeSet};

use super::node::Node;
use crate::render::is_mac;

/// The lists of `spec.metaData` in the order in which they are rendered: later ones win.
const RENDER_ORDER: [&str; 12] = [
    "fromHostInterfaces",
    "ipAddresses",
    "ipAddressesFromPool",
    "prefixesFromPool",
    "gatewaysFromPool",
    "dnsServersFromPool",
    "indexes",
    "namespaces",
    "objectNames",
    "fromLabels",
    "fromAnnotations",
    "strings",
];

/// Every likely mistake of a template's spec.
pub(super) fn find(spec: &Node<'_>) -> Vec<String> {
    let repeated = repeated_keys(&spec.at("metaData"));
    let mut warnings: Vec<String> = repeated
        .into_iter()
        .map(|(_, message)| format!("{}: {message}", spec.at("metaData").path()))
        .collect();
    let network_data = spec.at("networkData");
    warnings.extend(odd_macs(&network_data.at("links")));
    warnings.extend(dangling_links(&network_data));
    warnings
}

/// Keys of `spec.metaData` that are given more than once: the place of the value that has no effect, and why.
pub(crate) fn repeated_keys(meta_data: &Node<'_>) -> Vec<(String, String)> {
    let mut places_of: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    for list in RENDER_ORDER {
        for item in meta_data.at(list).items() {
            let key = item.at("key");
            places_of.entry(key.text_or_empty()).or_default().push((list, key.path().to_owned()));
        }
    }
    let mut repeated = Vec::new();
    for (key, places) in &places_of {
        let [(_, first), .., (last, _)] = places.as_slice() else { continue };
        let mut lists: Vec<&str> = places.iter().map(|(list, _)| *list).collect();
        let times = lists.len();
        lists.dedup();
        if key.is_empty() {
            continue;
        }
        let message = match lists.as_slice() {
            [list] => {
                format!(
                    "key {key:?} is in {list} {times} times: the last one wins, the others have no effect"
                )
            }
            lists => {
                format!("key {key:?} is in {}: {last} wins, the others have no effect", lists.join(", "))
            }
        };
        repeated.push((first.clone(), message));
    }
    if let Some((_, path)) = places_of.get("providerid").and_then(|places| places.first()) {
        let message =
            "key \"providerid\" is always set by the provider; the value given here has no effect".to_owned();
        repeated.push((path.clone(), message));
    }
    repeated
}

fn odd_macs(links: &Node<'_>) -> Vec<String> {
    let links = ["ethernets", "bonds", "vlans"].into_iter().flat_map(|list| links.at(list).items());
    let macs = links.map(|link| link.at("macAddress").at("string"));
    macs.filter_map(|node| {
        let text = node.text().filter(|text| !is_mac(text))?;
        let path = node.path();
        Some(format!("{path}: {text:?} is not a MAC address, so rendering will fail: replace it by the MAC address of the interface"))
    })
    .collect()
}

fn dangling_links(network_data: &Node<'_>) -> Vec<String> {
    let (links, networks) = (network_data.at("links"), network_data.at("networks"));
    let mut ids = BTreeSet::new();
    let mut uses = Vec::new();
    for list in ["ethernets", "bonds", "vlans"] {
        for link in links.at(list).items() {
            ids.extend(link.at("id").text());
            uses.extend(link.at("bondLinks").items());
            uses.push(link.at("vlanLink"));
        }
    }
    for list in ["ipv4", "ipv6", "ipv4DHCP", "ipv6DHCP", "ipv6SLAAC"] {
        uses.extend(networks.at(list).items().map(|network| network.at("link")));
    }
    let known = ids.iter().copied().collect::<Vec<_>>().join(", ");
    let known =
        if known.is_empty() { "there are no links".to_owned() } else { format!("the links are {known}") };
    uses.iter()
        .filter_map(|node| node.text().filter(|id| !ids.contains(id)).map(|id| (node.path(), id)))
        .map(|(path, id)| format!("{path}: no link has id {id:?}: {known}"))
        .collect()
}

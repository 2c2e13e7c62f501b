//! A network data document, as rules look at it.

use ipnet::IpNet;
use serde_json::Value;

use crate::{cloud_init::Nics, validation::node::Node};

/// A document of the config drive, and the host that reads it.
#[derive(Debug, Clone)]
pub struct NetworkData<'a> {
    /// The document.
    pub document: &'a Value,
    /// NICs of the host, as far as they are known; otherwise stand-ins for those of the document.
    pub nics: &'a Nics,
    /// Whether the NICs are those that an inspection found.
    pub nics_are_known: bool,
}

impl<'a> NetworkData<'a> {
    /// A document for a host of which nothing is known.
    pub fn new(document: &'a Value, nics: &'a Nics) -> Self {
        Self { document, nics, nics_are_known: false }
    }

    /// The same for a host that was inspected.
    #[must_use]
    pub fn of_inspected_host(self) -> Self {
        Self { nics_are_known: true, ..self }
    }

    pub(super) fn links(&self) -> Vec<Node<'a>> {
        Node::root(self.document).at("links").items().collect()
    }

    pub(super) fn networks(&self) -> Vec<Node<'a>> {
        Node::root(self.document).at("networks").items().collect()
    }

    pub(super) fn services(&self) -> Vec<Node<'a>> {
        Node::root(self.document).at("services").items().collect()
    }

    /// The link with this id; the last one, if several have it.
    pub(super) fn link(&self, id: &str) -> Option<Node<'a>> {
        self.links().into_iter().rev().find(|link| link.at("id").text() == Some(id))
    }
}

/// What kind of link it is.
pub(super) fn is_bond(link: &Node<'_>) -> bool {
    link.at("type").text() == Some("bond")
}

/// What kind of link it is.
pub(super) fn is_vlan(link: &Node<'_>) -> bool {
    link.at("type").text() == Some("vlan")
}

/// Whether the address is in the document.
pub(super) fn is_static(network: &Node<'_>) -> bool {
    matches!(network.at("type").text(), Some("ipv4" | "ipv6" | "static" | "static6"))
}

/// The address of a network with its prefix. One that is part of the address counts before a mask.
pub(super) fn subnet(network: &Node<'_>) -> Option<IpNet> {
    let address = network.at("ip_address").text()?;
    if let Ok(net) = address.parse() {
        return Some(net);
    }
    IpNet::with_netmask(address.parse().ok()?, network.at("netmask").text()?.parse().ok()?).ok()
}

/// Where a route leads.
pub(super) fn destination(route: &Node<'_>) -> Option<IpNet> {
    let network = route.at("network").text()?;
    if let Ok(net) = network.parse() {
        return Some(net);
    }
    IpNet::with_netmask(network.parse().ok()?, route.at("netmask").text()?.parse().ok()?).ok()
}

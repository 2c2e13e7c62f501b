//! What one interface gets, in the words of no renderer in particular.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// What is configured of an interface. What is not written by the renderer is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Interface {
    /// Whether it is created, and as what.
    pub kind: Kind,
    /// The NIC is found by this MAC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_mac: Option<String>,
    /// The NIC is found by this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_name: Option<String>,
    /// The MAC to set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// The MTU to set, a number unless the document has another value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Value>,
    /// `ADDRESS/PREFIX`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Default routes: `GATEWAY [metric N] [onlink]`; `v4 none` or `v6 none` where no gateway is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<String>,
    /// Other routes: `NETWORK [via GATEWAY] [metric N] [onlink]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<String>,
    /// Name servers of this interface.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dns: Vec<String>,
    /// Search domains of this interface.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dns_search: Vec<String>,
    /// DHCP of IPv4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dhcp4: Option<bool>,
    /// DHCP of IPv6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dhcp6: Option<bool>,
    /// Addresses made from router advertisements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slaac: Option<bool>,
    /// Whether router advertisements are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_ra: Option<bool>,
    /// NetworkManager's method of IPv4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4_method: Option<&'static str>,
    /// NetworkManager's method of IPv6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6_method: Option<&'static str>,
    /// Bond options by the kernel's names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bond: BTreeMap<String, Value>,
    /// Members of a bond.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// The VLAN that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<Vlan>,
}

/// What an interface is to the node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A device that must be there; nothing is created.
    #[default]
    Nic,
    /// A bond is created.
    Bond,
    /// A VLAN is created.
    Vlan,
    /// An InfiniBand port that must be there.
    Infiniband,
}

/// Id and parent of a VLAN.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Vlan {
    /// A number unless the document has another value; none where it is not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// The device that carries it.
    pub link: String,
}

/// All interfaces by name, and the node's name servers that belong to none of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Configuration {
    /// By name.
    pub interfaces: BTreeMap<String, Interface>,
    /// Name servers of the whole node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub name_servers: Vec<String>,
}

/// A route, or without `target` a default route, as text.
pub(super) fn route_text(
    target: Option<&str>,
    gateway: Option<&str>,
    metric: Option<i64>,
    on_link: bool,
) -> String {
    let via = match (target, gateway) {
        (Some(target), Some(gateway)) => format!("{target} via {gateway}"),
        (Some(target), None) => target.to_owned(),
        (None, gateway) => gateway.unwrap_or_default().to_owned(),
    };
    let metric = metric.map(|metric| format!(" metric {metric}")).unwrap_or_default();
    format!("{via}{metric}{}", if on_link { " onlink" } else { "" })
}

impl Interface {
    /// Adds a route to the gateways if it is a default route, else to the routes.
    pub(super) fn add_route(
        &mut self,
        route: &super::state::Route,
        gateway: Option<&str>,
        metric: Option<i64>,
    ) {
        if route.is_default() {
            let none = if route.v6 { "v6 none" } else { "v4 none" };
            self.gateways.push(route_text(None, gateway.or(Some(none)), metric, false));
        } else {
            self.routes.push(route_text(Some(&route.target()), gateway, metric, false));
        }
    }
}

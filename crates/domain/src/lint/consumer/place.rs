//! Where in a document something is that a consumer loses.

use crate::{
    cloud_init::{Loss, Lost},
    lint::NetworkData,
    validation::node::Node,
};

/// The field of the document that asks for what is lost.
pub(super) fn of_loss(data: &NetworkData<'_>, loss: &Loss) -> String {
    let has_value = |node: &Node<'_>| node.value().is_some_and(|value| is_value(value, &loss.value));
    match loss.what {
        Lost::TopLevelDns => {
            let service = data.services().into_iter().find(|service| has_value(&service.at("address")));
            return service.map_or("services".to_owned(), |service| service.path().to_owned());
        }
        Lost::DanglingNetwork => {
            let of_link = |network: &Node<'_>| network.at("link").text_or_empty() == loss.link;
            return first(data.networks(), of_link)
                .map_or(String::new(), |node| node.at("link").path().to_owned());
        }
        _ => {}
    }
    in_networks(data, loss).or_else(|| in_links(data, loss)).unwrap_or_else(|| "links".to_owned())
}

/// Among the networks of the link: losses name the key, and mostly the value.
fn in_networks(data: &NetworkData<'_>, loss: &Loss) -> Option<String> {
    const KEYS: [&str; 7] = ["ip_address", "netmask", "type", "gateway", "routes", "services", "link"];
    if !KEYS.contains(&loss.key.as_str()) {
        return None;
    }
    let networks: Vec<Node<'_>> = data
        .networks()
        .into_iter()
        .filter(|network| network.at("link").text_or_empty() == loss.link)
        .collect();
    let found = networks.iter().find_map(|network| in_network(network, loss));
    found.or_else(|| networks.first().map(|network| network.at(&loss.key).path().to_owned()))
}

fn in_network(network: &Node<'_>, loss: &Loss) -> Option<String> {
    let address = loss.value.split('/').next().unwrap_or_default();
    let routes = || network.at("routes").items();
    match loss.key.as_str() {
        "gateway" => {
            let own = network.at("gateway");
            if own.text() == Some(loss.value.as_str()) {
                return Some(own.path().to_owned());
            }
            let route = routes().find(|route| route.at("gateway").text() == Some(loss.value.as_str()))?;
            Some(route.at("gateway").path().to_owned())
        }
        "routes" => routes()
            .find(|route| route.at("network").text_or_empty().split('/').next() == Some(address))
            .map(|route| route.path().to_owned()),
        "services" => {
            let of_routes = routes().flat_map(|route| route.at("services").items());
            let mut services = network.at("services").items().chain(of_routes);
            let service =
                services.find(|service| service.at("address").text() == Some(loss.value.as_str()))?;
            Some(service.path().to_owned())
        }
        "type" => {
            asks_for(network.at("type").text_or_empty(), loss).then(|| network.at("type").path().to_owned())
        }
        key => {
            let asks = network.at("ip_address").text_or_empty().split('/').next() == Some(address);
            asks.then(|| network.at(key).path().to_owned())
        }
    }
}

/// Whether a network of this type is the one that is lost.
fn asks_for(kind: &str, loss: &Loss) -> bool {
    match loss.what {
        Lost::Dhcp4 => matches!(kind, "ipv4_dhcp" | "dhcp" | "dhcp4"),
        Lost::Dhcp6 | Lost::RouterAdvertisements => {
            matches!(kind, "ipv6_dhcp" | "ipv6_dhcpv6-stateful" | "dhcp6")
        }
        Lost::Slaac => matches!(kind, "ipv6_slaac" | "ipv6_dhcpv6-stateless"),
        _ => kind == loss.value,
    }
}

fn in_links(data: &NetworkData<'_>, loss: &Loss) -> Option<String> {
    let has_id = |link: &Node<'_>| link.at("id").value().is_some_and(|id| is_value(id, &loss.link));
    let link = first(data.links(), has_id)?;
    Some(if loss.key.is_empty() { link.path().to_owned() } else { link.at(&loss.key).path().to_owned() })
}

fn first<'d>(nodes: Vec<Node<'d>>, is_wanted: impl Fn(&Node<'d>) -> bool) -> Option<Node<'d>> {
    nodes.into_iter().find(is_wanted)
}

fn is_value(value: &serde_json::Value, text: &str) -> bool {
    match value.as_str() {
        Some(value) => value == text,
        None => value.to_string().as_str() == text,
    }
}

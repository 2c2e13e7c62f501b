//! What two documents have in common that differ in addresses only.
//!
//! Takes a document; gives a text that is the same for all machines that were rendered alike, so that each way is judged once.

use std::{collections::BTreeMap, net::IpAddr};

use ipnet::IpNet;
use serde_json::Value;

use super::NetworkData;
use crate::{render::is_mac, validation::node::Node};

/// Documents of one shape are judged alike.
pub fn shape(data: &NetworkData<'_>) -> String {
    let mut shape = Shape { text: String::new(), seen: BTreeMap::new(), data };
    shape.value(data.document);
    for network in data.networks() {
        shape.relations(&network);
    }
    shape.text
}

struct Shape<'d> {
    text: String,
    /// A number for each address, in the order in which they come.
    seen: BTreeMap<String, usize>,
    data: &'d NetworkData<'d>,
}

impl Shape<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                self.text.push('{');
                for (key, member) in members {
                    self.text.push_str(key);
                    self.text.push(':');
                    // Masks and destinations of routes are the same for machines of one network.
                    match (key.as_str(), member) {
                        ("netmask" | "network", Value::String(text)) => self.text.push_str(text),
                        _ => self.value(member),
                    }
                    self.text.push(',');
                }
                self.text.push('}');
            }
            Value::Array(items) => {
                self.text.push('[');
                for item in items {
                    self.value(item);
                    self.text.push(',');
                }
                self.text.push(']');
            }
            Value::String(text) => self.scalar(text),
            other => self.text.push_str(&other.to_string()),
        }
    }

    fn scalar(&mut self, text: &str) {
        let kind = match text.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => "v4",
            Ok(IpAddr::V6(_)) => "v6",
            Err(_) if is_mac(text) => match (text.contains('-'), self.data.nics.have(&text.to_lowercase())) {
                (true, _) => "dashed",
                (false, true) => "mac",
                (false, false) => "foreign",
            },
            Err(_) => {
                self.text.push_str(&format!("{text:?}"));
                return;
            }
        };
        let next = self.seen.len();
        let number = *self.seen.entry(text.to_lowercase()).or_insert(next);
        self.text.push_str(&format!("{kind}#{number}"));
    }

    /// What rules ask of the addresses of a network among each other.
    fn relations(&mut self, network: &Node<'_>) {
        let address = network.at("ip_address").text().and_then(|text| text.parse::<IpAddr>().ok());
        let mask = network.at("netmask").text().and_then(|text| text.parse::<IpAddr>().ok());
        let subnet = address.zip(mask).and_then(|(address, mask)| IpNet::with_netmask(address, mask).ok());
        let (Some(address), Some(subnet)) = (address, subnet) else { return };
        let ends = (address == subnet.network(), address == subnet.broadcast());
        self.text.push_str(&format!("{ends:?}"));
        for route in network.at("routes").items() {
            let gateway = route.at("gateway").text().and_then(|text| text.parse::<IpAddr>().ok());
            self.text.push_str(&format!("{:?}", gateway.map(|gateway| subnet.contains(&gateway))));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cloud_init::Nics;

    fn of(address: &str, gateway: &str, mac: &str) -> String {
        let document = json!({"links": [{"id": "a", "type": "phy", "ethernet_mac_address": mac}],
            "networks": [{"link": "a", "ip_address": address, "netmask": "255.255.255.0", "routes": [{"gateway": gateway}]}]});
        shape(&NetworkData::new(&document, &Nics::new([("52:54:00:00:00:01".to_owned(), "a".to_owned())])))
    }

    #[test]
    fn machines_of_one_network_have_one_shape_unless_a_rule_could_tell_them_apart() {
        let usual = of("10.0.0.5", "10.0.0.1", "52:54:00:00:00:01");
        assert_eq!(usual, of("10.0.0.6", "10.0.0.1", "52:54:00:00:00:01"));
        for other in [
            of("10.0.0.5", "10.0.1.1", "52:54:00:00:00:01"),
            of("10.0.0.255", "10.0.0.1", "52:54:00:00:00:01"),
            of("10.0.0.1", "10.0.0.1", "52:54:00:00:00:01"),
            of("10.0.0.5", "10.0.0.1", "52:54:00:00:00:02"),
            of("10.0.0.5", "10.0.0.1", "52-54-00-00-00-01"),
        ] {
            assert_ne!(usual, other);
        }
    }
}

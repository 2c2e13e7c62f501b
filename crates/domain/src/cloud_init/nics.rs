//! The NICs of a host, as its kernel names them.

use std::collections::BTreeMap;

use serde_json::Value;

/// Names of NICs by MAC, in lower case as the kernel writes them.
#[derive(Debug, Clone, Default)]
pub struct Nics {
    names: BTreeMap<String, String>,
    /// MACs of 20 bytes by name.
    infiniband: BTreeMap<String, String>,
}

impl Nics {
    /// NICs by MAC and name. A MAC of 20 bytes is a port of InfiniBand, which documents name by six of them.
    pub fn new(nics: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut all = Self::default();
        for (mac, name) in nics {
            let mac = mac.to_lowercase();
            if let Some(short) = six_bytes(&mac) {
                all.names.insert(short, name.clone());
                all.infiniband.insert(name.clone(), mac.clone());
            }
            all.names.insert(mac, name);
        }
        all
    }

    /// Stand-ins for the NICs of a host that was not inspected: one for every MAC of the document, named as
    /// its link.
    pub fn assumed(document: &Value) -> Self {
        let links = document.get("links").and_then(Value::as_array).into_iter().flatten();
        let text = |link: &Value, key: &str| link.get(key).and_then(Value::as_str).map(str::to_owned);
        Self::new(links.filter_map(|link| Some((text(link, "ethernet_mac_address")?, text(link, "id")?))))
    }

    /// The name of the NIC with this MAC.
    pub fn name(&self, mac: &str) -> Option<&str> {
        self.names.get(mac).map(String::as_str)
    }

    /// Whether a NIC has this MAC.
    pub fn have(&self, mac: &str) -> bool {
        self.names.contains_key(mac)
    }

    /// The MAC of the InfiniBand port of this name.
    pub(super) fn infiniband_mac(&self, name: &str) -> Option<&str> {
        self.infiniband.get(name).map(String::as_str)
    }
}

/// The first and the last three bytes of the port's GUID, which make its MAC where an Ethernet MAC is
/// expected.
fn six_bytes(mac: &str) -> Option<String> {
    let bytes: Vec<&str> = mac.split(':').collect();
    match bytes.as_slice() {
        [head @ .., a, b, c, _, _, d, e, f] if head.len() == 12 => Some([*a, b, c, d, e, f].join(":")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_infiniband_is_found_by_six_of_its_twenty_bytes() {
        let long = "A0:00:02:20:FE:80:00:00:00:00:00:00:EC:0D:9A:03:00:15:E2:C1";
        let nics = Nics::new([(long.to_owned(), "ib0".to_owned())]);
        assert_eq!(nics.name("ec:0d:9a:15:e2:c1"), Some("ib0"));
        assert_eq!(nics.infiniband_mac("ib0"), Some(long.to_lowercase().as_str()));
    }
}

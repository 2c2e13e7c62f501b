//! Addresses of a machine, from what inspection found on its host.

use std::collections::BTreeSet;

use capm3_api::{neighbours::BareMetalHost, v1beta2::MachineAddress};

/// How many addresses the API takes.
pub const MAX_ADDRESSES: usize = 32;
const MAX_LENGTH: usize = 256;

/// The address list: each network interface in order, then the host name twice, as host name and as internal DNS
/// name. Nothing appears twice; if there are too many, the last interfaces give way, because the host name may be what
/// the Node is found by.
///
/// ```
/// use capm3_domain::provider_id::addresses;
///
/// let host = serde_json::from_str(r#"{"status": {"hardware": {
///     "hostname": "n", "nics": [{"ip": "10.0.0.7"}, {"ip": "2001:db8::7"}]}}}"#).unwrap();
/// let list: Vec<String> = addresses(&host).into_iter().map(|a| format!("{} {}", a.type_, a.address)).collect();
/// assert_eq!(list, ["InternalIP 10.0.0.7", "InternalIP 2001:db8::7", "Hostname n", "InternalDNS n"]);
/// ```
pub fn addresses(host: &BareMetalHost) -> Vec<MachineAddress> {
    let Some(hardware) = &host.status.hardware else {
        return Vec::new();
    };
    let names: Vec<MachineAddress> = hardware
        .hostname
        .as_deref()
        .filter(|name| fits(name))
        .into_iter()
        .flat_map(|name| ["Hostname", "InternalDNS"].map(|type_| address(type_, name)))
        .collect();
    let mut seen = BTreeSet::new();
    let ips = hardware.nics.iter().filter_map(|nic| nic.ip.as_deref());
    ips.filter(|ip| fits(ip) && seen.insert(*ip))
        .take(MAX_ADDRESSES.saturating_sub(names.len()))
        .map(|ip| address("InternalIP", ip))
        .chain(names.iter().cloned())
        .collect()
}

/// One text that the schema refuses would make the whole status unwritable.
fn fits(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_LENGTH
}

fn address(type_: &str, text: &str) -> MachineAddress {
    MachineAddress { type_: type_.to_owned(), address: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(hardware: serde_json::Value) -> Vec<String> {
        let host = serde_json::from_value(json!({"status": {"hardware": hardware}})).unwrap();
        addresses(&host).into_iter().map(|a| format!("{} {}", a.type_, a.address)).collect()
    }

    #[test]
    fn interfaces_come_in_order_and_each_address_once() {
        let nics = json!([{"ip": "10.0.0.7"}, {"ip": ""}, {}, {"ip": "2001:db8::7"}, {"ip": "10.0.0.7"}, {"ip": "10.0.0.6"}]);
        assert_eq!(
            list(json!({"nics": nics})),
            ["InternalIP 10.0.0.7", "InternalIP 2001:db8::7", "InternalIP 10.0.0.6"]
        );
    }

    #[test]
    fn what_was_not_found_is_not_listed() {
        assert!(list(json!(null)).is_empty());
        assert!(list(json!({"nics": null})).is_empty());
        assert_eq!(list(json!({"hostname": "n"})), ["Hostname n", "InternalDNS n"]);
        assert!(list(json!({"hostname": "x".repeat(257)})).is_empty());
    }

    #[test]
    fn a_host_with_many_interfaces_keeps_its_name() {
        for twin in ["10.0.0.", "2001:db8::"] {
            let nics: Vec<_> = (0..40).map(|n| json!({"ip": format!("{twin}{n}")})).collect();
            let found = list(json!({"nics": nics, "hostname": "n"}));
            assert_eq!(found.len(), MAX_ADDRESSES);
            assert_eq!(found[29], format!("InternalIP {twin}29"));
            assert_eq!(found[31], "InternalDNS n");
            assert_eq!(list(json!({"nics": nics})).len(), MAX_ADDRESSES);
        }
    }
}

//! Links, networks, routes and services of a data template.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::super::{
    draft::{Draft, brief},
    path::Path,
};

/// `802.1ad` is the name of stacked VLANs and was never a bond mode; the documents that have it mean `802.3ad`.
pub(super) fn bond_mode(draft: &mut Draft<'_>, path: &Path) {
    if path.find(&draft.value).is_some_and(|mode| mode == "802.1ad") {
        draft.replace(path, json!("802.3ad"), "802.1ad stacks VLANs and is not a bond mode");
        draft.warn(path, "802.1ad was read as 802.3ad (LACP); check that the switch uses this mode", None);
    }
}

/// A map of parameters becomes a list of names and values, by name.
pub(super) fn bond_parameters(draft: &mut Draft<'_>, path: &Path) {
    let Some(Value::Object(map)) = path.find(&draft.value) else { return };
    let mut list: Vec<(String, Value)> = map.clone().into_iter().collect();
    list.sort_by(|left, right| left.0.cmp(&right.0));
    let list = list.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    draft.replace(path, Value::Array(list), "a list of names and values in v1beta2");
}

/// A mask written as an address, or a length written as text, becomes the length.
pub(super) fn prefix(draft: &mut Draft<'_>, path: &Path) {
    let Some(Value::String(text)) = path.find(&draft.value) else { return };
    match length(text) {
        Some(length) => draft.replace(path, json!(length), "the length of the prefix is a number"),
        None => {
            let message = format!("{text:?} is neither the length of a prefix nor a mask");
            draft.error(path, message, Some("the length of the prefix, such as 24".to_owned()));
        }
    }
}

/// The length that a text says as a number or as a mask.
fn length(text: &str) -> Option<u32> {
    if let Ok(length) = text.parse() {
        return (length <= 128).then_some(length);
    }
    let (bits, width) = match text.parse().ok()? {
        IpAddr::V4(mask) => (u128::from(u32::from(mask)) << 96, 32),
        IpAddr::V6(mask) => (u128::from(mask), 128),
    };
    let length = bits.leading_ones();
    (bits.checked_shl(length).unwrap_or_default() == 0 && length <= width).then_some(length)
}

/// A gateway given as text is one of several sources of a gateway.
pub(super) fn gateway(draft: &mut Draft<'_>, path: &Path) {
    if let Some(Value::String(text)) = path.find(&draft.value) {
        let wrapped = json!({"string": text});
        draft.replace(path, wrapped, "a gateway can come from a pool as well, so the address has a name");
    }
}

/// A list of services, in any of the forms that documents show, becomes one list of name servers.
pub(super) fn services(draft: &mut Draft<'_>, path: &Path) {
    let Some(Value::Array(items)) = path.find(&draft.value).cloned() else { return };
    let mut servers: Vec<Value> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match name_servers(item) {
            Some(found) => servers.extend(found),
            None => {
                let message = format!("{} is not a service that can be read", brief(item));
                draft.error(&path.item(index), message, Some("dns: ADDRESS".to_owned()));
                return;
            }
        }
    }
    let mut seen = Vec::new();
    servers.retain(|server| {
        !seen.contains(server) && {
            seen.push(server.clone());
            true
        }
    });
    let merged = if servers.is_empty() { json!({}) } else { json!({"dns": servers}) };
    draft.replace(path, merged, "services are an object with the name servers in it");
}

/// The addresses that `{type: dns, address: a}`, `{dns: a}` or `{dns: [a, b]}` says.
fn name_servers(item: &Value) -> Option<Vec<Value>> {
    let map: &Map<String, Value> = item.as_object()?;
    let has_only = |keys: &[&str]| map.len() == keys.len() && keys.iter().all(|key| map.contains_key(*key));
    if has_only(&["type", "address"]) {
        let address = map.get("address").filter(|address| address.is_string())?;
        return (map.get("type")? == "dns").then(|| vec![address.clone()]);
    }
    match map.get("dns").filter(|_| has_only(&["dns"]))? {
        Value::Array(addresses) => addresses.iter().all(Value::is_string).then(|| addresses.clone()),
        address => address.is_string().then(|| vec![address.clone()]),
    }
}

/// A step of 0 always meant 1, which is also what no step means.
pub(super) fn step(draft: &mut Draft<'_>, path: &Path) {
    if path.find(&draft.value).is_some_and(|step| step.as_i64() == Some(0) || step == "0") {
        draft.replace(path, json!(1), "a step of 0 means 1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_read_as_the_length_of_its_prefix() {
        for (text, expected) in [
            ("24", Some(24)),
            ("0", Some(0)),
            ("255.255.255.0", Some(24)),
            ("0.0.0.0", Some(0)),
            ("255.255.255.255", Some(32)),
            ("ffff:ffff:ffff:ffff::", Some(64)),
            ("::", Some(0)),
            ("255.0.255.0", None),
            ("129", None),
            ("-1", None),
            ("/24", None),
        ] {
            assert_eq!(length(text), expected, "{text}");
        }
    }

    #[test]
    fn services_are_read_in_each_form_that_documents_show() {
        for (item, expected) in [
            (json!({"type": "dns", "address": "a"}), Some(vec![json!("a")])),
            (json!({"dns": "b"}), Some(vec![json!("b")])),
            (json!({"dns": ["c", "d"]}), Some(vec![json!("c"), json!("d")])),
            (json!({"type": "ntp", "address": "a"}), None),
            (json!({"dns": "b", "ntp": "c"}), None),
            (json!("8.8.8.8"), None),
        ] {
            assert_eq!(name_servers(&item), expected, "{item}");
        }
    }
}

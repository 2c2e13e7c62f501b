//! Metal3DataTemplate: lists of pool values have other names, indexes in use are a map in v1beta1.

use serde_json::{Value, json};

use super::{
    json::{Object, child, drop_zero, each, ensured, rename, set_default, take},
    network_data,
};

/// Lists of pool values: name in v1beta1, name in v1beta2.
const FROM_POOL: [(&str, &str); 4] = [
    ("ipAddressesFromIPPool", "ipAddressesFromPool"),
    ("prefixesFromIPPool", "prefixesFromPool"),
    ("gatewaysFromIPPool", "gatewaysFromPool"),
    ("dnsServersFromIPPool", "dnsServersFromPool"),
];

/// Every list of metaData in v1beta2.
const LISTS: [&str; 12] = [
    "strings",
    "objectNames",
    "indexes",
    "namespaces",
    "ipAddresses",
    "ipAddressesFromPool",
    "prefixesFromPool",
    "gatewaysFromPool",
    "dnsServersFromPool",
    "fromHostInterfaces",
    "fromLabels",
    "fromAnnotations",
];

/// v1beta1 to v1beta2.
pub(super) fn up(template: &mut Object) {
    if let Some(spec) = child(template, "spec") {
        drop_zero(spec, &["clusterName", "templateReference"]);
        if let Some(meta_data) = child(spec, "metaData") {
            meta_data_up(meta_data);
        }
        if let Some(network_data) = child(spec, "networkData") {
            network_data::up(network_data);
        }
    }
    if let Some(status) = child(template, "status") {
        indexes_up(status);
    }
}

/// v1beta2 to v1beta1.
pub(super) fn down(template: &mut Object) {
    if let Some(spec) = ensured(template, "spec") {
        set_default(spec, "clusterName", "");
        if let Some(meta_data) = child(spec, "metaData") {
            meta_data_down(meta_data);
        }
        if let Some(network_data) = child(spec, "networkData") {
            network_data::down(network_data);
        }
    }
    if let Some(status) = child(template, "status") {
        indexes_down(status);
    }
}

fn meta_data_up(meta_data: &mut Object) {
    for (old, new) in FROM_POOL {
        rename(meta_data, old, new);
        for item in each(meta_data, new) {
            drop_zero(item, &["apiGroup", "kind"]);
        }
    }
    for item in each(meta_data, "indexes") {
        drop_zero(item, &["offset", "step", "prefix", "suffix"]);
    }
    for item in each(meta_data, "ipAddresses") {
        drop_zero(item, &["start", "end", "subnet", "step"]);
    }
    for item in each(meta_data, "fromHostInterfaces") {
        set_default(item, "fromBootMAC", false);
        drop_zero(item, &["interface"]);
    }
    drop_zero(meta_data, &LISTS);
}

fn meta_data_down(meta_data: &mut Object) {
    for (old, new) in FROM_POOL {
        for item in each(meta_data, new) {
            set_default(item, "apiGroup", "");
            set_default(item, "kind", "");
        }
        rename(meta_data, new, old);
    }
    for item in each(meta_data, "indexes") {
        drop_zero(item, &["offset", "step"]);
    }
    for item in each(meta_data, "fromHostInterfaces") {
        drop_zero(item, &["fromBootMAC"]);
    }
}

fn indexes_up(status: &mut Object) {
    if let Some(indexes) = child(status, "indexes") {
        let mut entries: Vec<(i64, &String, &Value)> =
            indexes.iter().map(|(name, index)| (index.as_i64().unwrap_or_default(), name, index)).collect();
        entries.sort_by_key(|(index, name, _)| (*index, *name));
        let list =
            entries.into_iter().map(|(_, name, index)| json!({"name": name, "index": index})).collect();
        status.insert("indexes".to_owned(), Value::Array(list));
    }
    drop_zero(status, &["indexes"]);
}

fn indexes_down(status: &mut Object) {
    if let Some(Value::Array(list)) = status.get("indexes") {
        let entry = |entry: &Value| {
            let mut entry = entry.as_object()?.clone();
            let name = take(&mut entry, "name")?.as_str()?.to_owned();
            // An entry without an index stands for the first one, as a data object without an index does.
            Some((name, take(&mut entry, "index").filter(|it| !it.is_null()).unwrap_or(json!(0))))
        };
        let map: Object = list.iter().filter_map(entry).collect();
        status.insert("indexes".to_owned(), Value::Object(map));
    }
    drop_zero(status, &["indexes"]);
}

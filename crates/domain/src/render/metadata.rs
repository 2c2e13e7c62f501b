//! Metadata: a map of keys to strings.
//!
//! Takes the template's lists, gives the document. Lists are worked off in a fixed order and later ones overwrite
//! earlier ones, so that fixed strings win over everything except the provider id, which nobody can overwrite.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{FromPool, MetaData, MetaDataHostInterface, MetaDataIndex},
};
use serde_json::Value;

use super::{
    address::Address,
    error::{Problem, RenderError},
    inline::inline_address,
    mac,
    objects::Inputs,
    yaml::to_yaml,
};

type Keys = BTreeMap<String, String>;

/// The metadata document.
pub fn render_meta_data(meta_data: &MetaData, inputs: &Inputs<'_>) -> Result<String, RenderError> {
    let mut keys = Keys::new();
    from_host(&mut keys, &meta_data.from_host_interfaces, inputs)?;
    let number = inputs.index();
    for (index, item) in meta_data.ip_addresses.iter().enumerate() {
        let address = inline_address(&item.range, number).map_err(|error| {
            RenderError::inline(&error, format!("spec.metaData.ipAddresses[{index}]")).of("key", &item.key)
        })?;
        keys.insert(item.key.clone(), address.to_string());
    }
    from_pools(&mut keys, meta_data, inputs)?;
    for item in &meta_data.indexes {
        keys.insert(item.key.clone(), index_text(item, number));
    }
    for item in &meta_data.namespaces {
        keys.insert(item.key.clone(), inputs.data.metadata.namespace_str().to_owned());
    }
    from_objects(&mut keys, meta_data, inputs)?;
    for item in &meta_data.strings {
        keys.insert(item.key.clone(), item.value.clone());
    }
    keys.insert("providerid".to_owned(), provider_id(inputs)?);
    let document = keys.into_iter().map(|(key, value)| (key, Value::String(value))).collect();
    Ok(to_yaml(&Value::Object(document)))
}

/// The keys of the document, but for that of the provider ID.
pub(crate) fn metadata_keys(meta_data: &MetaData) -> Vec<&str> {
    let from_pools = [
        &meta_data.ip_addresses_from_pool,
        &meta_data.prefixes_from_pool,
        &meta_data.gateways_from_pool,
        &meta_data.dns_servers_from_pool,
    ];
    let mut keys: Vec<&str> = from_pools.into_iter().flatten().map(|item| item.key.as_str()).collect();
    keys.extend(meta_data.from_host_interfaces.iter().map(|item| item.key.as_str()));
    keys.extend(meta_data.ip_addresses.iter().map(|item| item.key.as_str()));
    keys.extend(meta_data.indexes.iter().map(|item| item.key.as_str()));
    keys.extend(meta_data.namespaces.iter().map(|item| item.key.as_str()));
    keys.extend(meta_data.object_names.iter().map(|item| item.key.as_str()));
    keys.extend(meta_data.from_labels.iter().map(|item| item.key.as_str()));
    keys.extend(meta_data.from_annotations.iter().map(|item| item.key.as_str()));
    keys.extend(meta_data.strings.iter().map(|item| item.key.as_str()));
    keys
}

fn from_host(
    keys: &mut Keys,
    items: &[MetaDataHostInterface],
    inputs: &Inputs<'_>,
) -> Result<(), RenderError> {
    for (index, item) in items.iter().enumerate() {
        let value = mac_of(item, inputs, &format!("spec.metaData.fromHostInterfaces[{index}]"));
        keys.insert(item.key.clone(), value.map_err(|error| error.of("key", &item.key))?.to_owned());
    }
    Ok(())
}

fn mac_of<'a>(item: &MetaDataHostInterface, inputs: &Inputs<'a>, path: &str) -> Result<&'a str, RenderError> {
    let host = inputs.objects.host(path)?;
    if !item.from_boot_mac.unwrap_or_default() {
        let interface = item.interface.as_deref().unwrap_or_default();
        return mac::of_interface(host, interface, &format!("{path}.interface"));
    }
    let boot = host.spec.boot_mac_address.as_deref().filter(|mac| !mac.is_empty());
    boot.ok_or_else(|| {
        let problem = Problem::NoBootMac {
            key: item.key.clone(),
            namespace: host.metadata.namespace_str().to_owned(),
            name: host.metadata.name_str().to_owned(),
        };
        RenderError::new(problem, format!("{path}.fromBootMAC"), "")
    })
}

fn from_pools(keys: &mut Keys, meta_data: &MetaData, inputs: &Inputs<'_>) -> Result<(), RenderError> {
    type Part = fn(&Address) -> Option<String>;
    let lists: [(&str, &[FromPool], Part); 4] = [
        ("ipAddressesFromPool", &meta_data.ip_addresses_from_pool, |a| Some(a.address.clone())),
        ("prefixesFromPool", &meta_data.prefixes_from_pool, |a| a.prefix.map(|prefix| prefix.to_string())),
        ("gatewaysFromPool", &meta_data.gateways_from_pool, |a| Some(a.gateway.clone())),
        ("dnsServersFromPool", &meta_data.dns_servers_from_pool, |a| Some(a.dns_servers.join(","))),
    ];
    for (list, items, part) in lists {
        for (index, item) in items.iter().enumerate() {
            let path = format!("spec.metaData.{list}[{index}].name");
            let address = inputs.address(&item.name, Problem::NoAddress, &path);
            let value = address.and_then(|address| {
                let none = || RenderError::new(Problem::NoPrefix, &path, format!("pool {}", item.name));
                part(address).ok_or_else(none)
            });
            let value = value.map_err(|error| error.of("key", &item.key))?;
            keys.insert(item.key.clone(), value);
        }
    }
    Ok(())
}

fn from_objects(keys: &mut Keys, meta_data: &MetaData, inputs: &Inputs<'_>) -> Result<(), RenderError> {
    let objects = inputs.objects;
    for (index, item) in meta_data.object_names.iter().enumerate() {
        let object = objects.metadata(&item.object, &format!("spec.metaData.objectNames[{index}].object"));
        let object = object.map_err(|error| error.of("key", &item.key))?;
        keys.insert(item.key.clone(), object.name_str().to_owned());
    }
    for (index, item) in meta_data.from_labels.iter().enumerate() {
        let object = objects.metadata(&item.object, &format!("spec.metaData.fromLabels[{index}].object"));
        let object = object.map_err(|error| error.of("key", &item.key))?;
        keys.insert(item.key.clone(), object.label(&item.label).unwrap_or_default().to_owned());
    }
    for (index, item) in meta_data.from_annotations.iter().enumerate() {
        let path = format!("spec.metaData.fromAnnotations[{index}].object");
        let value = objects.annotation(&item.object, &item.annotation, &path);
        let value = value.map_err(|error| error.of("key", &item.key))?;
        keys.insert(item.key.clone(), value.to_owned());
    }
    Ok(())
}

/// In 64 bits, which no index, offset and step of 32 bits can exceed.
fn index_text(item: &MetaDataIndex, number: i32) -> String {
    let step = item.step.filter(|step| *step != 0).unwrap_or(1);
    let number = i64::from(item.offset.unwrap_or_default()) + i64::from(number) * i64::from(step);
    let (prefix, suffix) = (item.prefix.as_deref(), item.suffix.as_deref());
    format!("{}{number}{}", prefix.unwrap_or_default(), suffix.unwrap_or_default())
}

fn provider_id(inputs: &Inputs<'_>) -> Result<String, RenderError> {
    let machine = &inputs.objects.metal3_machine("spec.metaData")?.metadata;
    let host = &inputs.objects.host("spec.metaData")?.metadata;
    Ok(format!("{}/{}/{}", machine.namespace_str(), host.name_str(), machine.name_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::Setting;

    #[test]
    fn a_string_and_the_provider_id_are_rendered() {
        let setting = Setting::new(json!({}));
        assert_eq!(
            setting.meta_data(json!({"strings": [{"key": "String-1", "value": "String-1"}]})).unwrap(),
            "String-1: String-1\nproviderid: metal3/host-1/m3m-1\n"
        );
    }

    #[test]
    fn dns_servers_of_a_pool_are_joined_by_commas_in_both_families() {
        let setting = Setting::new(json!({
            "v4": {"address": "10.0.0.5", "dnsServers": ["10.0.0.2", "10.0.0.3"]},
            "v6": {"address": "2001:db8::5", "dnsServers": ["2001:db8::2", "2001:db8::3"]},
            "none": {"address": "10.0.0.6"}
        }));
        let template = json!({"dnsServersFromPool": [
            {"key": "a", "name": "v4"}, {"key": "b", "name": "v6"}, {"key": "c", "name": "none"}
        ]});
        assert_eq!(
            setting.meta_data(template).unwrap(),
            "a: 10.0.0.2,10.0.0.3\nb: 2001:db8::2,2001:db8::3\nc: \"\"\nproviderid: metal3/host-1/m3m-1\n"
        );
    }

    #[test]
    fn errors_say_where_in_the_template_and_which_object() {
        let setting = Setting::new(json!({"bare": {"address": "2001:db8::1"}}));
        for (template, expected) in [
            (
                json!({"prefixesFromPool": [{"key": "a", "name": "bare"}]}),
                "the pool gives no prefix: spec.metaData.prefixesFromPool[0].name, pool bare (key a)",
            ),
            (
                json!({"ipAddressesFromPool": [{"key": "a", "name": "p"}]}),
                "pool not found in cache: spec.metaData.ipAddressesFromPool[0].name, pool p gave no address (key a)",
            ),
            (
                json!({"fromHostInterfaces": [{"key": "a", "interface": "eth9"}]}),
                "NIC name not found eth9: spec.metaData.fromHostInterfaces[0].interface, host host-1 has enp1s0 (key a)",
            ),
            (
                json!({"fromHostInterfaces": [{"key": "a", "fromBootMAC": true}]}),
                "metadata key \"a\": BareMetalHost metal3/host-1 spec.bootMACAddress is empty: \
                 spec.metaData.fromHostInterfaces[0].fromBootMAC (key a)",
            ),
            (
                json!({"objectNames": [{"key": "a", "object": "node"}]}),
                "unknown object type: spec.metaData.objectNames[0].object, \
                 node is none of machine, metal3machine, baremetalhost (key a)",
            ),
        ] {
            assert_eq!(setting.meta_data(template).unwrap_err(), expected);
        }
    }
}

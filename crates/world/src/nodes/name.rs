//! What a node is called and which labels it brings, from kubeadm's configuration and the node's metadata.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::config_drives::NodeData;

/// What kubeadm's configuration says of the node itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Registration {
    name: Option<String>,
    arguments: BTreeMap<String, String>,
}

/// Reads the part that counts: the first machine initialises, all others join.
pub(super) fn registration(spec: &Map<String, Value>, first: bool) -> Registration {
    let parts = ["initConfiguration", "joinConfiguration"];
    let order: Vec<&str> = if first { parts.to_vec() } else { parts.into_iter().rev().collect() };
    let Some(part) = order.into_iter().find_map(|part| spec.get(part)?.get("nodeRegistration")) else {
        return Registration::default();
    };
    Registration {
        name: part.get("name").and_then(Value::as_str).map(str::to_owned),
        arguments: part.get("kubeletExtraArgs").map(arguments).unwrap_or_default(),
    }
}

/// Arguments as a map, the older form, or as a list of name and value.
fn arguments(value: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
        Value::Array(list) => list
            .iter()
            .filter_map(|a| Some((a.get("name")?.as_str()?.to_owned(), text(a.get("value")?))))
            .collect(),
        _ => BTreeMap::new(),
    }
}

impl Registration {
    /// The node's name: as configured, else from the metadata, else the host's.
    pub(super) fn node_name(&self, data: &NodeData, host: &str) -> String {
        let configured =
            self.name.as_deref().and_then(|name| render(name, data)).filter(|name| !name.is_empty());
        let given =
            || ["local-hostname", "local_hostname", "hostname", "name"].iter().find_map(|key| data.text(key));
        configured.or_else(given).unwrap_or_else(|| host.to_owned()).to_lowercase()
    }

    /// The labels with which the kubelet registers.
    pub(super) fn labels(&self, data: &NodeData) -> BTreeMap<String, String> {
        let text = self.argument("node-labels", data).unwrap_or_default();
        let pairs = text.split(',').filter_map(|pair| pair.trim().split_once('='));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// The provider ID with which the kubelet registers, if it is given one.
    pub(super) fn provider_id(&self, data: &NodeData) -> Option<String> {
        self.argument("provider-id", data).filter(|id| !id.is_empty())
    }

    fn argument(&self, name: &str, data: &NodeData) -> Option<String> {
        render(self.arguments.get(name)?, data)
    }
}

/// Replaces `{{ ds.meta_data.key }}`; `None` when a key is unknown or anything else stands in the braces.
fn render(template: &str, data: &NodeData) -> Option<String> {
    let mut rendered = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (expression, after) = after.split_once("}}")?;
        rendered.push_str(before);
        rendered.push_str(&value(expression.trim(), data)?);
        rest = after;
    }
    rendered.push_str(rest);
    Some(rendered)
}

/// The template language knows no `-` in names, so a key is also found with `_` in its place.
fn value(expression: &str, data: &NodeData) -> Option<String> {
    let key = expression.strip_prefix("ds.meta_data.")?;
    data.text(key).or_else(|| {
        let alike = |known: &&String| known.replace('-', "_") == key;
        data.text(data.meta_data.keys().find(alike)?)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn data(pairs: &[(&str, &str)]) -> NodeData {
        let meta_data = pairs.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        NodeData { meta_data, ..NodeData::default() }
    }

    fn spec(registration: Value) -> Map<String, Value> {
        let spec = json!({"joinConfiguration": {"nodeRegistration": registration}});
        spec.as_object().unwrap().clone()
    }

    #[test]
    fn the_name_follows_the_configuration_then_the_metadata_then_the_host() {
        let all = [("name", "n"), ("local-hostname", "Lh"), ("metal3-name", "m")];
        let rows = [
            (json!({"name": "{{ ds.meta_data.name }}"}), &all[..], "n"),
            (json!({"name": "x-{{ds.meta_data.metal3_name}}-y"}), &all[..], "x-m-y"),
            (json!({"name": "{{ ds.meta_data.unknown }}"}), &all[..], "lh"),
            (json!({"name": "{{ something | else }}"}), &all[..], "lh"),
            (json!({}), &all[..], "lh"),
            (json!({}), &all[..1], "n"),
            (json!({}), &[][..], "host-1"),
        ];
        for (configured, given, expected) in rows {
            let name = registration(&spec(configured.clone()), false).node_name(&data(given), "host-1");
            assert_eq!(name, expected, "{configured}");
        }
    }

    #[test]
    fn arguments_are_read_as_list_and_as_map() {
        let given = data(&[("uuid", "u-1"), ("providerid", "ns/h/m")]);
        let list = json!({"kubeletExtraArgs": [
            {"name": "node-labels", "value": "metal3.io/uuid={{ ds.meta_data.uuid }},zone=a"},
            {"name": "provider-id", "value": "metal3://{{ ds.meta_data.providerid }}"}]});
        let map = json!({"kubeletExtraArgs": {"node-labels": "metal3.io/uuid={{ ds.meta_data.uuid }},zone=a",
            "provider-id": "metal3://{{ ds.meta_data.providerid }}"}});
        for form in [list, map] {
            let registration = registration(&spec(form), false);
            let labels = registration.labels(&given);
            assert_eq!(json!(labels), json!({"metal3.io/uuid": "u-1", "zone": "a"}));
            assert_eq!(registration.provider_id(&given).as_deref(), Some("metal3://ns/h/m"));
        }
    }

    #[test]
    fn the_first_machine_reads_the_init_part_and_others_the_join_part() {
        let both = json!({"initConfiguration": {"nodeRegistration": {"name": "first"}},
            "joinConfiguration": {"nodeRegistration": {"name": "other"}}});
        let spec = both.as_object().unwrap();
        assert_eq!(registration(spec, true).node_name(&data(&[]), "h"), "first");
        assert_eq!(registration(spec, false).node_name(&data(&[]), "h"), "other");
    }
}

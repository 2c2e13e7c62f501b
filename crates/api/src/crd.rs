//! CustomResourceDefinitions of the provider's own kinds, generated from the Rust types.
//!
//! A derived schema is not yet a Kubernetes one: `nullable`, `title`, integer formats and references are normalised
//! away in one pass, so that an API server prunes, defaults and validates as the types say.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{ApiKind, ipam, v1beta2};

/// What beyond the type a CRD says.
struct Extras {
    short_names: &'static [&'static str],
    status: bool,
    columns: Value,
}

/// Every CRD of the provider and of the built-in address manager.
pub fn all() -> Vec<Value> {
    let age = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"});
    let cluster = json!({"name": "Cluster", "type": "string",
        "jsonPath": ".metadata.labels.cluster\\.x-k8s\\.io/cluster-name"});
    let provisioned =
        json!({"name": "Provisioned", "type": "boolean", "jsonPath": ".status.initialization.provisioned"});
    let provider_id = json!({"name": "ProviderID", "type": "string", "jsonPath": ".spec.providerID"});
    let endpoint = json!({"name": "Endpoint", "type": "string", "jsonPath": ".spec.controlPlaneEndpoint"});
    let m3 = |short, status, columns| Extras { short_names: short, status, columns };
    vec![
        crd::<v1beta2::Metal3ClusterSpec, v1beta2::Metal3ClusterStatus>(
            v1beta2::Metal3Cluster::API,
            m3(
                &["m3c", "m3cluster", "m3clusters", "metal3c"],
                true,
                json!([age, provisioned, cluster, endpoint]),
            ),
        ),
        crd::<v1beta2::Metal3MachineSpec, v1beta2::Metal3MachineStatus>(
            v1beta2::Metal3Machine::API,
            m3(
                &["m3m", "m3machine", "m3machines", "metal3m"],
                true,
                json!([age, provider_id, provisioned, cluster]),
            ),
        ),
        crd::<v1beta2::Metal3MachineTemplateSpec, ()>(
            v1beta2::Metal3MachineTemplate::API,
            m3(&["m3mt", "m3machinetemplate", "m3machinetemplates", "metal3mt"], false, json!([age])),
        ),
        crd::<v1beta2::Metal3DataTemplateSpec, v1beta2::Metal3DataTemplateStatus>(
            v1beta2::Metal3DataTemplate::API,
            m3(&["m3dt", "m3datatemplate", "m3datatemplates", "metal3dt"], true, json!([cluster, age])),
        ),
        crd::<v1beta2::Metal3DataClaimSpec, v1beta2::Metal3DataClaimStatus>(
            v1beta2::Metal3DataClaim::API,
            m3(&["m3dc", "m3dataclaim", "m3dataclaims", "metal3dc"], true, json!([age])),
        ),
        crd::<v1beta2::Metal3DataSpec, v1beta2::Metal3DataStatus>(
            v1beta2::Metal3Data::API,
            m3(&["m3d", "m3data", "m3datas", "metal3d"], true, json!([age])),
        ),
        crd::<v1beta2::Metal3ClusterTemplateSpec, ()>(
            v1beta2::Metal3ClusterTemplate::API,
            m3(&["m3ct"], false, json!([age])),
        ),
        crd::<v1beta2::Metal3RemediationSpec, v1beta2::Metal3RemediationStatus>(
            v1beta2::Metal3Remediation::API,
            m3(&["m3r", "m3remediation"], true, json!([age])),
        ),
        crd::<v1beta2::Metal3RemediationTemplateSpec, v1beta2::Metal3RemediationTemplateStatus>(
            v1beta2::Metal3RemediationTemplate::API,
            m3(&["m3rt", "m3remediationtemplate", "m3remediationtemplates", "metal3rt"], true, json!([age])),
        ),
        crd::<ipam::IpPoolSpec, ipam::IpPoolStatus>(
            ipam::IpPool::API,
            m3(&["ipp", "m3ipp", "m3ippool", "m3ippools", "metal3ipp"], true, json!([cluster, age])),
        ),
        crd::<ipam::IpClaimSpec, ipam::IpClaimStatus>(
            ipam::IpClaim::API,
            m3(&["ipc", "m3ipc", "m3ipclaim", "m3ipclaims", "metal3ipc"], true, json!([age])),
        ),
        crd::<ipam::IpAddressSpec, ()>(
            ipam::IpAddress::API,
            m3(&["ipa", "m3ipa", "m3ipaddress", "m3ipaddresses", "metal3ipa"], false, json!([age])),
        ),
    ]
}

fn crd<Spec: JsonSchema, Status: JsonSchema>(api: ApiKind, extras: Extras) -> Value {
    let mut properties = Map::new();
    for (name, schema) in [
        ("apiVersion", json!({"type": "string"})),
        ("kind", json!({"type": "string"})),
        ("metadata", json!({"type": "object"})),
        ("spec", structural_schema::<Spec>()),
    ] {
        properties.insert(name.to_owned(), schema);
    }
    let subresources = if extras.status {
        properties.insert("status".to_owned(), structural_schema::<Status>());
        json!({"status": {}})
    } else {
        json!({})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{}.{}", api.plural, api.group),
            "labels": {"cluster.x-k8s.io/v1beta2": "v1beta2"},
        },
        "spec": {
            "group": api.group,
            "scope": if api.namespaced { "Namespaced" } else { "Cluster" },
            "names": {"kind": api.kind, "listKind": format!("{}List", api.kind), "plural": api.plural,
                "singular": api.kind.to_lowercase(), "shortNames": extras.short_names, "categories": ["cluster-api"]},
            "versions": [{
                "name": api.version, "served": true, "storage": true, "subresources": subresources,
                "additionalPrinterColumns": extras.columns,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
            }],
        },
    })
}

/// The schema of a type as an API server accepts it.
pub fn structural_schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    normalise(&mut schema);
    schema
}

/// Formats that Kubernetes knows; the others are Rust's own and say nothing to a user.
const KNOWN_FORMATS: [&str; 4] = ["date-time", "uri", "int32", "int64"];

fn normalise(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    for word in ["nullable", "title", "components", "$schema"] {
        map.remove(word);
    }
    if map.get("format").and_then(Value::as_str).is_some_and(|f| !KNOWN_FORMATS.contains(&f)) {
        map.remove("format");
    }
    // Line breaks of the source are no paragraphs.
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text.replace("\n\n", "\u{0}").replace('\n', " ").replace('\u{0}', "\n\n");
    }
    drop_serde_default(map);
    hoist_required(map);
    for (word, child) in map.iter_mut() {
        match word.as_str() {
            "properties" => child.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(normalise),
            "items" | "additionalProperties" => normalise(child),
            _ => {}
        }
    }
}

/// Members that readers tolerate absent (`#[serde(default)]`) but that the API requires carry the mark `x-required`;
/// here the marks become the `required` list.
fn hoist_required(map: &mut Map<String, Value>) {
    let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    let mut required = Vec::new();
    for (name, property) in properties.iter_mut() {
        if property.as_object_mut().is_some_and(|p| p.remove("x-required").is_some()) {
            required.push(Value::String(name.clone()));
        }
    }
    map.remove("required");
    if !required.is_empty() {
        map.insert("required".to_owned(), Value::Array(required));
    }
}

/// `#[serde(default)]` shows up as a default; a server-side default is only what a schema attribute says, and those
/// are never null, empty text, zero, an empty list or an empty object.
fn drop_serde_default(map: &mut Map<String, Value>) {
    let empty = match map.get("default") {
        Some(Value::Null) => true,
        Some(Value::String(s)) => s.is_empty(),
        Some(Value::Number(n)) => n.as_i64() == Some(0),
        Some(Value::Array(_) | Value::Object(_)) => true,
        _ => false,
    };
    if empty {
        map.remove("default");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_carry_no_words_that_an_api_server_refuses() {
        let text = serde_json::to_string(&all()).unwrap();
        for word in ["\"nullable\"", "\"title\"", "$ref", "\"anyOf\"", "\"default\":null", "\"default\":[]"] {
            assert!(!text.contains(word), "found {word}");
        }
    }

    #[test]
    fn bounds_defaults_and_required_members_come_from_the_types() {
        let crds = all();
        let template = crds.iter().find(|c| c["spec"]["names"]["kind"] == "Metal3DataTemplate").unwrap();
        let spec =
            &template["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        let vlan = &spec["networkData"]["properties"]["links"]["properties"]["vlans"];
        assert_eq!(vlan["x-kubernetes-list-map-keys"], json!(["vlanID"]));
        assert_eq!(vlan["items"]["properties"]["vlanID"]["maximum"], json!(4096));
        assert_eq!(vlan["items"]["properties"]["mtu"]["default"], json!(1500));
        assert_eq!(vlan["items"]["required"], json!(["id", "vlanID", "vlanLink"]));
        let text = serde_json::to_string(&crds).unwrap();
        assert!(
            !text.contains("stands on, so that each rack\\n"),
            "line breaks of the source are not passed on"
        );
    }
}

//! Where everything stands: one row per machine, one per host.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::{
    conditions,
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Secret},
    v1beta2::{Metal3Data, Metal3Machine},
    vocabulary::{annotation, condition, label},
};
use capm3_provider::metal3machine::Reported;
use kube::core::ObjectMeta;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::Lab;

/// The whole picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// One row a Metal3Machine, by name.
    pub machines: Vec<MachineRow>,
    /// One row per host, by name.
    pub hosts: Vec<HostRow>,
    /// What keeps machines from being ready; filled in by who explains.
    pub waits: Vec<WaitRow>,
    /// How long it took, in real time.
    pub elapsed_ms: u128,
}

/// What a machine waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitRow {
    /// Namespace of the machine.
    pub namespace: String,
    /// Name of the Metal3Machine.
    pub machine: String,
    /// Code, message, since when and who must act.
    #[serde(flatten)]
    pub wait: Reported,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineRow {
    /// Namespace of everything in this row.
    pub namespace: String,
    /// Name of the Metal3Machine.
    pub name: String,
    /// Its host.
    pub host: Option<String>,
    /// Where the host stands.
    pub failure_domain: Option<String>,
    /// The data template in use.
    pub data_template: Option<String>,
    /// The Metal3Data.
    pub data: Option<String>,
    /// Index within the template.
    pub index: Option<i32>,
    /// VLANs of the rendered network data.
    pub vlans: Vec<i64>,
    /// Addresses of the rendered network data.
    pub addresses: Vec<String>,
    /// The provider ID.
    #[serde(rename = "providerID")]
    pub provider_id: Option<String>,
    /// Whether the machine is ready.
    pub ready: bool,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRow {
    /// Its namespace, and that of its consumer.
    pub namespace: String,
    /// Name of the host.
    pub name: String,
    /// Where it stands.
    pub failure_domain: Option<String>,
    /// Provisioning state.
    pub state: String,
    /// Who uses it.
    pub consumer: Option<String>,
}

/// Kinds that a report is made from.
pub const KINDS: [&str; 4] = ["BareMetalHost", "Metal3Data", "Secret", "Metal3Machine"];

/// Reads the picture from the server.
pub fn report(lab: &Lab, elapsed_ms: u128) -> Report {
    report_of(&lab.server().objects_of(&KINDS), elapsed_ms)
}

/// Makes the picture from objects, of which only [`KINDS`] matter.
pub fn report_of(objects: &[Arc<Value>], elapsed_ms: u128) -> Report {
    let hosts: Vec<BareMetalHost> = read_all(objects, "BareMetalHost");
    let data: Vec<Metal3Data> = read_all(objects, "Metal3Data");
    let secrets: Vec<Secret> = read_all(objects, "Secret");
    let machines = read_all::<Metal3Machine>(objects, "Metal3Machine");
    let known = Known {
        hosts: by_key(&hosts, |host| &host.metadata),
        data: by_key(&data, |data| &data.metadata),
        secrets: by_key(&secrets, |secret| &secret.metadata),
    };
    Report {
        machines: machines.iter().map(|machine| machine_row(machine, &known)).collect(),
        hosts: hosts.iter().map(host_row).collect(),
        waits: Vec::new(),
        elapsed_ms,
    }
}

fn read_all<K: DeserializeOwned>(objects: &[Arc<Value>], kind: &str) -> Vec<K> {
    let of_kind = objects.iter().filter(|object| object.get("kind").and_then(Value::as_str) == Some(kind));
    of_kind.filter_map(|object| K::deserialize(object.as_ref()).ok()).collect()
}

/// Objects by namespace and name.
type ByKey<'a, K> = BTreeMap<(&'a str, &'a str), &'a K>;

/// What the rows of machines are put together from.
struct Known<'a> {
    hosts: ByKey<'a, BareMetalHost>,
    data: ByKey<'a, Metal3Data>,
    secrets: ByKey<'a, Secret>,
}

fn by_key<K>(objects: &[K], metadata: fn(&K) -> &ObjectMeta) -> ByKey<'_, K> {
    let key = |object| (metadata(object).namespace_str(), metadata(object).name_str());
    objects.iter().map(|object| (key(object), object)).collect()
}

fn machine_row(machine: &Metal3Machine, known: &Known<'_>) -> MachineRow {
    let namespace = machine.metadata.namespace_str();
    let host = machine.metadata.annotation(annotation::HOST).and_then(|v| v.split_once('/'));
    let host = host.and_then(|(_, name)| known.hosts.get(&(namespace, name)));
    let rendered = machine.status.rendered_data.as_ref().and_then(|r| r.name.as_deref());
    let rendered = rendered.and_then(|name| known.data.get(&(namespace, name)));
    let network = machine.status.network_data.as_ref().and_then(|r| r.name.as_deref());
    let network = network.and_then(|name| known.secrets.get(&(namespace, name)));
    let network = network.and_then(|secret| network_data(secret)).unwrap_or_default();
    MachineRow {
        namespace: namespace.to_owned(),
        name: machine.metadata.name_str().to_owned(),
        host: host.map(|h| h.metadata.name_str().to_owned()),
        failure_domain: host.and_then(|h| h.metadata.label(label::FAILURE_DOMAIN)).map(str::to_owned),
        data_template: rendered.and_then(|d| d.spec.template.as_ref()?.name.clone()).map(Into::into),
        data: rendered.map(|d| d.metadata.name_str().to_owned()),
        index: rendered.and_then(|d| d.spec.index),
        vlans: each(&network, "links").filter_map(|link| link.get("vlan_id")?.as_i64()).collect(),
        addresses: each(&network, "networks")
            .filter_map(|network| network.get("ip_address")?.as_str().map(str::to_owned))
            .collect(),
        provider_id: machine.spec.provider_id.clone(),
        ready: conditions::is_true(&machine.status.conditions, condition::READY)
            && machine.spec.provider_id.is_some(),
    }
}

fn host_row(host: &BareMetalHost) -> HostRow {
    HostRow {
        namespace: host.metadata.namespace_str().to_owned(),
        name: host.metadata.name_str().to_owned(),
        failure_domain: host.metadata.label(label::FAILURE_DOMAIN).map(str::to_owned),
        state: host.state().to_owned(),
        consumer: host.spec.consumer_ref.as_ref().and_then(|c| c.name.clone()),
    }
}

/// The network data in a Secret, read by a YAML parser as a node would.
fn network_data(secret: &Secret) -> Option<Value> {
    let encoded = secret.data.get("networkData").or_else(|| secret.data.get("value"))?;
    let text = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    serde_saphyr::from_str(&text).ok()
}

fn each<'a>(document: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    document.get(list).and_then(Value::as_array).into_iter().flatten()
}

impl Report {
    /// Namespaces of the machines and hosts.
    pub fn namespaces(&self) -> BTreeSet<&str> {
        let machines = self.machines.iter().map(|machine| machine.namespace.as_str());
        machines.chain(self.hosts.iter().map(|host| host.namespace.as_str())).collect()
    }

    /// What occurs twice and must not: provider IDs, and within a namespace hosts, addresses, and indexes of one
    /// template. Two namespaces may have equal names, and networks of their own with equal addresses.
    pub fn duplicates(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let mut twice = Vec::new();
        let several = self.namespaces().len() > 1;
        for machine in &self.machines {
            let place = if several { format!(" of namespace {}", machine.namespace) } else { String::new() };
            let index = machine.data_template.as_ref().zip(machine.index);
            let index = index.map(|(template, index)| format!("index {template}/{index}{place}"));
            let marks = machine.host.iter().map(|host| format!("host {host}{place}"));
            let marks = marks.chain(machine.provider_id.iter().map(|p| format!("provider ID {p}")));
            let addresses = machine.addresses.iter().map(|address| format!("address {address}{place}"));
            let marks = marks.chain(addresses).chain(index);
            twice.extend(marks.filter(|mark| !seen.insert(mark.clone())));
        }
        twice
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_machine_is_shown_with_what_is_its_own_in_its_own_namespace() {
        let mut objects = Vec::new();
        for (namespace, rack, index) in [("a", "rack1", 1), ("b", "rack2", 2)] {
            let named = |name: &str| json!({"namespace": namespace, "name": name});
            let mut host = json!({"kind": "BareMetalHost", "metadata": named("h")});
            host["metadata"]["labels"] = json!({label::FAILURE_DOMAIN: rack});
            let data = json!({"kind": "Metal3Data", "metadata": named("d"), "spec": {"index": index}});
            let text = format!("networks: [{{ip_address: 10.0.0.{index}}}]");
            let secret = json!({"kind": "Secret", "metadata": named("s"),
                "data": {"networkData": BASE64_STANDARD.encode(text)}});
            let mut machine = json!({"kind": "Metal3Machine", "metadata": named("m"), "spec": {},
                "status": {"renderedData": {"name": "d"}, "networkData": {"name": "s"}}});
            machine["metadata"]["annotations"] = json!({annotation::HOST: format!("{namespace}/h")});
            objects.extend([host, data, secret, machine].map(Arc::new));
        }
        let machines = report_of(&objects, 0).machines;
        let seen: Vec<_> =
            machines.iter().map(|m| (m.failure_domain.as_deref(), m.index, m.addresses.concat())).collect();
        let expected = [
            (Some("rack1"), Some(1), "10.0.0.1".to_owned()),
            (Some("rack2"), Some(2), "10.0.0.2".to_owned()),
        ];
        assert_eq!(seen, expected);
    }

    fn row(namespace: &str, name: &str, host: &str) -> MachineRow {
        MachineRow {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            host: Some(host.to_owned()),
            failure_domain: None,
            data_template: Some("t".to_owned()),
            data: None,
            index: Some(0),
            vlans: Vec::new(),
            addresses: vec!["10.0.0.1".to_owned()],
            provider_id: Some(format!("metal3://{namespace}/{host}/{name}")),
            ready: true,
        }
    }

    #[test]
    fn equal_names_in_two_namespaces_are_no_duplicates_and_in_one_they_are() {
        let duplicates = |rows: &[MachineRow]| {
            Report { machines: rows.to_vec(), hosts: Vec::new(), waits: Vec::new(), elapsed_ms: 0 }
                .duplicates()
        };
        assert_eq!(duplicates(&[row("a", "m", "h"), row("b", "m", "h")]), [""; 0]);
        let one = ["host h", "address 10.0.0.1", "index t/0"];
        assert_eq!(duplicates(&[row("a", "m", "h"), row("a", "n", "h")]), one);
        let several =
            ["host h of namespace b", "address 10.0.0.1 of namespace b", "index t/0 of namespace b"];
        assert_eq!(duplicates(&[row("a", "m", "h"), row("b", "m", "h"), row("b", "n", "h")]), several);
    }
}

//! A small machine for the tests of this module.

use std::collections::BTreeMap;

use capm3_api::{
    neighbours::{BareMetalHost, Machine},
    v1beta2::{Metal3Data, Metal3DataTemplateSpec, Metal3Machine},
};
use serde_json::{Value, json};

use super::{Address, Inputs, Objects, referenced_pools, render_meta_data, render_network_data};

/// Objects of the machine, and what its pools gave.
pub(super) struct Setting {
    data: Metal3Data,
    metal3_machine: Metal3Machine,
    machine: Machine,
    host: BareMetalHost,
    addresses: BTreeMap<String, Address>,
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn address(value: &Value) -> Address {
    let text = |member: &str| value[member].as_str().unwrap_or_default().to_owned();
    Address {
        address: text("address"),
        prefix: value["prefix"].as_i64().map(|prefix| i32::try_from(prefix).unwrap()),
        gateway: text("gateway"),
        dns_servers: value["dnsServers"].as_array().map_or_else(Vec::new, |servers| {
            servers.iter().filter_map(|server| server.as_str().map(str::to_owned)).collect()
        }),
    }
}

impl Setting {
    pub fn new(pools: Value) -> Self {
        let machine = json!({"metadata": {
            "name": "machine-1", "namespace": "metal3",
            "annotations": {"pool6": "v6", "mac": "52:54:00:aa:01:07"}, "labels": {"role": "worker"}
        }});
        let host = json!({
            "metadata": {"name": "host-1", "namespace": "metal3", "labels": {"disk": "nvme"},
                "annotations": {"pool": "v4", "rack": "r7"}},
            "status": {"hardware": {"nics": [{"name": "enp1s0", "mac": "52:54:00:aa:01:01"}]}}
        });
        Self {
            data: read(json!({"metadata": {"name": "t-0", "namespace": "metal3"}, "spec": {"index": 0}})),
            metal3_machine: read(json!({"metadata": {"name": "m3m-1", "namespace": "metal3",
                "labels": {"zone": "z1"}, "annotations": {"asset": "a-9", "pool4": "v4"}}})),
            machine: read(machine),
            host: read(host),
            addresses: pools.as_object().unwrap().iter().map(|(k, v)| (k.clone(), address(v))).collect(),
        }
    }

    /// The same machine with another index.
    pub fn at(mut self, index: i32) -> Self {
        self.data.spec.index = Some(index);
        self
    }

    /// The same machine on a host with this spec and status.
    pub fn on(mut self, spec: Value, status: Value) -> Self {
        self.host.spec = read(spec);
        self.host.status = read(status);
        self
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            data: &self.data,
            objects: Objects {
                metal3_machine: Some(&self.metal3_machine),
                machine: Some(&self.machine),
                host: Some(&self.host),
            },
            addresses: &self.addresses,
        }
    }

    pub fn meta_data(&self, template: Value) -> Result<String, String> {
        render_meta_data(&read(template), &self.inputs()).map_err(|error| error.to_string())
    }

    /// The pools of a template, each as group, kind and name.
    pub fn pools(&self, template: Value) -> Result<Vec<String>, String> {
        let pools = referenced_pools(&read(template), self.inputs().objects).map_err(|e| e.to_string())?;
        Ok(pools.into_values().map(|p| format!("{}/{}/{}", p.api_group, p.kind, p.name)).collect())
    }

    /// The message about a template `t` that cannot be rendered.
    pub fn advice(&self, template: Value) -> String {
        let spec: Metal3DataTemplateSpec = read(template);
        let pools = referenced_pools(&spec, self.inputs().objects).map(drop);
        let meta_data = spec.meta_data.iter().map(|half| render_meta_data(half, &self.inputs()).map(drop));
        let network_data =
            spec.network_data.iter().map(|half| render_network_data(half, &self.inputs()).map(drop));
        let all = std::iter::once(pools).chain(meta_data).chain(network_data);
        all.filter_map(Result::err).next().map(|error| error.advice("t")).unwrap_or_default()
    }

    pub fn network_data(&self, template: Value) -> Result<String, String> {
        render_network_data(&read(template), &self.inputs()).map_err(|error| error.to_string())
    }
}

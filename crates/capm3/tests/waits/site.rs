//! The objects that every scene starts from: one cluster, one machine, one host, and data with one address.

use capm3_lab::manifests::Manifest;
use serde_json::{Value, json};

/// Namespace of everything.
pub const HOME: &str = "n";

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CAPI: &str = "cluster.x-k8s.io/v1beta2";

/// Objects, to be changed before they are put anywhere.
pub struct Site(pub Vec<Value>);

impl Site {
    /// Everything that a machine needs to be provisioned. There is no workload cluster.
    pub fn whole() -> Self {
        let image = json!({"url": "http://192.0.2.1/image.qcow2", "checksum": "http://192.0.2.1/image.sum"});
        let labels = json!({"cluster.x-k8s.io/cluster-name": "c"});
        Self(vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}),
            secret("boot"),
            secret("bmc"),
            object(CAPI, "Cluster", "c", json!({"infrastructureRef": reference("Metal3Cluster", "c")})),
            ours(
                "Metal3Cluster",
                "c",
                json!({"controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443}, "cloudProviderEnabled": false}),
            ),
            object(
                CAPI,
                "Machine",
                "m",
                json!({"clusterName": "c", "version": "v1.36.0", "bootstrap": {"dataSecretName": "boot"},
                    "infrastructureRef": reference("Metal3Machine", "m")}),
            ),
            ours("Metal3Machine", "m", json!({"image": image, "dataTemplate": {"name": "d"}})),
            ours(
                "Metal3DataTemplate",
                "d",
                json!({"metaData": {"ipAddressesFromPool": [{"key": "p", "name": "p"}]}}),
            ),
            pool("p"),
            host("h"),
        ])
        .with("Machine", "m", &json!({"metadata": {"labels": labels}}))
        .with("Metal3Machine", "m", &json!({"metadata": {"labels": labels}}))
    }

    /// The same as Cluster API leaves it: with owners, and with the infrastructure of the Cluster ready.
    pub fn grown() -> Self {
        let owner = |kind: &str, name: &str| json!({"metadata": {"ownerReferences": [owner(kind, name)]}});
        let ready = json!({"status": {"initialization": {"infrastructureProvisioned": true}}});
        let mut site = Self::whole()
            .with("Cluster", "c", &ready)
            .with("Metal3Cluster", "c", &owner("Cluster", "c"))
            .with("Metal3Machine", "m", &owner("Machine", "m"));
        for object in &mut site.0 {
            let uid = format!(
                "{}-{}",
                object["kind"].as_str().unwrap(),
                object["metadata"]["name"].as_str().unwrap()
            );
            object["metadata"]["uid"] = json!(uid.to_lowercase());
        }
        site
    }

    /// Merges a patch into an object.
    pub fn with(mut self, kind: &str, name: &str, patch: &Value) -> Self {
        let mut found = self.0.iter_mut().filter(|object| is(object, kind, name));
        json_patch::merge(found.next().unwrap_or_else(|| panic!("no {kind} {name}")), patch);
        self
    }

    /// Leaves an object out.
    pub fn without(mut self, kind: &str, name: &str) -> Self {
        let before = self.0.len();
        self.0.retain(|object| !is(object, kind, name));
        assert_eq!(self.0.len() + 1, before, "{kind} {name}");
        self
    }

    /// Adds an object.
    pub fn and(mut self, object: Value) -> Self {
        self.0.push(object);
        self
    }

    /// The same as manifests.
    pub fn manifests(&self) -> Vec<Manifest> {
        self.0.iter().map(|object| Manifest { file: "site".to_owned(), object: object.clone() }).collect()
    }
}

/// An owner reference as [`Site::grown`] gives uids.
pub fn owner(kind: &str, name: &str) -> Value {
    let api_version = match kind {
        "Metal3Machine" | "Metal3DataClaim" => format!("{INFRASTRUCTURE}/v1beta2"),
        _ => CAPI.to_owned(),
    };
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": format!("{kind}-{name}").to_lowercase()})
}

fn is(object: &Value, kind: &str, name: &str) -> bool {
    object["kind"] == kind && object["metadata"]["name"] == name
}

fn reference(kind: &str, name: &str) -> Value {
    json!({"apiGroup": INFRASTRUCTURE, "kind": kind, "name": name})
}

/// An object of the namespace.
pub fn object(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": HOME}, "spec": spec})
}

/// An object of the provider's own kinds.
pub fn ours(kind: &str, name: &str, spec: Value) -> Value {
    object(&format!("{INFRASTRUCTURE}/v1beta2"), kind, name, spec)
}

pub fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": HOME}, "stringData": {"value": "x"}})
}

pub fn pool(name: &str) -> Value {
    let spec =
        json!({"namePrefix": name, "prefix": 24, "pools": [{"start": "10.1.0.10", "end": "10.1.0.20"}]});
    object("ipam.metal3.io/v1alpha1", "IPPool", name, spec)
}

pub fn host(name: &str) -> Value {
    let mac = "52:54:00:00:00:01";
    let hardware = json!({"hostname": name, "nics": [{"name": "eno1", "mac": mac}]});
    let mut host = object(
        "metal3.io/v1alpha1",
        "BareMetalHost",
        name,
        json!({"online": true, "bootMACAddress": mac,
            "bmc": {"address": "redfish+http://192.0.2.1/1", "credentialsName": "bmc"}}),
    );
    host["metadata"]["annotations"] = json!({"inspect.metal3.io/hardwaredetails": hardware.to_string()});
    host
}

//! A fleet whose machines are all ready, as its objects stand in an API server, made without running anything.
//!
//! Gives objects with status, owners and finalizers. `<uid of Kind name>` stands for the uid of an object, in owner references
//! as in the object itself, so that the objects fit together as they are and [`crate::Lab::server_on`] can store them.

use serde_json::{Value, json};

/// Namespace of everything.
pub const NAMESPACE: &str = "metal3";

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const IPAM: &str = "ipam.metal3.io/v1alpha1";
const IMAGE: &str = "http://192.0.2.1/image.qcow2";

/// A cluster of machines `m-0`, `m-1` and so on, each with its host `h-0`, its data `t-0` and its address; no Nodes.
pub fn finished(machines: usize) -> Vec<Value> {
    let mut objects = shared(machines);
    objects.extend((0..machines).flat_map(machine));
    objects
}

/// The objects of one machine.
pub fn machine(number: usize) -> Vec<Value> {
    let mut objects = Vec::from(owners(number));
    objects.push(host(number));
    objects.extend(data(number));
    objects.extend(secrets(number));
    objects
}

/// The address of a machine.
pub fn address(number: usize) -> String {
    let number = number + 10;
    format!("10.{}.{}.{}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff)
}

/// The Node of a machine.
pub fn node(number: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("h-{number}"), "uid": uid("Node", &format!("h-{number}"))},
        "spec": {"providerID": provider_id(number)}})
}

/// What the machines have in common.
pub fn shared(machines: usize) -> Vec<Value> {
    let entries: Vec<Value> =
        (0..machines).map(|number| json!({"name": format!("m-{number}"), "index": number})).collect();
    let addresses: serde_json::Map<String, Value> =
        (0..machines).map(|number| (format!("t-{number}-p"), address(number).into())).collect();
    let of_cluster = || json!([owner(CAPI, "Cluster", "c")]);
    let ready =
        json!({"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true}});
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
        object(
            CAPI,
            "Cluster",
            "c",
            &json!({}),
            &json!({"spec": {"infrastructureRef":
            {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Cluster", "name": "c"}}, "status": ready}),
        ),
        object(
            INFRASTRUCTURE,
            "Metal3Cluster",
            "c",
            &json!({"ownerReferences": of_cluster()}),
            &json!({"spec": {"controlPlaneEndpoint": {"host": "10.255.0.1", "port": 6443}, "cloudProviderEnabled": true},
                "status": {"initialization": {"provisioned": true}}}),
        ),
        object(
            CAPI,
            "MachineDeployment",
            "md",
            &json!({"ownerReferences": of_cluster()}),
            &json!({"spec": {"clusterName": "c", "selector": {}, "template": {"spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "x"},
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3MachineTemplate", "name": "mt"}}}}}),
        ),
        object(
            CAPI,
            "MachineSet",
            "ms",
            &json!({"ownerReferences": [owner(CAPI, "MachineDeployment", "md")]}),
            &json!({"spec": {"clusterName": "c", "selector": {}, "template": {"spec": {"clusterName": "c", "bootstrap": {"dataSecretName": "x"},
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3MachineTemplate", "name": "mt"}}}}}),
        ),
        object(
            INFRASTRUCTURE,
            "Metal3MachineTemplate",
            "mt",
            &json!({"ownerReferences": of_cluster()}),
            &json!({"spec": {"template": {"spec": {"image": {"url": IMAGE, "checksum": "http://192.0.2.1/sum"}, "dataTemplate": {"name": "t"}}}}}),
        ),
        object(
            INFRASTRUCTURE,
            "Metal3DataTemplate",
            "t",
            &json!({"finalizers": ["metal3datatemplate.infrastructure.cluster.x-k8s.io"], "labels": labels()}),
            &json!({"spec": {"metaData": {"objectNames": [{"key": "name", "object": "machine"}],
                "ipAddressesFromPool": [{"key": "ip", "name": "p"}]}}, "status": {"indexes": entries}}),
        ),
        object(
            IPAM,
            "IPPool",
            "p",
            &json!({"finalizers": ["ippool.ipam.metal3.io"], "ownerReferences": of_cluster()}),
            &json!({"spec": {"clusterName": "c", "namePrefix": "p", "prefix": 8, "pools": [{"start": "10.0.0.10", "end": "10.127.255.250"}]},
                "status": {"indexes": addresses}}),
        ),
    ]
}

/// Machine and Metal3Machine.
fn owners(number: usize) -> [Value; 2] {
    let name = format!("m-{number}");
    let addresses = json!([{"type": "InternalIP", "address": address(number)}, {"type": "Hostname", "address": format!("h-{number}")}]);
    let secret = |suffix: &str| json!({"name": format!("{name}{suffix}"), "namespace": NAMESPACE});
    [
        object(
            CAPI,
            "Machine",
            &name,
            &json!({"labels": labels(), "finalizers": ["machine.cluster.x-k8s.io"], "ownerReferences": [owner(CAPI, "MachineSet", "ms")]}),
            &json!({"spec": {"clusterName": "c", "providerID": provider_id(number), "bootstrap": {"dataSecretName": name},
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Machine", "name": name}},
                "status": {"nodeRef": {"name": format!("h-{number}")}, "initialization": {"bootstrapDataSecretCreated": true}}}),
        ),
        object(
            INFRASTRUCTURE,
            "Metal3Machine",
            &name,
            &json!({"labels": labels(), "finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io"],
                "annotations": {"metal3.io/BareMetalHost": format!("{NAMESPACE}/h-{number}")}, "ownerReferences": [owner(CAPI, "Machine", &name)]}),
            &json!({"spec": {"providerID": provider_id(number), "image": {"url": IMAGE, "checksum": "http://192.0.2.1/sum"},
                "dataTemplate": {"name": "t", "namespace": NAMESPACE}},
                "status": {"initialization": {"provisioned": true}, "addresses": addresses, "userData": secret(""),
                    "metaData": secret("-metadata"), "renderedData": {"name": format!("t-{number}"), "namespace": NAMESPACE}}}),
        ),
    ]
}

fn host(number: usize) -> Value {
    let name = format!("h-{number}");
    let mac =
        format!("52:54:00:{:02x}:{:02x}:{:02x}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff);
    let secret = |suffix: &str| json!({"name": format!("m-{number}{suffix}"), "namespace": NAMESPACE});
    let hardware = json!({"hostname": name, "nics": [{"name": "eno1", "mac": mac, "ip": address(number)}],
        "cpu": {"arch": "x86_64", "count": 32}, "ramMebibytes": 131_072});
    object(
        "metal3.io/v1alpha1",
        "BareMetalHost",
        &name,
        &json!({"labels": labels(), "annotations": {"clusterctl.cluster.x-k8s.io/block-move": ""}, "finalizers": ["baremetalhost.metal3.io"]}),
        &json!({"spec": {"online": true, "bootMACAddress": mac, "image": {"url": IMAGE, "checksum": "http://192.0.2.1/sum"},
            "bmc": {"address": format!("redfish+http://192.0.2.1/{number}"), "credentialsName": format!("bmc-{number}")},
            "consumerRef": {"apiVersion": INFRASTRUCTURE, "kind": "Metal3Machine", "name": format!("m-{number}"), "namespace": NAMESPACE},
            "userData": secret(""), "metaData": secret("-metadata")},
            "status": {"poweredOn": true, "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "hardwareProfile": "unknown",
                "provisioning": {"state": "provisioned", "ID": name, "image": {"url": IMAGE}}, "hardware": hardware}}),
    )
}

/// The claim, the data, and the claim of its address with the address.
fn data(number: usize) -> [Value; 4] {
    let (machine, data, claim) = (format!("m-{number}"), format!("t-{number}"), format!("t-{number}-p"));
    let given = format!("p-{}", address(number).replace('.', "-"));
    let here = |name: &str| json!({"name": name, "namespace": NAMESPACE});
    [
        object(
            INFRASTRUCTURE,
            "Metal3DataClaim",
            &machine,
            &json!({"labels": labels(), "ownerReferences": [owner(INFRASTRUCTURE, "Metal3Machine", &machine)],
                "finalizers": ["metal3dataclaim.infrastructure.cluster.x-k8s.io", "metal3machine.infrastructure.cluster.x-k8s.io"]}),
            &json!({"spec": {"template": here("t")}, "status": {"renderedData": here(&data)}}),
        ),
        object(
            INFRASTRUCTURE,
            "Metal3Data",
            &data,
            &json!({"labels": labels(),
                "ownerReferences": [owner(INFRASTRUCTURE, "Metal3DataClaim", &machine), owner(INFRASTRUCTURE, "Metal3Machine", &machine)],
                "finalizers": ["metal3data.infrastructure.cluster.x-k8s.io", "metal3dataclaim.infrastructure.cluster.x-k8s.io"]}),
            &json!({"spec": {"index": number, "claim": here(&machine), "template": here("t"), "metaData": here(&format!("{machine}-metadata"))},
                "status": {"ready": true}}),
        ),
        object(
            IPAM,
            "IPClaim",
            &claim,
            &json!({"labels": {"cluster.x-k8s.io/cluster-name": "c", "infrastructure.cluster.x-k8s.io/data-name": data},
                "ownerReferences": [owner(INFRASTRUCTURE, "Metal3Data", &data)],
                "finalizers": ["metal3data.infrastructure.cluster.x-k8s.io", "ipclaim.ipam.metal3.io"]}),
            &json!({"spec": {"pool": here("p")}, "status": {"address": here(&given)}}),
        ),
        object(
            IPAM,
            "IPAddress",
            &given,
            &json!({"labels": labels(), "finalizers": ["ipaddress.ipam.metal3.io"],
                "ownerReferences": [owner(IPAM, "IPPool", "p"), owner(IPAM, "IPClaim", &claim)]}),
            &json!({"spec": {"address": address(number), "prefix": 8, "pool": here("p"), "claim": here(&claim)}}),
        ),
    ]
}

/// User data, metadata and the credentials of the host.
fn secrets(number: usize) -> [Value; 3] {
    let machine = format!("m-{number}");
    let secret = |name: &str, metadata: &Value| {
        object("v1", "Secret", name, metadata, &json!({"data": {"value": "eA=="}}))
    };
    [
        secret(&machine, &json!({"labels": labels(), "ownerReferences": [owner(CAPI, "Machine", &machine)]})),
        secret(
            &format!("{machine}-metadata"),
            &json!({"labels": labels(), "ownerReferences": [owner(INFRASTRUCTURE, "Metal3Data", &format!("t-{number}"))]}),
        ),
        secret(&format!("bmc-{number}"), &json!({"labels": labels()})),
    ]
}

fn provider_id(number: usize) -> String {
    format!("metal3://{NAMESPACE}/h-{number}/m-{number}")
}

fn labels() -> Value {
    json!({"cluster.x-k8s.io/cluster-name": "c"})
}

fn uid(kind: &str, name: &str) -> String {
    format!("<uid of {kind} {name}>")
}

fn owner(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid(kind, name)})
}

fn object(api_version: &str, kind: &str, name: &str, metadata: &Value, rest: &Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid(kind, name), "resourceVersion": "1"}});
    for (target, extra) in [("/metadata", metadata), ("", rest)] {
        if let (Some(Value::Object(members)), Value::Object(extra)) = (object.pointer_mut(target), extra) {
            members.extend(extra.clone());
        }
    }
    object
}

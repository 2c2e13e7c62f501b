//! One finished machine of a fleet, as its objects stand in an API server with all that controllers and hardware write
//! into them. [`NUMBER`] stands for the number of the machine.

use serde_json::{Value, json};

/// What is to be replaced by the number of the machine.
pub const NUMBER: &str = "NUMBER";

const NAMESPACE: &str = "fleet";
const NOW: &str = "2026-01-01T00:00:00Z";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

/// A provisioned host with the inventory of a usual server, some seven kilobytes of text.
pub fn host() -> Value {
    let nics: Vec<Value> = (0..6)
        .map(|nic| {
            json!({"name": format!("eno{nic}"), "mac": format!("52:54:00:00:0{nic}:01"), "ip": format!("192.0.2.{nic}"),
                "model": "0x8086 0x1572", "speedGbps": 25, "pxe": nic == 0, "vlanId": 0})
        })
        .collect();
    let disks: Vec<Value> = (0..4)
        .map(|disk| {
            json!({"name": format!("/dev/disk/by-path/pci-0000:00:1f.2-ata-{disk}"), "type": "SSD", "rotational": false,
                "sizeBytes": 480_103_981_056_u64, "model": "SSDSC2KG480G8", "serialNumber": format!("PHYG0{disk}"),
                "wwn": format!("0x55cd2e41512d65a{disk}"), "hctl": format!("{disk}:0:0:0")})
        })
        .collect();
    let flags: Vec<String> = (0..120).map(|flag| format!("avx512_{flag}")).collect();
    json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": metadata("host-NUMBER", "host-uid-NUMBER-4b0c-9f3e-1a2b3c4d5e6f", &json!({
            "labels": {"cluster.x-k8s.io/cluster-name": "fleet", "infrastructure.cluster.x-k8s.io/failure-domain": "rack-1"},
            "annotations": {"metal3.io/BareMetalHost": "fleet/host-NUMBER"},
            "finalizers": ["baremetalhost.metal3.io"],
            "ownerReferences": [owner("Metal3Machine", "workers-NUMBER")]})),
        "spec": {"online": true, "bootMACAddress": "52:54:00:00:00:01", "bootMode": "UEFI",
            "bmc": {"address": "redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/NUMBER", "credentialsName": "bmc-NUMBER"},
            "consumerRef": {"apiVersion": INFRASTRUCTURE, "kind": "Metal3Machine", "name": "workers-NUMBER", "namespace": NAMESPACE},
            "image": {"url": "http://192.0.2.1/image.qcow2", "checksum": "http://192.0.2.1/image.sum", "format": "qcow2"},
            "userData": {"name": "workers-NUMBER", "namespace": NAMESPACE},
            "metaData": {"name": "workers-NUMBER-metadata", "namespace": NAMESPACE},
            "networkData": {"name": "workers-NUMBER-networkdata", "namespace": NAMESPACE},
            "automatedCleaningMode": "metadata"},
        "status": {"operationalStatus": "OK", "poweredOn": true, "hardwareProfile": "unknown", "errorCount": 0,
            "errorMessage": "", "lastUpdated": NOW, "provisioning": {"state": "provisioned", "ID": "id-NUMBER",
                "bootMode": "UEFI", "image": {"url": "http://192.0.2.1/image.qcow2"}},
            "hardware": {"hostname": "host-NUMBER", "ramMebibytes": 196_608, "nics": nics, "storage": disks,
                "cpu": {"arch": "x86_64", "model": "Xeon", "clockMegahertz": 3100, "count": 64, "flags": flags},
                "systemVendor": {"manufacturer": "Maker", "productName": "R1", "serialNumber": "NUMBER"}}}})
}

/// The Machine of Cluster API.
pub fn machine() -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
        "metadata": metadata("workers-NUMBER", "machine-uid-NUMBER-9f3e-1a2b3c4d5e6f", &json!({
            "labels": {"cluster.x-k8s.io/cluster-name": "fleet", "cluster.x-k8s.io/deployment-name": "workers"},
            "finalizers": ["machine.cluster.x-k8s.io"],
            "ownerReferences": [{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "workers-abcde",
                "uid": "set-uid", "controller": true, "blockOwnerDeletion": true}]})),
        "spec": {"clusterName": "fleet", "version": "v1.36.0", "providerID": "metal3://fleet/host-NUMBER/workers-NUMBER",
            "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "workers-NUMBER"},
                "dataSecretName": "workers-NUMBER"},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Machine", "name": "workers-NUMBER"}},
        "status": {"phase": "Running", "nodeRef": {"name": "host-NUMBER"},
            "initialization": {"bootstrapDataSecretCreated": true, "infrastructureProvisioned": true},
            "addresses": addresses(), "conditions": conditions(&["Ready", "Available", "InfrastructureReady", "NodeReady"])}})
}

/// A Metal3Machine that is ready.
pub fn metal3_machine() -> Value {
    json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3Machine",
        "metadata": metadata("workers-NUMBER", "metal3machine-uid-NUMBER-1a2b3c4d5e6f", &json!({
            "labels": {"cluster.x-k8s.io/cluster-name": "fleet", "cluster.x-k8s.io/deployment-name": "workers"},
            "annotations": {"metal3.io/BareMetalHost": "fleet/host-NUMBER",
                "cluster.x-k8s.io/cloned-from-name": "workers",
                "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"},
            "finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io"],
            "ownerReferences": [owner("Machine", "workers-NUMBER")]})),
        "spec": {"providerID": "metal3://fleet/host-NUMBER/workers-NUMBER", "automatedCleaningMode": "metadata",
            "image": {"url": "http://192.0.2.1/image.qcow2", "checksum": "http://192.0.2.1/image.sum"},
            "dataTemplate": {"name": "fleet", "namespace": NAMESPACE}},
        "status": {"ready": true, "lastUpdated": NOW, "initialization": {"provisioned": true}, "addresses": addresses(),
            "userData": {"name": "workers-NUMBER", "namespace": NAMESPACE},
            "metaData": {"name": "workers-NUMBER-metadata", "namespace": NAMESPACE},
            "networkData": {"name": "workers-NUMBER-networkdata", "namespace": NAMESPACE},
            "renderedData": {"name": "fleet-NUMBER", "namespace": NAMESPACE},
            "conditions": conditions(&["Ready", "AssociateBareMetalHost", "Metal3DataReady"])}})
}

/// The claim of its data.
pub fn data_claim() -> Value {
    json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3DataClaim",
        "metadata": metadata("workers-NUMBER", "claim-uid-NUMBER-9f3e-1a2b3c4d5e6f", &json!({
            "finalizers": ["metal3dataclaim.infrastructure.cluster.x-k8s.io"],
            "labels": {"cluster.x-k8s.io/cluster-name": "fleet"},
            "ownerReferences": [owner("Metal3Machine", "workers-NUMBER")]})),
        "spec": {"template": {"name": "fleet", "namespace": NAMESPACE}},
        "status": {"renderedData": {"name": "fleet-NUMBER", "namespace": NAMESPACE}}})
}

/// Its data.
pub fn data() -> Value {
    json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3Data",
        "metadata": metadata("fleet-NUMBER", "data-uid-NUMBER-9f3e-1a2b3c4d5e6f", &json!({
            "finalizers": ["metal3data.infrastructure.cluster.x-k8s.io"],
            "labels": {"cluster.x-k8s.io/cluster-name": "fleet"},
            "ownerReferences": [owner("Metal3DataTemplate", "fleet"), owner("Metal3DataClaim", "workers-NUMBER")]})),
        "spec": {"claim": {"name": "workers-NUMBER", "namespace": NAMESPACE},
            "template": {"name": "fleet", "namespace": NAMESPACE},
            "metaData": {"name": "workers-NUMBER-metadata", "namespace": NAMESPACE},
            "networkData": {"name": "workers-NUMBER-networkdata", "namespace": NAMESPACE}},
        "status": {"ready": true}})
}

/// The claim of its address.
pub fn ip_claim() -> Value {
    json!({"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim",
        "metadata": metadata("fleet-NUMBER-fleet", "ipclaim-uid-NUMBER-1a2b3c4d5e6f", &json!({
            "finalizers": ["ipclaim.ipam.metal3.io", "metal3data.infrastructure.cluster.x-k8s.io"],
            "labels": {"cluster.x-k8s.io/cluster-name": "fleet"},
            "ownerReferences": [owner("Metal3Data", "fleet-NUMBER")]})),
        "spec": {"pool": {"name": "fleet", "namespace": NAMESPACE}},
        "status": {"address": {"name": "fleet-NUMBER", "namespace": NAMESPACE}}})
}

/// Its address.
pub fn ip_address() -> Value {
    json!({"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPAddress",
        "metadata": metadata("fleet-10-0-NUMBER", "ipaddress-uid-NUMBER-1a2b3c4d5e6f", &json!({
            "finalizers": ["ipaddress.ipam.metal3.io"],
            "ownerReferences": [owner("IPPool", "fleet"), owner("IPClaim", "fleet-NUMBER-fleet")]})),
        "spec": {"address": "10.0.200.200", "prefix": 8, "gateway": "10.0.0.1", "dnsServers": ["10.0.0.2"],
            "pool": {"name": "fleet", "namespace": NAMESPACE},
            "claim": {"name": "fleet-NUMBER-fleet", "namespace": NAMESPACE}}})
}

/// One of its Secrets, of which the metadata alone is watched.
pub fn secret() -> Value {
    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
        "metadata": metadata("workers-NUMBER-networkdata", "secret-uid-NUMBER-1a2b3c4d5e6f", &json!({
            "labels": {"cluster.x-k8s.io/cluster-name": "fleet"},
            "finalizers": ["metal3data.infrastructure.cluster.x-k8s.io/secret"],
            "ownerReferences": [owner("Metal3Data", "fleet-NUMBER")]}))})
}

/// Metadata with what a server adds: three managers of fields.
fn metadata(name: &str, uid: &str, more: &Value) -> Value {
    let field = |manager: &str| {
        json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "time": NOW, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}, "v:\"a\"": {}}, "f:ownerReferences": {".": {}, "k:{\"uid\":\"u\"}": {}}},
                "f:spec": {"f:image": {".": {}, "f:url": {}}}, "f:status": {".": {}, "f:conditions": {}}}})
    };
    let mut metadata = json!({"name": name, "namespace": NAMESPACE, "uid": uid, "resourceVersion": "1NUMBER", "generation": 3,
        "creationTimestamp": NOW, "managedFields": [field("capm3"), field("kubectl"), field("baremetal-operator")]});
    if let (Some(fields), Some(more)) = (metadata.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
    metadata
}

fn owner(kind: &str, name: &str) -> Value {
    json!({"apiVersion": INFRASTRUCTURE, "kind": kind, "name": name, "uid": format!("uid-of-{kind}-{name}-1a2b3c4d"),
        "controller": true, "blockOwnerDeletion": true})
}

fn addresses() -> Value {
    json!([{"type": "InternalIP", "address": "10.0.200.200"}, {"type": "Hostname", "address": "host-NUMBER"},
        {"type": "InternalDNS", "address": "host-NUMBER"}])
}

fn conditions(types: &[&str]) -> Value {
    let condition = |type_: &&str| json!({"type": type_, "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": NOW});
    types.iter().map(condition).collect()
}

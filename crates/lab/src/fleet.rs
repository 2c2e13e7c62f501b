//! Clusters for benchmarks: one of any size, with a control-plane machine and `size` workers, or any number of clusters of one
//! machine. There is one data template and one pool.

use serde_json::{Value, json};

use crate::manifests::Manifest;

const NAMESPACE: &str = "fleet";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// The manifests, in the order in which they are applied.
pub fn fleet(size: usize) -> Vec<Manifest> {
    let mut objects = vec![
        namespace(),
        cluster("fleet", "control-plane"),
        metal3_cluster("fleet"),
        data_template(),
        pool(Some("fleet")),
    ];
    objects.extend((0..=size).map(host));
    for (name, replicas) in [("control-plane", None), ("workers", Some(size))] {
        objects.push(machine_template(name));
        objects.push(match replicas {
            None => control_plane(name, name),
            Some(replicas) => deployment(name, replicas),
        });
    }
    objects.push(of(
        "bootstrap.cluster.x-k8s.io/v1beta2",
        "KubeadmConfigTemplate",
        "workers",
        &json!({"template": {"spec": {}}}),
    ));
    manifests(objects)
}

/// So many clusters of one machine, with everything that a machine may cost. They share data template, pool and machine template.
pub fn full_clusters(count: usize) -> Vec<Manifest> {
    let name = |number: usize| format!("cluster-{number:05}");
    let shared = [namespace(), data_template(), pool(None), machine_template("control-plane")];
    let hosts = (0..count).map(host);
    let clusters = (0..count).map(name).flat_map(|name| {
        [cluster(&name, &name), metal3_cluster(&name), control_plane(&name, "control-plane")]
    });
    full(manifests(shared.into_iter().chain(hosts).chain(clusters).collect()))
}

fn manifests(objects: Vec<Value>) -> Vec<Manifest> {
    objects.into_iter().map(|object| Manifest { file: "fleet".to_owned(), object }).collect()
}

/// The same with everything that a machine may cost: a Secret with credentials for each host, metadata beside network data, and
/// Nodes that are found by the uid of their host, because no cloud provider gives them their IDs.
pub fn full_fleet(size: usize) -> Vec<Manifest> {
    full(fleet(size))
}

fn full(mut manifests: Vec<Manifest>) -> Vec<Manifest> {
    let registers = json!({"nodeRegistration": {"name": "{{ ds.meta_data.name }}", "kubeletExtraArgs": [
        {"name": "node-labels", "value": "metal3.io/uuid={{ ds.meta_data.uuid }}"}]}});
    let mut secrets = Vec::new();
    for manifest in &mut manifests {
        let name = manifest.key().name;
        let (pointer, extra) = match manifest.kind() {
            "BareMetalHost" => {
                let credentials = format!("{name}-bmc");
                let data = json!({"username": "YWRtaW4=", "password": "cGFzc3dvcmQ="});
                secrets.push(json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data,
                    "metadata": {"name": credentials, "namespace": NAMESPACE}}));
                ("/spec/bmc", json!({"credentialsName": credentials}))
            }
            "Metal3DataTemplate" => {
                let names = json!([{"key": "name", "object": "machine"}]);
                ("/spec", json!({"metaData": {"objectNames": names}}))
            }
            "Metal3Cluster" => ("/spec", json!({"cloudProviderEnabled": false})),
            "KubeadmControlPlane" => ("/spec/kubeadmConfigSpec", both(&registers)),
            "KubeadmConfigTemplate" => ("/spec/template/spec", both(&registers)),
            _ => continue,
        };
        if let (Some(Value::Object(part)), Value::Object(extra)) =
            (manifest.object.pointer_mut(pointer), extra)
        {
            part.extend(extra);
        }
    }
    let secrets = secrets.into_iter().map(|object| Manifest { file: "fleet".to_owned(), object });
    // The namespace comes first.
    manifests.splice(1..1, secrets);
    manifests
}

/// The first machine of a control plane initialises, every other one joins.
fn both(configuration: &Value) -> Value {
    json!({"initConfiguration": configuration, "joinConfiguration": configuration})
}

/// What changes a fleet of `size` workers to one of `replicas`.
pub fn scaled(size: usize, replicas: usize) -> Vec<Manifest> {
    let mut manifests = fleet(size);
    manifests.retain(|manifest| manifest.kind() == "MachineDeployment");
    for manifest in &mut manifests {
        if let Some(spec) = manifest.object.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("replicas".to_owned(), json!(replicas));
        }
    }
    manifests
}

fn of(api_version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
}

fn metal3(kind: &str, name: &str, spec: &Value) -> Value {
    of(&format!("{INFRASTRUCTURE}/v1beta2"), kind, name, spec)
}

fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
}

fn cluster(name: &str, control_plane: &str) -> Value {
    of(
        "cluster.x-k8s.io/v1beta2",
        "Cluster",
        name,
        &json!({
        "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "Metal3Cluster", "name": name},
        "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": control_plane}}),
    )
}

fn metal3_cluster(name: &str) -> Value {
    metal3(
        "Metal3Cluster",
        name,
        &json!({"cloudProviderEnabled": true, "controlPlaneEndpoint": {"host": "10.255.0.1", "port": 6443}}),
    )
}

fn data_template() -> Value {
    metal3(
        "Metal3DataTemplate",
        "fleet",
        &json!({"networkData": {
        "links": {"ethernets": [{"id": "eno1", "type": "phy", "macAddress": {"fromHostInterface": "eno1"}}]},
        "networks": {"ipv4": [{"id": "net", "link": "eno1", "ipAddressFromIPPool": "fleet"}]}}}),
    )
}

fn pool(cluster: Option<&str>) -> Value {
    let mut spec = json!({"namePrefix": "fleet",
        "pools": [{"start": "10.0.0.10", "end": "10.127.255.250", "prefix": 8, "gateway": "10.0.0.1"}]});
    if let (Some(spec), Some(cluster)) = (spec.as_object_mut(), cluster) {
        spec.insert("clusterName".to_owned(), json!(cluster));
    }
    of("ipam.metal3.io/v1alpha1", "IPPool", "fleet", &spec)
}

fn host(number: usize) -> Value {
    let name = format!("host-{number:05}");
    let mac =
        format!("52:54:00:{:02x}:{:02x}:{:02x}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff);
    let hardware = json!({"hostname": name, "nics": [{"name": "eno1", "mac": mac}],
        "cpu": {"arch": "x86_64", "count": 32}, "ramMebibytes": 131_072});
    let mut object = of(
        "metal3.io/v1alpha1",
        "BareMetalHost",
        &name,
        &json!({"online": true, "bootMACAddress": mac,
        "bmc": {"address": "redfish+http://192.0.2.1/1", "credentialsName": "none"}}),
    );
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        let annotations = json!({"inspect.metal3.io/hardwaredetails": hardware.to_string()});
        metadata.insert("annotations".to_owned(), annotations);
    }
    object
}

fn machine_template(name: &str) -> Value {
    metal3(
        "Metal3MachineTemplate",
        name,
        &json!({"template": {"spec": {
        "image": {"url": "http://192.0.2.1/image.qcow2", "checksum": "http://192.0.2.1/image.sum"},
        "dataTemplate": {"name": "fleet", "namespace": NAMESPACE}}}}),
    )
}

fn template_ref(name: &str) -> Value {
    json!({"apiGroup": INFRASTRUCTURE, "kind": "Metal3MachineTemplate", "name": name})
}

fn control_plane(name: &str, template: &str) -> Value {
    of(
        "controlplane.cluster.x-k8s.io/v1beta2",
        "KubeadmControlPlane",
        name,
        &json!({"replicas": 1, "version": "v1.36.0",
        "machineTemplate": {"spec": {"infrastructureRef": template_ref(template)}}, "kubeadmConfigSpec": {}}),
    )
}

fn deployment(name: &str, replicas: usize) -> Value {
    let labels = json!({"cluster.x-k8s.io/cluster-name": "fleet", "cluster.x-k8s.io/deployment-name": name});
    of(
        "cluster.x-k8s.io/v1beta2",
        "MachineDeployment",
        name,
        &json!({"clusterName": "fleet", "replicas": replicas,
        "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {
            "clusterName": "fleet", "version": "v1.36.0", "infrastructureRef": template_ref(name),
            "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": name}}}}}),
    )
}

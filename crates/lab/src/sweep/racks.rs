//! The manifests that the scenarios start from: one cluster over three racks, one deployment of workers a rack, with
//! hosts to spare. Every machine has a rack of its own, so that two runs are comparable host by host within a rack.

use serde_json::{Value, json};

use crate::manifests::{Manifest, ManifestError, parse};

pub(super) const NAMESPACE: &str = "metal3";
pub(super) const CLUSTER: &str = "racks";
const RACKS: [u32; 3] = [1, 2, 3];
/// Hosts beyond those in use, in each rack and role.
const SPARE: u32 = 1;

/// How large the cluster is and how it is upgraded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// Workers of each rack.
    pub(super) workers: u32,
}

impl Size {
    /// All machines.
    pub(super) fn machines(self) -> usize {
        RACKS.len() * (1 + self.workers as usize)
    }
}

/// The manifests, in the order in which they are applied.
pub(super) fn racks(size: Size) -> Result<Vec<Manifest>, ManifestError> {
    let mut text = String::from(HEAD);
    for rack in RACKS {
        text.push_str(&per_rack(rack, size.workers));
        for number in 1..=1 + SPARE {
            text.push_str(&host(rack, "control-plane", number));
        }
        for number in 1..=size.workers + SPARE {
            text.push_str(&host(rack, "worker", number));
        }
    }
    text.push_str(CONTROL_PLANE);
    parse("racks", &text)
}

/// Names of the MachineDeployments.
pub(super) fn deployments() -> Vec<String> {
    RACKS.iter().map(|rack| format!("workers-{rack}")).collect()
}

/// The same machine templates under another name and with another image, for an upgrade.
pub(super) fn next_templates(manifests: &[Manifest]) -> Vec<Manifest> {
    let templates = manifests.iter().filter(|m| m.kind() == "Metal3MachineTemplate");
    templates
        .map(|template| {
            let mut next = template.clone();
            let name = next_name(&template.key().name);
            let changes = [
                ("/metadata/name", json!(name)),
                ("/spec/template/spec/image/url", json!("http://192.0.2.1/next.qcow2")),
            ];
            for (pointer, value) in changes {
                if let Some(place) = next.object.pointer_mut(pointer) {
                    *place = value;
                }
            }
            next
        })
        .collect()
}

/// Under which name a template is copied for an upgrade.
pub(super) fn next_name(name: &str) -> String {
    format!("{name}-next")
}

/// What an upgrade changes in a spec that names a template.
pub(super) fn reference_to(name: &str) -> Value {
    json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3MachineTemplate", "name": name})
}

const HEAD: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: metal3}
---
apiVersion: v1
kind: Secret
metadata: {name: bmc-credentials, namespace: metal3}
stringData: {username: admin, password: none}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: racks, namespace: metal3}
spec:
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: racks}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: control-plane}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: racks, namespace: metal3}
spec:
  controlPlaneEndpoint: {host: 10.0.0.100, port: 6443}
  cloudProviderEnabled: false
  failureDomains:
  - {name: rack1, controlPlane: true}
  - {name: rack2, controlPlane: true}
  - {name: rack3, controlPlane: true}
---
";

const CONTROL_PLANE: &str = "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: control-plane, namespace: metal3}
spec:
  nodeReuse: true
  template:
    spec:
      automatedCleaningMode: disabled
      image: {url: http://192.0.2.1/image.qcow2, checksum: http://192.0.2.1/image.sum}
      dataTemplate: {name: net-rack1, namespace: metal3}
      hostSelector: {matchLabels: {role: control-plane}}
  failureDomainDataTemplates:
  - {failureDomain: rack1, dataTemplate: {name: net-rack1, namespace: metal3}}
  - {failureDomain: rack2, dataTemplate: {name: net-rack2, namespace: metal3}}
  - {failureDomain: rack3, dataTemplate: {name: net-rack3, namespace: metal3}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: control-plane, namespace: metal3}
spec:
  replicas: 3
  version: v1.35.0
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: control-plane}
  kubeadmConfigSpec:
    initConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: node-labels, value: 'metal3.io/uuid={{ ds.meta_data.uuid }}'}]}}
    joinConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: node-labels, value: 'metal3.io/uuid={{ ds.meta_data.uuid }}'}]}}
";

fn per_rack(rack: u32, workers: u32) -> String {
    format!(
        "
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {{name: pool-rack{rack}, namespace: metal3}}
spec:
  clusterName: racks
  namePrefix: rack{rack}
  pools:
  - {{start: 10.0.{rack}.10, end: 10.0.{rack}.50, prefix: 24, gateway: 10.0.{rack}.1, dnsServers: [8.8.8.8]}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {{name: net-rack{rack}, namespace: metal3}}
spec:
  clusterName: racks
  metaData:
    objectNames:
    - {{key: machine, object: machine}}
    indexes:
    - {{key: index, prefix: 'n{rack}-'}}
  networkData:
    links:
      ethernets:
      - {{id: eno1, type: phy, macAddress: {{fromHostInterface: eno1}}}}
    networks:
      ipv4:
      - {{id: net, link: eno1, ipAddressFromIPPool: pool-rack{rack}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {{name: workers-{rack}, namespace: metal3}}
spec:
  nodeReuse: true
  template:
    spec:
      automatedCleaningMode: disabled
      image: {{url: http://192.0.2.1/image.qcow2, checksum: http://192.0.2.1/image.sum}}
      dataTemplate: {{name: net-rack{rack}, namespace: metal3}}
      hostSelector: {{matchLabels: {{role: worker, rack: rack{rack}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {{name: workers-{rack}, namespace: metal3}}
spec: {{template: {{spec: {{joinConfiguration: {{nodeRegistration: {{kubeletExtraArgs: [{{name: node-labels, value: 'metal3.io/uuid={{{{ ds.meta_data.uuid }}}}'}}]}}}}}}}}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {{name: workers-{rack}, namespace: metal3}}
spec:
  clusterName: racks
  replicas: {workers}
  rollout: {{strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 0, maxUnavailable: 1}}}}}}
  selector: {{matchLabels: {{cluster.x-k8s.io/deployment-name: workers-{rack}}}}}
  template:
    metadata: {{labels: {{cluster.x-k8s.io/cluster-name: racks, cluster.x-k8s.io/deployment-name: workers-{rack}}}}}
    spec:
      clusterName: racks
      version: v1.35.0
      failureDomain: rack{rack}
      bootstrap:
        configRef: {{apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: workers-{rack}}}
      infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3MachineTemplate, name: workers-{rack}}}
---
"
    )
}

fn host(rack: u32, role: &str, number: u32) -> String {
    let of_role = if role == "worker" { 0 } else { 0x80 };
    let mac = format!("52:54:00:aa:{rack:02x}:{:02x}", of_role + number);
    format!(
        "
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: rack{rack}-{role}-{number}
  namespace: metal3
  labels: {{role: {role}, rack: rack{rack}, infrastructure.cluster.x-k8s.io/failure-domain: rack{rack}}}
  annotations:
    inspect.metal3.io/hardwaredetails: |
      {{\"hostname\": \"rack{rack}-{role}-{number}\", \"nics\": [{{\"name\": \"eno1\", \"mac\": \"{mac}\"}}]}}
spec:
  online: true
  bootMACAddress: {mac}
  bmc: {{address: redfish+http://192.0.2.1/{rack}-{role}-{number}, credentialsName: bmc-credentials}}
---
"
    )
}

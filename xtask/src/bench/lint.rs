//! How long `capm3 lint` takes for the objects of many machines on one core: from the text of the manifests to the mistakes.

use std::fmt::Write;

use anyhow::{Result, ensure};
use capm3_domain::lint::Severity;
use capm3_engine::manifests;
use capm3_offline::lint::{Options, lint};
use serde_json::json;

use crate::{memory, processor};

/// Seconds of processor time for [`FULL`] machines on one core.
const BUDGET: f64 = 3.0;
/// Most memory for [`FULL`] machines, in megabytes.
const MEMORY: u64 = 700;
const FULL: usize = 10_000;

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    let (file, text) = ("bench.yaml", manifests_of(size));
    let start = processor::used()?;
    let reading = manifests::parse(file, &text);
    let texts = [(file.to_owned(), text)];
    let objects = reading.documents.len();
    let report = lint(&texts, &reading.documents, reading.problems, &[], &Options::default());
    let seconds = (processor::used()? - start).as_secs_f64();
    let megabytes = memory::peak_mb("self")?;
    let (errors, warnings) = (report.count(Severity::Error), report.count(Severity::Warning));
    if as_json {
        let rounded = (seconds * 1000.0).round() / 1000.0;
        println!(
            "{}",
            json!({"bench": "lint", "size": size, "objects": objects, "seconds": rounded, "megabytes": megabytes,
                "errors": errors, "warnings": warnings,
                "budget": {"seconds": BUDGET, "megabytes": MEMORY, "size": FULL}})
        );
    } else {
        println!(
            "{size} machines, {objects} objects in {seconds:.2} s and {megabytes} MB, {errors} errors and {warnings} warnings   \
             budget {BUDGET} s and {MEMORY} MB for {FULL}"
        );
    }
    // What is planted at the last machine must be found, so that the figure is of work that was done.
    let planted = report.mistakes.iter().any(|mistake| mistake.code == "CAPM3-L010");
    ensure!(planted, "the reference that leads nowhere was not found: {:?}", report.mistakes.first());
    ensure!(seconds * FULL as f64 <= BUDGET * size.max(1) as f64, "slower than the budget");
    ensure!(size > FULL || megabytes <= MEMORY, "more memory than the budget");
    Ok(())
}

/// A fleet at work: for each machine its host, its data with a claim, and its address with a claim. The last machine names a
/// data template that is not there.
fn manifests_of(size: usize) -> String {
    let mut text = TEMPLATES.to_owned();
    for number in 0..size {
        let mac =
            format!("52:54:00:{:02x}:{:02x}:{:02x}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff);
        let address = format!("10.{}.{}.{}", 1 + (number >> 16), number >> 8 & 0xff, number & 0xff);
        let template = if number + 1 == size { "worker" } else { "workers" };
        write!(
            text,
            "---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {{name: host-{number}, namespace: metal3, uid: host-uid-{number}}}
spec:
  online: true
  bootMACAddress: {mac}
  consumerRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3Machine, name: node-{number}, namespace: metal3}}
status:
  operationalStatus: OK
  provisioning: {{state: provisioned, image: {{url: http://images/node.qcow2}}}}
  hardware:
    nics:
    - {{name: eno1, mac: \"{mac}\"}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata:
  name: node-{number}
  namespace: metal3
  uid: machine-uid-{number}
  annotations: {{metal3.io/BareMetalHost: metal3/host-{number}}}
spec:
  image: {{url: http://images/node.qcow2, checksum: http://images/node.qcow2.sha256}}
  dataTemplate: {{name: {template}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataClaim
metadata: {{name: node-{number}, namespace: metal3, uid: claim-uid-{number}}}
spec: {{template: {{name: workers}}}}
status: {{renderedData: {{name: workers-{number}, namespace: metal3}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Data
metadata: {{name: workers-{number}, namespace: metal3, uid: data-uid-{number}}}
spec:
  index: {number}
  template: {{name: workers}}
  claim: {{name: node-{number}}}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPClaim
metadata:
  name: workers-{number}-pool
  namespace: metal3
  ownerReferences:
  - {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3Data, name: workers-{number}, uid: data-uid-{number}}}
spec: {{pool: {{name: pool}}}}
status: {{address: {{name: pool-{number}}}}}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPAddress
metadata: {{name: pool-{number}, namespace: metal3}}
spec:
  address: {address}
  prefix: 8
  gateway: 10.0.0.1
  dnsServers: [10.0.0.2]
  pool: {{name: pool}}
  claim: {{name: workers-{number}-pool}}
"
        )
        .expect("text takes every line");
    }
    text
}

const TEMPLATES: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: workers, namespace: metal3}
spec:
  metaData:
    indexes: [{key: local-hostname, prefix: worker-}]
    objectNames: [{key: machine, object: machine}]
  networkData:
    links:
      ethernets: [{id: eno1, type: phy, macAddress: {fromHostInterface: eno1}}]
      vlans: [{id: vlan, vlanID: 100, vlanLink: eno1, macAddress: {fromHostInterface: eno1}}]
    networks:
      ipv4:
      - id: net
        link: vlan
        ipAddressFromIPPool: pool
        routes: [{network: 0.0.0.0, prefix: 0, gateway: {fromIPPool: pool}}]
    services: {dns: [8.8.8.8], dnsFromIPPool: pool}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: pool, namespace: metal3}
spec:
  namePrefix: pool
  pools: [{start: 10.1.0.0, end: 10.255.255.250, prefix: 8, gateway: 10.0.0.1, dnsServers: [10.0.0.2]}]
";

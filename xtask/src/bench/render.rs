//! How long `capm3 render` takes for many machines on one core: from the text of the manifests to the documents.

use std::fmt::Write;

use anyhow::{Result, ensure};
use capm3_engine::manifests;
use capm3_offline::render::{Options, Rendered, render};
use serde_json::json;

use crate::processor;

/// Seconds of processor time for [`FULL`] machines on one core.
const BUDGET: f64 = 2.0;
const FULL: usize = 10_000;

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    let text = manifests_of(size);
    let start = processor::used()?;
    let reading = manifests::parse("bench.yaml", &text);
    let rendering = render(&reading.documents, &Options { machines: Some(size), ..Options::default() });
    let bytes: usize = rendering.machines.iter().map(bytes_of).sum();
    let seconds = (processor::used()? - start).as_secs_f64();
    if as_json {
        let rounded = (seconds * 1000.0).round() / 1000.0;
        println!(
            "{}",
            json!({"bench": "render", "size": size, "seconds": rounded, "bytes": bytes, "budget": {"seconds": BUDGET, "size": FULL}})
        );
    } else {
        let each = seconds * 1e6 / size as f64;
        println!(
            "{size} machines in {seconds:.2} s ({each:.0} us each, {bytes} bytes)   budget {BUDGET} s for {FULL}"
        );
    }
    ensure!(
        rendering.machines.len() == size,
        "not every machine was rendered: {:?}",
        rendering.problems.first()
    );
    ensure!(seconds * FULL as f64 <= BUDGET * size.max(1) as f64, "slower than the budget");
    Ok(())
}

fn bytes_of(machine: &Rendered) -> usize {
    [&machine.meta_data, &machine.network_data].into_iter().flatten().map(String::len).sum()
}

/// A template with a VLAN and a pool, and one host a machine.
fn manifests_of(size: usize) -> String {
    let mut text = TEMPLATE_AND_POOL.to_owned();
    for number in 0..size {
        let mac =
            format!("52:54:00:{:02x}:{:02x}:{:02x}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff);
        write!(
            text,
            "---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: host-{number}
  namespace: metal3
spec:
  bootMACAddress: {mac}
status:
  provisioning:
    state: available
  hardware:
    nics:
    - name: eno1
      mac: {mac}
"
        )
        .expect("text takes every line");
    }
    text
}

const TEMPLATE_AND_POOL: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: workers, namespace: metal3}
spec:
  metaData:
    strings: [{key: role, value: worker}]
    indexes: [{key: name, prefix: worker-}]
    objectNames: [{key: machine, object: machine}]
    ipAddressesFromPool: [{key: ip, name: pool}]
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
  pools: [{start: 10.0.0.10, end: 10.255.255.250, prefix: 8, gateway: 10.0.0.1, dnsServers: [10.0.0.2]}]
";

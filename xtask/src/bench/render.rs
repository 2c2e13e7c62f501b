//! How long the documents of many machines take on one core.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, ensure};
use capm3_api::{
    neighbours::{BareMetalHost, Machine},
    v1beta2::{Metal3Data, Metal3DataTemplateSpec, Metal3Machine},
};
use capm3_domain::render::{Address, Inputs, Objects, render_meta_data, render_network_data};
use capm3_engine::clock::Stopwatch;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Seconds for [`FULL`] machines on one core.
const BUDGET: f64 = 2.0;
const FULL: usize = 10_000;

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    let template: Metal3DataTemplateSpec = read(template())?;
    let (Some(meta_data), Some(network_data)) = (&template.meta_data, &template.network_data) else {
        return Err(anyhow!("the template has both halves"));
    };
    let stopwatch = Stopwatch::start();
    let mut bytes = 0;
    for number in 0..size {
        let machine: Metal3Machine =
            read(json!({"metadata": {"namespace": "n", "name": format!("machine-{number}")}}))?;
        let owner: Machine =
            read(json!({"metadata": {"namespace": "n", "name": format!("machine-{number}")}}))?;
        let host: BareMetalHost = read(host(number))?;
        let data: Metal3Data = read(
            json!({"metadata": {"namespace": "n", "name": format!("t-{number}")}, "spec": {"index": number}}),
        )?;
        let addresses = BTreeMap::from([("pool".to_owned(), address(number))]);
        let objects = Objects { metal3_machine: Some(&machine), machine: Some(&owner), host: Some(&host) };
        let inputs = Inputs { data: &data, objects, addresses: &addresses };
        bytes +=
            render_meta_data(meta_data, &inputs)?.len() + render_network_data(network_data, &inputs)?.len();
    }
    let seconds = stopwatch.elapsed().as_secs_f64();
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
    ensure!(seconds * FULL as f64 <= BUDGET * size.max(1) as f64, "slower than the budget");
    Ok(())
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T> {
    Ok(serde_json::from_value(value)?)
}

fn template() -> Value {
    let mac = json!({"fromHostInterface": "eno1"});
    let route = json!({"network": "0.0.0.0", "prefix": 0, "gateway": {"fromIPPool": "pool"}});
    json!({
        "metaData": {"strings": [{"key": "role", "value": "worker"}], "indexes": [{"key": "name", "prefix": "worker-"}],
            "objectNames": [{"key": "machine", "object": "machine"}], "ipAddressesFromPool": [{"key": "ip", "name": "pool"}]},
        "networkData": {
            "links": {"ethernets": [{"id": "eno1", "type": "phy", "macAddress": mac}],
                "vlans": [{"id": "vlan", "vlanID": 100, "vlanLink": "eno1", "macAddress": mac}]},
            "networks": {"ipv4": [{"id": "net", "link": "vlan", "ipAddressFromIPPool": "pool", "routes": [route]}]},
            "services": {"dns": ["8.8.8.8"], "dnsFromIPPool": "pool"}}})
}

fn host(number: usize) -> Value {
    let mac =
        format!("52:54:00:{:02x}:{:02x}:{:02x}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff);
    json!({"metadata": {"namespace": "n", "name": format!("host-{number}")},
        "status": {"hardware": {"nics": [{"name": "eno1", "mac": mac}]}}})
}

fn address(number: usize) -> Address {
    Address {
        address: format!("10.{}.{}.{}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff),
        prefix: Some(8),
        gateway: "10.0.0.1".to_owned(),
        dns_servers: vec!["10.0.0.2".to_owned()],
    }
}

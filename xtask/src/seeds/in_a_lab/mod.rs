//! The printed manifests in a running cluster: `capm3 migrate` corrects them, the lab has the hosts that they ask for, and
//! what comes of them is compared with what is printed.
//!
//! The names of the API description do not meet (row S34), and some blocks leave something out: each test says what it adds.

mod api_description;
mod older_designs;
mod racks;

use std::{fs, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_engine::ObjectKey;
use capm3_lab::{
    Lab, Options, Settled,
    manifests::{Manifest, parse},
};
use capm3_offline::migrate;
use serde_json::{Value, json};

use super::server::{put_into_namespace, text};
use crate::repo;

/// Longest virtual time that a test waits for rest.
const LIMIT: Duration = Duration::from_secs(3600);
/// Pointer to the record of a machine's host.
const HOST: &str = "/metadata/annotations/metal3.io~1BareMetalHost";

/// The documents of a block, as printed.
fn printed(block: &str) -> Vec<Value> {
    let text = fs::read_to_string(repo::root().join(format!("tests/seeds/{block}.yaml"))).unwrap();
    serde_saphyr::from_multiple(&text).unwrap()
}

/// Blocks as a user gives them to a cluster: migrated together, and with `kubectl -n metal3`.
fn migrated(blocks: &[&str]) -> Vec<Manifest> {
    let folder = repo::root().join("tests/seeds");
    let one = |block: &&str| {
        let file = format!("{block}.yaml");
        let text = fs::read_to_string(folder.join(&file)).unwrap();
        (file, text)
    };
    let texts: Vec<(String, String)> = blocks.iter().map(one).collect();
    let documents = migrate::migrate_texts(&texts, migrate::Options::default()).documents;
    let manifest = |mut object: Value| {
        put_into_namespace(&mut object);
        Manifest { file: "migrated".to_owned(), object }
    };
    documents.into_iter().map(manifest).collect()
}

/// One block of one document, changed by merging.
fn changed(block: &str, change: Value) -> Manifest {
    let mut manifest = migrated(&[block]).remove(0);
    json_patch::merge(&mut manifest.object, &change);
    manifest
}

fn yaml(text: &str) -> Vec<Manifest> {
    parse("test", text).unwrap()
}

/// Free hosts with the labels that the printed selectors ask for and two network cards.
fn hosts(namespace: &str, count: usize) -> Vec<Manifest> {
    let mut all = yaml(&format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: bmc-credentials, namespace: {namespace}}}\n\
         stringData: {{username: admin, password: not-a-real-password}}\n"
    ));
    for n in 1..=count {
        let nics = json!({"hostname": format!("host-{n}"), "nics": [
            {"name": "eth0", "mac": format!("52:54:00:aa:00:{n:02}")},
            {"name": "eth1", "mac": format!("52:54:00:aa:01:{n:02}")}]});
        let object = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": format!("host-{n}"), "namespace": namespace,
                "labels": {"key1": "value1", "key2": "abc"},
                "annotations": {"inspect.metal3.io/hardwaredetails": nics.to_string()}},
            "spec": {"online": true, "bootMACAddress": format!("52:54:00:aa:00:{n:02}"),
                "bmc": {"address": format!("redfish+http://192.0.2.{n}/redfish/v1/Systems/1"),
                    "credentialsName": "bmc-credentials"}}});
        all.push(Manifest { file: "hosts".to_owned(), object });
    }
    all
}

/// The printed data template with pools, under the name and in the namespace in which machines ask for it; real addresses in place
/// of the placeholders for MACs.
fn data_template(block: &str, name: &str, namespace: &str) -> Manifest {
    let mut template = changed(block, json!({"metadata": {"name": name, "namespace": namespace}}));
    for (link, mac) in [("bonds", "52:54:00:bb:00:01"), ("vlans", "52:54:00:bb:00:02")] {
        let place = format!("/spec/networkData/links/{link}/0/macAddress/string");
        *template.object.pointer_mut(&place).unwrap() = json!(mac);
    }
    template
}

/// The pools that the printed data template names.
fn pools() -> Vec<Manifest> {
    yaml(
        "apiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {name: pool-1, namespace: metal3}\n\
         spec: {clusterName: cluster, namePrefix: pool-1, pools: [{start: 192.168.0.10, end: 192.168.0.20, prefix: 24, \
         gateway: 192.168.0.1, dnsServers: [8.8.8.8]}]}\n---\n\
         apiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {name: pool6-1, namespace: metal3}\n\
         spec: {clusterName: cluster, namePrefix: pool6-1, pools: [{start: '2001:db8:85a3::10', end: '2001:db8:85a3::20', \
         prefix: 64, gateway: '2001:db8:85a3::1', dnsServers: ['2001:4860:4860::8888']}]}\n",
    )
}

async fn settled(manifests: &[Manifest]) -> Lab {
    let lab = Lab::start(&Options::default()).await.unwrap();
    lab.apply(manifests).await.unwrap();
    assert_eq!(lab.settle(LIMIT).await, Settled::Quiet, "never came to rest");
    lab
}

fn get(lab: &Lab, kind: &str, name: &str) -> Arc<Value> {
    lab.object(kind, name).unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn named_after(lab: &Lab, kind: &str, prefix: &str) -> Vec<Arc<Value>> {
    let mut all = lab.objects(kind);
    all.retain(|object| text(object, "/metadata/name").starts_with(prefix));
    all
}

/// The host that a machine has taken.
fn host(lab: &Lab, machine: &Value) -> Arc<Value> {
    let name = text(machine, HOST).rsplit('/').next().unwrap();
    get(lab, "BareMetalHost", name)
}

fn given(lab: &Lab, host: &Value) -> capm3_world::NodeData {
    let key = ObjectKey::new(text(host, "/metadata/namespace"), text(host, "/metadata/name"));
    lab.world().node_data(&key).unwrap()
}

fn secret(lab: &Lab, name: &str, key: &str) -> String {
    let object = get(lab, "Secret", name);
    let encoded = text(&object, &format!("/data/{key}"));
    String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap()
}

fn is_ready(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array).unwrap();
    conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True")
}

//! One contradiction for each rule, planted around the machine of a number, so that all of them fit into one fleet.

use serde_json::{Value, json};

use crate::site::Site;

/// A contradiction.
pub struct Planted {
    /// The rule that must find it.
    pub code: &'static str,
    /// The object that must be named: kind, and name with `#` for the number.
    pub object: &'static str,
    /// How it ends.
    pub end: End,
    plant: fn(&mut Site, usize),
}

/// How a contradiction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// `--fix` ends it.
    Fix,
    /// The first command that is printed ends it, because a host is in use.
    Command,
    /// The first way out that is printed ends it, once a person has decided.
    Decision,
    /// `capm3 release` of the host.
    Release,
    /// A person must find out first.
    Unknown,
    /// A server does not keep it: it gives times itself, and its garbage collector removes what has a dead owner.
    FilesOnly,
}

impl Planted {
    pub fn plant(&self, site: &mut Site, number: usize) {
        (self.plant)(site, number);
    }

    /// Kind and name of the object that must be named.
    pub fn names(&self, number: usize) -> String {
        let (kind, name) = self.object.split_once(' ').unwrap();
        format!("{kind} metal3/{}", name.replace('#', &number.to_string())).replace("Node metal3/", "Node ")
    }
}

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const IPAM: &str = "ipam.metal3.io/v1alpha1";

fn free_host(site: &mut Site, n: usize, metadata: Value, spec: Value) {
    let mut all = json!({"spec": {"online": false}, "status": {"provisioning": {"state": "available", "ID": ""},
        "operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "hardwareProfile": "unknown", "poweredOn": false}});
    json_patch::merge(&mut all, &json!({ "spec": spec }));
    site.add("metal3.io/v1alpha1", "BareMetalHost", &format!("x-{n}"), metadata, all);
}

fn annotated(annotations: Value) -> Value {
    json!({ "metadata": {"annotations": annotations} })
}

fn owners(kind: &str, api_version: &str, name: &str, uid: &str) -> Value {
    json!({"ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}]})
}

fn here(name: &str) -> Value {
    json!({"name": name, "namespace": "metal3"})
}

/// Data that the status of its template counts.
fn counted_data(site: &mut Site, name: &str, index: usize, claim: &str) {
    site.add(
        INFRASTRUCTURE,
        "Metal3Data",
        name,
        json!({}),
        json!({"spec": {"index": index, "claim": here(claim), "template": here("t")}}),
    );
    entries(site, |entries| entries.push(json!({"name": claim, "index": index, "dataName": name})));
}

fn entries(site: &mut Site, change: impl FnOnce(&mut Vec<Value>)) {
    let mut all = site.get("Metal3DataTemplate", "t")["status"]["indexes"].as_array().unwrap().clone();
    change(&mut all);
    site.change("Metal3DataTemplate", "t", json!({"status": {"indexes": all}}));
}

/// An address that the status of its pool counts.
fn counted_address(site: &mut Site, name: &str, address: &str, claim: &str) {
    site.add(
        IPAM,
        "IPAddress",
        name,
        json!({}),
        json!({"spec": {"address": address, "prefix": 8, "pool": here("p"), "claim": here(claim)}}),
    );
    site.change("IPPool", "p", json!({"status": {"indexes": {claim: address}}}));
}

fn high(n: usize) -> String {
    format!("10.100.{}.{}", n >> 8, n & 0xff)
}

const fn row(code: &'static str, object: &'static str, end: End, plant: fn(&mut Site, usize)) -> Planted {
    Planted { code, object, end, plant }
}

/// At least one for each rule.
pub const PLANTED: &[Planted] = &[
    row("CAPM3-C001", "BareMetalHost h-#", End::Release, |site, n| {
        site.remove("Metal3Machine", &format!("m-{n}"));
        site.remove("Machine", &format!("m-{n}"));
    }),
    row("CAPM3-C002", "BareMetalHost x-#", End::Fix, |site, n| {
        let consumer = json!({"apiVersion": INFRASTRUCTURE, "kind": "Metal3Machine", "name": format!("m-{n}"), "namespace": "metal3"});
        free_host(site, n, json!({}), json!({ "consumerRef": consumer }));
    }),
    row("CAPM3-C003", "BareMetalHost h-#", End::Decision, |site, n| {
        let name = format!("m-{n}");
        site.change(
            "Metal3Machine",
            &name,
            json!({"metadata": {"annotations": null}, "spec": {"providerID": null}}),
        );
    }),
    row("CAPM3-C004", "Metal3Machine m-#", End::Unknown, |site, n| {
        site.remove("BareMetalHost", &format!("h-{n}"));
        site.change("Metal3Machine", &format!("m-{n}"), json!({"spec": {"providerID": null}}));
    }),
    row("CAPM3-C005", "Metal3Machine m-#", End::Unknown, |site, n| {
        site.change("BareMetalHost", &format!("h-{n}"), json!({"spec": {"consumerRef": null}}));
    }),
    row("CAPM3-C006", "Metal3Machine n-#", End::Unknown, |site, n| {
        let record = json!({"annotations": {"metal3.io/BareMetalHost": format!("metal3/h-{n}")}});
        site.add(
            INFRASTRUCTURE,
            "Metal3Machine",
            &format!("n-{n}"),
            record,
            json!({"spec": {"image": {"url": "http://i", "checksum": "http://s"}}}),
        );
    }),
    row("CAPM3-C007", "Metal3Machine m-#", End::Unknown, |site, n| {
        let other = json!({"spec": {"providerID": format!("metal3://metal3/h-{n}/other")}});
        site.change("Metal3Machine", &format!("m-{n}"), other.clone());
        site.change("Machine", &format!("m-{n}"), other);
    }),
    row("CAPM3-C007", "Metal3Machine m-#", End::Unknown, |site, n| {
        site.remove("BareMetalHost", &format!("h-{n}"));
    }),
    row("CAPM3-C008", "Metal3Machine m-#", End::Unknown, |site, n| {
        site.change(
            "Machine",
            &format!("m-{n}"),
            json!({"spec": {"providerID": format!("metal3://metal3/h-{n}/other")}}),
        );
    }),
    row("CAPM3-C009", "Node h-#", End::FilesOnly, |site, n| {
        let mut node = capm3_lab::finished::node(n);
        node["spec"]["providerID"] = json!(format!("metal3://metal3/h-{n}/gone"));
        site.0.push(node);
    }),
    row("CAPM3-C010", "Node twin-#", End::FilesOnly, |site, n| {
        let mut twin = capm3_lab::finished::node(n);
        site.0.push(twin.clone());
        twin["metadata"]["name"] = json!(format!("twin-{n}"));
        site.0.push(twin);
    }),
    row("CAPM3-C011", "BareMetalHost x-#", End::Decision, |site, n| {
        free_host(site, n, json!({}), json!({"image": {"url": "http://i", "checksum": "http://s"}}));
    }),
    row("CAPM3-C012", "BareMetalHost x-#", End::Fix, |site, n| {
        free_host(site, n, json!({}), json!({"metaData": here("gone"), "networkData": here("gone")}));
    }),
    row("CAPM3-C013", "BareMetalHost x-#", End::Fix, |site, n| {
        free_host(site, n, json!({"labels": {"cluster.x-k8s.io/cluster-name": "gone"}}), json!({}));
    }),
    row("CAPM3-C014", "BareMetalHost x-#", End::Fix, |site, n| {
        free_host(site, n, json!({"annotations": {"clusterctl.cluster.x-k8s.io/block-move": ""}}), json!({}));
    }),
    row("CAPM3-C015", "BareMetalHost x-#", End::Fix, |site, n| {
        let consumer = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "gone", "namespace": "metal3"});
        let labels = json!({"labels": {"infrastructure.cluster.x-k8s.io/node-reuse": "cp-gone"}});
        free_host(site, n, labels, json!({ "consumerRef": consumer }));
    }),
    row("CAPM3-C015", "BareMetalHost x-#", End::Fix, |site, n| {
        let consumer = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "namespace": "metal3"});
        let labels = json!({"labels": {"infrastructure.cluster.x-k8s.io/node-reuse": "md-gone"}});
        free_host(site, n, labels, json!({ "consumerRef": consumer }));
    }),
    row("CAPM3-C016", "BareMetalHost x-#", End::Fix, |site, n| {
        free_host(
            site,
            n,
            json!({"annotations": {"baremetalhost.metal3.io/paused": "metal3.io/capm3"}}),
            json!({}),
        );
    }),
    row("CAPM3-C016", "BareMetalHost h-#", End::Command, |site, n| {
        site.change(
            "BareMetalHost",
            &format!("h-{n}"),
            annotated(json!({"baremetalhost.metal3.io/paused": "metal3.io/capm3"})),
        );
    }),
    row("CAPM3-C017", "BareMetalHost h-#", End::Decision, |site, n| {
        site.change(
            "BareMetalHost",
            &format!("h-{n}"),
            annotated(json!({"baremetalhost.metal3.io/paused": "me"})),
        );
    }),
    row("CAPM3-C018", "BareMetalHost h-#", End::Decision, |site, n| {
        site.change(
            "BareMetalHost",
            &format!("h-{n}"),
            annotated(json!({"capm3.metal3.io/unhealthy": "fan"})),
        );
    }),
    row("CAPM3-C019", "BareMetalHost x-#", End::Fix, |site, n| {
        free_host(site, n, json!({"annotations": {"capi.metal3.io/unhealthy": "2026-01-31 fan"}}), json!({}));
    }),
    row("CAPM3-C019", "BareMetalHost h-#", End::Command, |site, n| {
        site.change(
            "BareMetalHost",
            &format!("h-{n}"),
            annotated(json!({"capi.metal3.io/unhealthy": "2026-01-31"})),
        );
    }),
    row("CAPM3-C020", "BareMetalHost x-#", End::Fix, |site, n| {
        free_host(
            site,
            n,
            json!({"annotations": {"reboot.metal3.io/metal3-remediation-dead": "{}"}}),
            json!({}),
        );
    }),
    row("CAPM3-C020", "BareMetalHost h-#", End::Command, |site, n| {
        site.change(
            "BareMetalHost",
            &format!("h-{n}"),
            annotated(json!({"reboot.metal3.io/metal3-remediation-dead": "{}"})),
        );
    }),
    row("CAPM3-C021", "BareMetalHost x-#", End::Fix, |site, n| {
        free_host(site, n, json!({"annotations": {"capm3.metal3.io/release": "metal3/gone"}}), json!({}));
    }),
    row("CAPM3-C021", "BareMetalHost h-#", End::Command, |site, n| {
        site.change(
            "BareMetalHost",
            &format!("h-{n}"),
            annotated(json!({"capm3.metal3.io/release": format!("metal3/m-{n}")})),
        );
    }),
    row("CAPM3-C022", "BareMetalHost x-#", End::Fix, |site, n| {
        let owner = owners(
            "Metal3Machine",
            INFRASTRUCTURE,
            &format!("m-{n}"),
            &format!("<uid of Metal3Machine m-{n}>"),
        );
        free_host(site, n, owner, json!({}));
    }),
    row("CAPM3-C022", "BareMetalHost h-#", End::Command, |site, n| {
        let owner = owners(
            "Metal3Machine",
            INFRASTRUCTURE,
            &format!("m-{n}"),
            &format!("<uid of Metal3Machine m-{n}>"),
        );
        site.change("BareMetalHost", &format!("h-{n}"), json!({ "metadata": owner }));
    }),
    row("CAPM3-C023", "BareMetalHost h-#", End::Unknown, |site, n| {
        site.change("BareMetalHost", &format!("h-{n}"), json!({"spec": {"networkData": here("gone")}}));
    }),
    row("CAPM3-C024", "BareMetalHost x-#", End::Unknown, |site, n| {
        let mac = site.get("BareMetalHost", &format!("h-{n}"))["spec"]["bootMACAddress"]
            .as_str()
            .unwrap()
            .to_uppercase();
        free_host(site, n, json!({}), json!({ "bootMACAddress": mac }));
    }),
    row("CAPM3-C030", "Metal3DataClaim lone-#", End::FilesOnly, |site, n| {
        let owner = owners("Metal3Machine", INFRASTRUCTURE, "gone", "dead");
        site.add(
            INFRASTRUCTURE,
            "Metal3DataClaim",
            &format!("lone-{n}"),
            owner,
            json!({"spec": {"template": here("t")}}),
        );
    }),
    row("CAPM3-C030", "Metal3DataClaim lone-#", End::Fix, |site, n| {
        site.add(
            INFRASTRUCTURE,
            "Metal3DataClaim",
            &format!("lone-{n}"),
            json!({}),
            json!({"spec": {"template": here("t")}}),
        );
    }),
    row("CAPM3-C031", "Metal3DataClaim m-#", End::Decision, |site, n| {
        site.change("Metal3DataClaim", &format!("m-{n}"), json!({"status": {"renderedData": here("gone")}}));
    }),
    row("CAPM3-C032", "Metal3Data d-#", End::Fix, |site, n| {
        counted_data(site, &format!("d-{n}"), 10_000 + n, &format!("gone-{n}"));
    }),
    row("CAPM3-C033", "Metal3Data d-#", End::Fix, |site, n| {
        counted_data(site, &format!("d-{n}"), 20_000 + n, &format!("m-{n}"));
    }),
    row("CAPM3-C034", "Metal3Data t-#", End::Unknown, |site, n| {
        let index = n - 1;
        site.change("Metal3Data", &format!("t-{n}"), json!({"spec": {"index": index}}));
        entries(site, |entries| entries.retain(|entry| entry["index"] != n));
    }),
    row("CAPM3-C035", "Metal3Data t-#", End::Unknown, |site, n| {
        site.change("Metal3Data", &format!("t-{n}"), json!({"spec": {"template": here("gone")}}));
        entries(site, |entries| entries.retain(|entry| entry["index"] != n));
    }),
    row("CAPM3-C036", "Metal3DataTemplate t", End::Fix, |site, n| {
        entries(site, |entries| entries.push(json!({"name": "ghost", "index": 30_000 + n})));
    }),
    row("CAPM3-C037", "Metal3Machine lone-#", End::Unknown, |site, n| {
        site.add(INFRASTRUCTURE, "Metal3Machine", &format!("lone-{n}"), json!({}),
            json!({"spec": {"image": {"url": "http://i", "checksum": "http://s"}}, "status": {"renderedData": here("gone")}}));
    }),
    row("CAPM3-C040", "Metal3Data t-#", End::Unknown, |site, n| {
        site.remove("Secret", &format!("m-{n}-metadata"));
        site.change("BareMetalHost", &format!("h-{n}"), json!({"spec": {"metaData": null}}));
    }),
    row("CAPM3-C041", "Secret m-#-metadata", End::Unknown, |site, n| {
        let digests =
            json!({"capm3.metal3.io/content-digest": "feed", "capm3.metal3.io/inputs-digest": "feed"});
        site.change("Secret", &format!("m-{n}-metadata"), annotated(digests));
    }),
    row("CAPM3-C042", "Secret left-#", End::Fix, |site, n| {
        let mark = json!({"annotations": {"capm3.metal3.io/inputs-digest": "feed"}});
        site.add("v1", "Secret", &format!("left-{n}"), mark, json!({}));
    }),
    row("CAPM3-C042", "Secret left-#", End::FilesOnly, |site, n| {
        let owner = owners("Metal3Data", INFRASTRUCTURE, "gone", "dead");
        site.add("v1", "Secret", &format!("left-{n}"), owner, json!({}));
    }),
    row("CAPM3-C050", "IPAddress stray-#", End::Fix, |site, n| {
        counted_address(site, &format!("stray-{n}"), &high(n), &format!("gone-{n}"));
    }),
    row("CAPM3-C051", "IPClaim lone-#", End::Fix, |site, n| {
        let metadata = json!({"finalizers": ["metal3data.infrastructure.cluster.x-k8s.io"],
            "labels": {"infrastructure.cluster.x-k8s.io/data-name": "gone"}});
        site.add(IPAM, "IPClaim", &format!("lone-{n}"), metadata, json!({"spec": {"pool": here("p")}}));
    }),
    row("CAPM3-C051", "IPClaim lone-#", End::FilesOnly, |site, n| {
        let owner = owners("Metal3Data", INFRASTRUCTURE, "gone", "dead");
        site.add(IPAM, "IPClaim", &format!("lone-{n}"), owner, json!({"spec": {"pool": here("p")}}));
    }),
    row("CAPM3-C052", "IPClaim t-#-p", End::Decision, |site, n| {
        site.change("IPClaim", &format!("t-{n}-p"), json!({"status": {"address": here("gone")}}));
    }),
    row("CAPM3-C053", "IPAddress twin-#", End::Decision, |site, n| {
        let (name, address) = (format!("twin-{n}"), capm3_lab::finished::address(n));
        site.add(
            IPAM,
            "IPClaim",
            &name,
            json!({}),
            json!({"spec": {"pool": here("p")}, "status": {"address": here(&name)}}),
        );
        counted_address(site, &name, &address, &name);
    }),
    row("CAPM3-C055", "IPClaim lone-#", End::Decision, |site, n| {
        site.add(IPAM, "IPClaim", &format!("lone-{n}"), json!({}), json!({"spec": {"pool": here("gone")}}));
    }),
    row("CAPM3-C056", "IPPool p", End::Fix, |site, n| {
        site.change("IPPool", "p", json!({"status": {"indexes": {format!("ghost-{n}"): high(n)}}}));
    }),
    row("CAPM3-C057", "IPAddress second-#", End::Fix, |site, n| {
        site.add(IPAM, "IPAddress", &format!("second-{n}"), json!({}),
            json!({"spec": {"address": high(n), "prefix": 8, "pool": here("p"), "claim": here(&format!("t-{n}-p"))}}));
    }),
    row("CAPM3-C060", "Metal3Machine m-#", End::Unknown, |site, n| {
        site.remove("Machine", &format!("m-{n}"));
    }),
    row("CAPM3-C061", "IPClaim stale-#", End::Fix, |site, n| {
        let mut metadata = owners("Metal3Data", INFRASTRUCTURE, "gone", "dead");
        metadata["finalizers"] = json!(["metal3data.infrastructure.cluster.x-k8s.io"]);
        metadata["deletionTimestamp"] = json!("2026-05-31T23:00:00Z");
        site.add(IPAM, "IPClaim", &format!("stale-{n}"), metadata, json!({"spec": {"pool": here("p")}}));
    }),
    row("CAPM3-C062", "IPClaim old-#", End::FilesOnly, |site, n| {
        let metadata =
            json!({"finalizers": ["example.org/held"], "deletionTimestamp": "2026-05-31T20:59:00Z"});
        site.add(IPAM, "IPClaim", &format!("old-{n}"), metadata, json!({"spec": {"pool": here("p")}}));
    }),
    row("CAPM3-C063", "Metal3Remediation r-#", End::FilesOnly, |site, n| {
        let owner = owners("Machine", "cluster.x-k8s.io/v1beta2", "gone", "dead");
        site.add(INFRASTRUCTURE, "Metal3Remediation", &format!("r-{n}"), owner, json!({"spec": {}}));
    }),
    row("CAPM3-C064", "IPPool dp-#", End::Decision, |site, n| {
        let spec = json!({"spec": {"clusterName": "gone", "namePrefix": "dp", "pools": []}});
        site.add(IPAM, "IPPool", &format!("dp-{n}"), json!({}), spec);
    }),
    row("CAPM3-C065", "Metal3MachineTemplate mt-#", End::Unknown, |site, n| {
        let owner = owners("Cluster", "cluster.x-k8s.io/v1beta2", "c", "dead");
        let spec =
            json!({"spec": {"template": {"spec": {"image": {"url": "http://i", "checksum": "http://s"}}}}});
        site.add(INFRASTRUCTURE, "Metal3MachineTemplate", &format!("mt-{n}"), owner, spec);
    }),
    row("CAPM3-C066", "Metal3DataTemplate dt-#", End::Fix, |site, n| {
        let metadata = json!({"annotations": {"cluster.x-k8s.io/conversion-data": "{}"}});
        site.add(
            INFRASTRUCTURE,
            "Metal3DataTemplate",
            &format!("dt-{n}"),
            metadata,
            json!({"spec": {"clusterName": "c"}}),
        );
    }),
];

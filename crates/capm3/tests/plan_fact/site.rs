//! A random cluster that runs, and what is changed in it.

use capm3_engine::rng::Rng;
use serde_json::{Value, json};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const FAILURE_DOMAIN: &str = "infrastructure.cluster.x-k8s.io/failure-domain";
const RACKS: [&str; 3] = ["rack1", "rack2", "rack3"];
const HOME: &str = "metal3";

/// A cluster and the change.
pub struct Site {
    /// What is brought up.
    pub before: Vec<Value>,
    /// What is added with the change.
    pub added: Vec<Value>,
    /// What is changed: kind, name and patch.
    pub patches: Vec<(&'static str, String, Value)>,
    /// The change in words.
    pub what: String,
}

struct Draw(Rng);

impl Draw {
    fn below(&self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn one_in(&self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

fn object(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": HOME}, "spec": spec})
}

fn ours(kind: &str, name: &str, spec: Value) -> Value {
    object(&format!("{INFRASTRUCTURE}/v1beta2"), kind, name, spec)
}

/// A template of machines: by rack or for all, with or without node reuse.
fn template(name: &str, role: &str, reuse: bool, by_rack: bool, image: u64) -> Value {
    let url = format!("http://192.0.2.1/image-{image}.qcow2");
    let machine = json!({"image": {"url": url, "checksum": format!("{url}.sum")}, "dataTemplate": {"name": "net-rack1", "namespace": HOME},
        "hostSelector": {"matchLabels": {"role": role}}});
    let mut spec = json!({"nodeReuse": reuse, "template": {"spec": machine}});
    if by_rack {
        let row = |rack: &&str| json!({"failureDomain": rack, "dataTemplate": {"name": format!("net-{rack}"), "namespace": HOME}});
        spec["failureDomainDataTemplates"] = RACKS.iter().map(row).collect();
    }
    ours("Metal3MachineTemplate", name, spec)
}

fn registration() -> Value {
    json!({"nodeRegistration": {"kubeletExtraArgs": [{"name": "node-labels", "value": "metal3.io/uuid={{ ds.meta_data.uuid }}"}]}})
}

impl Site {
    pub fn random(seed: u64) -> Self {
        let draw = Draw(Rng::seeded(seed.wrapping_mul(7919)));
        let (leaders, workers) = (if draw.one_in(2) { 3 } else { 1 }, 1 + draw.below(4));
        let (spare_leaders, spare_workers) = (draw.below(2), draw.below(3));
        let (reuse, by_rack) = (draw.one_in(2), draw.one_in(2));
        let (surge, unavailable) = match draw.below(4) {
            0 => (json!(1), json!(0)),
            1 => (json!(0), json!(1)),
            2 => (json!(2), json!(1)),
            _ => (json!("50%"), json!("50%")),
        };
        let leader_surge = if leaders == 3 && draw.one_in(2) { 0 } else { 1 };
        let reference =
            |kind: &str, name: &str| json!({"apiGroup": INFRASTRUCTURE, "kind": kind, "name": name});
        let domains: Vec<Value> =
            RACKS.iter().map(|rack| json!({"name": rack, "controlPlane": true})).collect();
        let mut before = vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bmc", "namespace": HOME}, "stringData": {"value": "x"}}),
            object(
                "cluster.x-k8s.io/v1beta2",
                "Cluster",
                "c",
                json!({
                "infrastructureRef": reference("Metal3Cluster", "c"),
                "controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"}}),
            ),
            ours(
                "Metal3Cluster",
                "c",
                json!({"controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443}, "failureDomains": domains}),
            ),
            template("cp-1", "leader", reuse, by_rack, 1),
            template("w-1", "worker", reuse, by_rack, 1),
            object(
                "controlplane.cluster.x-k8s.io/v1beta2",
                "KubeadmControlPlane",
                "cp",
                json!({
                "replicas": leaders, "version": "v1.36.0",
                "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": leader_surge}}},
                "machineTemplate": {"spec": {"infrastructureRef": reference("Metal3MachineTemplate", "cp-1")}},
                "kubeadmConfigSpec": {"initConfiguration": registration(), "joinConfiguration": registration()}}),
            ),
            object(
                "bootstrap.cluster.x-k8s.io/v1beta2",
                "KubeadmConfigTemplate",
                "w",
                json!({"template": {"spec": {"joinConfiguration": registration()}}}),
            ),
        ];
        let labels = json!({"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/deployment-name": "w"});
        before.push(object("cluster.x-k8s.io/v1beta2", "MachineDeployment", "w", json!({
            "clusterName": "c", "replicas": workers, "selector": {"matchLabels": labels},
            "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}},
            "template": {"metadata": {"labels": labels}, "spec": {"clusterName": "c", "version": "v1.36.0",
                "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "w"}},
                "infrastructureRef": reference("Metal3MachineTemplate", "w-1")}}})));
        for (number, rack) in RACKS.iter().enumerate() {
            before.extend(network(number, rack, if draw.one_in(5) { workers + leaders } else { 90 }));
        }
        let counts = [("leader", leaders + spare_leaders), ("worker", workers + spare_workers)];
        for (role, count) in counts {
            before.extend((0..count).map(|number| host(role, number, draw.below(3), draw.one_in(4))));
        }
        let (what, added, patches) = change(&draw, leaders, workers, reuse, by_rack);
        let what = format!(
            "{leaders}+{spare_leaders} leaders, {workers}+{spare_workers} workers, surge {surge} unavailable {unavailable}, reuse {reuse}, by rack {by_rack}, {what}"
        );
        Self { before, added, patches, what }
    }
}

type Change = (String, Vec<Value>, Vec<(&'static str, String, Value)>);

fn change(draw: &Draw, leaders: u64, workers: u64, reuse: bool, by_rack: bool) -> Change {
    let reference =
        |name: &str| json!({"apiGroup": INFRASTRUCTURE, "kind": "Metal3MachineTemplate", "name": name});
    let of_workers = |spec: Value| vec![("MachineDeployment", "w".to_owned(), json!({"spec": spec}))];
    let of_leaders = |spec: Value| vec![("KubeadmControlPlane", "cp".to_owned(), json!({"spec": spec}))];
    match draw.below(7) {
        0 | 1 => {
            let spec = json!({"template": {"spec": {"infrastructureRef": reference("w-2")}}});
            (
                "another template of workers".to_owned(),
                vec![template("w-2", "worker", reuse, by_rack, 2)],
                of_workers(spec),
            )
        }
        2 => (
            "another version of workers".to_owned(),
            Vec::new(),
            of_workers(json!({"template": {"spec": {"version": "v1.37.0"}}})),
        ),
        3 => {
            let more = workers + 1 + draw.below(3);
            (format!("{more} workers"), Vec::new(), of_workers(json!({"replicas": more})))
        }
        4 => {
            let less = draw.below(workers);
            (format!("{less} workers"), Vec::new(), of_workers(json!({"replicas": less})))
        }
        5 => {
            let spec = json!({"machineTemplate": {"spec": {"infrastructureRef": reference("cp-2")}}});
            (
                "another template of leaders".to_owned(),
                vec![template("cp-2", "leader", reuse, by_rack, 2)],
                of_leaders(spec),
            )
        }
        _ if leaders == 1 => ("3 leaders".to_owned(), Vec::new(), of_leaders(json!({"replicas": 3}))),
        _ => ("another version of leaders".to_owned(), Vec::new(), of_leaders(json!({"version": "v1.37.0"}))),
    }
}

/// The data template and the pool of a rack.
fn network(number: usize, rack: &str, addresses: u64) -> [Value; 2] {
    let pool = format!("pool-{rack}");
    let (start, end) = (format!("10.0.{number}.10"), format!("10.0.{number}.{}", 9 + addresses));
    let spec = json!({"metaData": {"ipAddressesFromIPPool": [{"key": "ip", "name": pool}]}, "networkData": {
        "links": {"ethernets": [{"id": "enp1s0", "type": "phy", "macAddress": {"fromHostInterface": "enp1s0"}}]},
        "networks": {"ipv4": [{"id": "net", "link": "enp1s0", "ipAddressFromIPPool": pool}]}}});
    [
        ours("Metal3DataTemplate", &format!("net-{rack}"), spec),
        object(
            "ipam.metal3.io/v1alpha1",
            "IPPool",
            &pool,
            json!({"namePrefix": pool, "prefix": 24, "pools": [{"start": start, "end": end}]}),
        ),
    ]
}

fn host(role: &str, number: u64, rack: u64, has_no_rack: bool) -> Value {
    let index = usize::try_from(if role == "leader" { number % 3 } else { rack }).unwrap();
    let mut labels = json!({"role": role});
    if !has_no_rack || role == "leader" {
        labels[FAILURE_DOMAIN] = json!(RACKS[index]);
    }
    let byte = if role == "leader" { 1 } else { 2 };
    let mut host = object(
        "metal3.io/v1alpha1",
        "BareMetalHost",
        &format!("{role}-{number}"),
        json!({"online": true, "bootMACAddress": format!("52:54:00:00:{byte:02x}:{number:02x}"),
            "bmc": {"address": format!("redfish+http://192.0.2.{byte}/{number}"), "credentialsName": "bmc"}}),
    );
    host["metadata"]["labels"] = labels;
    host
}

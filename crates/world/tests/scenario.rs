//! The world alone, with a plain store for an API server and a stand-in for the provider: a cluster comes up over
//! three racks, its workers are scaled, and it goes again.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets what it did not expect fails"
)]

mod support;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use capm3_engine::{ApiClient, Clock, ObjectKey};
use capm3_world::{Options, Profile, WorkloadApis, World};
use serde_json::{Value, json};
use support::{provider, schema, server::Server};

struct Apis(Server);

fn client(server: &Server) -> ApiClient {
    ApiClient::new(kube::Client::new(server.clone(), "default"), "world")
}

impl WorkloadApis for Apis {
    fn add(&self, _: &ObjectKey) {}
    fn client(&self, _: &ObjectKey) -> ApiClient {
        client(&self.0)
    }
    fn kubeconfig(&self, cluster: &ObjectKey) -> String {
        format!("kubeconfig of {}", cluster.name)
    }
}

struct Lab {
    server: Server,
    workload: Server,
    world: World,
    /// How often the stand-in looks.
    pause: Duration,
}

impl Lab {
    fn start(profile: Profile, seed: u64) -> Self {
        let (server, workload) = (Server::default(), Server::default());
        let clock = Clock::starting_at("2026-08-01T00:00:00Z".parse().unwrap());
        let options = Options { profile, seed, ..Options::default() };
        let world = World::start(client(&server), Arc::new(Apis(workload.clone())), clock, &options);
        let pause = Duration::from_millis(if profile == Profile::Instant { 1 } else { 250 });
        Self { server, workload, world, pause }
    }

    /// Runs until nobody has anything to do.
    async fn settle(&self) {
        let mut quiet = 0;
        for _ in 0..20_000 {
            tokio::time::sleep(self.pause).await;
            let wrote = provider::step(&self.server, &self.workload);
            quiet = if wrote || !self.world.is_idle() { 0 } else { quiet + 1 };
            if quiet > 20 {
                return;
            }
        }
        panic!("never quiet: {:?}", self.world);
    }

    fn count(&self, plural: &str) -> usize {
        self.server.all(plural).len()
    }

    fn states(&self) -> BTreeMap<String, usize> {
        let mut states = BTreeMap::new();
        for host in self.server.all("baremetalhosts") {
            let state = host["status"]["provisioning"]["state"].as_str().unwrap().to_owned();
            *states.entry(state).or_insert(0) += 1;
        }
        states
    }

    /// What an API server with the world's CRDs would not have taken.
    fn complaints(&self) -> Vec<String> {
        let judge = |crd: &Value| {
            schema::complaints(crd, &self.server.all(crd["spec"]["names"]["plural"].as_str().unwrap()))
        };
        capm3_world::crds().iter().flat_map(judge).collect()
    }

    fn scale(&self, replicas: i32) {
        let key = ("metal3".to_owned(), "workers".to_owned());
        let patch = json!({"spec": {"replicas": replicas}});
        self.server.patch("machinedeployments", &key, false, &patch).unwrap();
    }
}

fn manifests() -> Vec<(&'static str, Value)> {
    let named = |name: &str| json!({"name": name, "namespace": "metal3"});
    let rack = |n: usize| format!("rack{}", n % 3 + 1);
    let registration = json!({"nodeRegistration": {"name": "{{ ds.meta_data.name }}", "kubeletExtraArgs":
        [{"name": "node-labels", "value": "metal3.io/uuid={{ ds.meta_data.uuid }}"}]}});
    let reference =
        |group: &str, kind: &str, name: &str| json!({"apiGroup": group, "kind": kind, "name": name});
    let infra = "infrastructure.cluster.x-k8s.io";
    let template = |name: &str| json!({"metadata": named(name), "spec": {"template": {"spec": {"image": {"url": "http://image"}}}}});
    let mut all: Vec<(&'static str, Value)> = (0..12)
        .map(|n| {
            let mut metadata = named(&format!("host-{n:02}"));
            metadata["labels"] = json!({"infrastructure.cluster.x-k8s.io/failure-domain": rack(n)});
            let spec = json!({"online": true, "bootMACAddress": format!("00:00:00:00:00:{n:02x}"),
                "bmc": {"address": "redfish://x", "credentialsName": "bmc"}});
            ("baremetalhosts", json!({"metadata": metadata, "spec": spec}))
        })
        .collect();
    let domains: Vec<Value> = (0..3).map(|n| json!({"name": rack(n), "controlPlane": true})).collect();
    all.extend([
        ("machinedeployments", json!({"metadata": named("workers"), "spec": {"clusterName": "my-cluster", "replicas": 3,
            "selector": {}, "template": {"spec": {"clusterName": "my-cluster", "version": "v1.34.0",
                "bootstrap": {"configRef": reference("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", "workers")},
                "infrastructureRef": reference(infra, "Metal3MachineTemplate", "workers")}}}})),
        ("kubeadmconfigtemplates", json!({"metadata": named("workers"), "spec": {"template": {"spec":
            {"joinConfiguration": registration}}}})),
        ("metal3machinetemplates", template("workers")),
        ("metal3machinetemplates", template("my-cluster-cp")),
        ("kubeadmcontrolplanes", json!({"metadata": named("my-cluster-cp"), "spec": {"replicas": 3, "version": "v1.34.0",
            "machineTemplate": {"spec": {"infrastructureRef": reference(infra, "Metal3MachineTemplate", "my-cluster-cp")}},
            "kubeadmConfigSpec": {"initConfiguration": registration, "joinConfiguration": registration}}})),
        ("metal3clusters", json!({"metadata": named("my-cluster"), "spec": {"cloudProviderEnabled": true,
            "controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443}, "failureDomains": domains}})),
        ("clusters", json!({"metadata": named("my-cluster"), "spec": {
            "infrastructureRef": reference(infra, "Metal3Cluster", "my-cluster"),
            "controlPlaneRef": reference("controlplane.cluster.x-k8s.io", "KubeadmControlPlane", "my-cluster-cp")}})),
    ]);
    all
}

fn apply(lab: &Lab, manifests: Vec<(&'static str, Value)>) {
    for (plural, object) in manifests {
        lab.server.create(plural, object).unwrap();
    }
}

async fn up(profile: Profile, seed: u64, reverse: bool) -> Lab {
    let lab = Lab::start(profile, seed);
    let mut objects = manifests();
    if reverse {
        objects.reverse();
    }
    apply(&lab, objects);
    lab.settle().await;
    lab
}

#[tokio::test(start_paused = true)]
async fn a_cluster_comes_up_whatever_the_order_of_its_manifests() {
    for reverse in [false, true] {
        let lab = up(Profile::Instant, 1, reverse).await;
        let machines = lab.server.all("machines");
        assert_eq!(machines.len(), 6);
        for machine in &machines {
            assert_eq!(machine["status"]["phase"], "Running", "{machine:#}");
            assert!(machine["status"]["nodeRef"]["name"].is_string());
        }
        let mut racks: Vec<&str> = machines
            .iter()
            .filter(|m| m["metadata"]["labels"].get("cluster.x-k8s.io/control-plane").is_some())
            .map(|m| m["spec"]["failureDomain"].as_str().unwrap())
            .collect();
        racks.sort_unstable();
        assert_eq!(racks, ["rack1", "rack2", "rack3"]);
        let cluster = lab.server.get("clusters", "my-cluster").unwrap();
        assert_eq!(cluster["status"]["phase"], "Provisioned");
        assert_eq!(
            cluster["status"]["deprecated"]["v1beta1"]["conditions"][0]["type"],
            "InfrastructureReady"
        );
        assert_eq!(lab.workload.all("nodes").len(), 6);
        assert_eq!(lab.states(), BTreeMap::from([("available".into(), 6), ("provisioned".into(), 6)]));
        assert!(lab.server.get("secrets", "my-cluster-kubeconfig").is_some());
        assert_eq!(lab.complaints(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_node_was_given_can_be_asked_for() {
    let lab = up(Profile::Instant, 1, false).await;
    let hosts = lab.server.all("baremetalhosts");
    let host = hosts.iter().find(|h| h["status"]["provisioning"]["state"] == "provisioned").unwrap();
    let name = host["metadata"]["name"].as_str().unwrap();
    let data = lab.world.node_data(&ObjectKey::new("metal3", name)).unwrap();
    assert_eq!(data.text("local-hostname").as_deref(), Some(name));
    assert_eq!(data.meta_data["uuid"], host["metadata"]["uid"]);
    assert!(data.user_data.unwrap().contains("#cloud-config"));
    let node = lab.workload.get("nodes", name).unwrap();
    assert_eq!(node["metadata"]["labels"]["metal3.io/uuid"], host["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn workers_are_scaled_and_the_cluster_goes_without_a_trace() {
    let lab = up(Profile::Instant, 1, false).await;
    for (replicas, used) in [(5, 8), (2, 5)] {
        lab.scale(replicas);
        lab.settle().await;
        assert_eq!(lab.count("machines"), used);
        assert_eq!(lab.workload.all("nodes").len(), used);
        assert_eq!(lab.states()["provisioned"], used);
    }
    lab.server.delete("clusters", &("metal3".into(), "my-cluster".into())).unwrap();
    lab.settle().await;
    for plural in [
        "clusters",
        "metal3clusters",
        "kubeadmcontrolplanes",
        "machinedeployments",
        "machinesets",
        "machines",
        "metal3machines",
        "kubeadmconfigs",
        "kubeadmconfigtemplates",
        "metal3machinetemplates",
        "secrets",
    ] {
        assert_eq!(lab.server.all(plural), Vec::<Value>::new(), "{plural}");
    }
    assert_eq!(lab.states(), BTreeMap::from([("available".into(), 12)]));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_at_rest() {
    let lab = up(Profile::Demo, 1, false).await;
    let before = (lab.server.writes(), lab.workload.writes());
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((lab.server.writes(), lab.workload.writes()), before);
    assert!(lab.world.is_idle());
}

#[tokio::test(start_paused = true)]
async fn equal_seeds_give_equal_worlds() {
    let run = |seed| async move {
        let lab = up(Profile::Demo, seed, false).await;
        let names: Vec<String> =
            lab.server.all("machines").iter().map(|m| m["metadata"]["name"].to_string()).collect();
        (lab.server.writes(), names)
    };
    let (first, again, other) = (run(1).await, run(1).await, run(2).await);
    assert_eq!(first, again);
    assert_ne!(first.1, other.1);
}

#[tokio::test(start_paused = true)]
async fn a_new_template_replaces_workers_and_control_plane() {
    let lab = up(Profile::Instant, 1, false).await;
    for (plural, name, path) in
        [("machinedeployments", "workers", "template"), ("kubeadmcontrolplanes", "my-cluster-cp", "")]
    {
        let spec = match path {
            "" => json!({"version": "v1.35.0"}),
            path => json!({path: {"spec": {"version": "v1.35.0"}}}),
        };
        lab.server.patch(plural, &("metal3".into(), name.into()), false, &json!({"spec": spec})).unwrap();
    }
    lab.settle().await;
    let machines = lab.server.all("machines");
    assert_eq!(machines.len(), 6);
    assert!(machines.iter().all(|m| m["spec"]["version"] == "v1.35.0"), "{machines:#?}");
    assert_eq!(lab.count("machinesets"), 1);
    assert_eq!(lab.states()["provisioned"], 6);
}

#[test]
fn an_object_that_the_real_api_would_not_take_is_complained_about() {
    let crds = capm3_world::crds();
    let crd = crds.iter().find(|c| c["spec"]["names"]["kind"] == "BareMetalHost").unwrap();
    let host = json!({"spec": {"bootMACAddress": "x", "unknown": 1}, "status": {"errorType": "odd"}});
    let complaints = schema::complaints(crd, &[host]).join("\n");
    for part in [
        "spec: online is missing",
        "spec.unknown: would be dropped",
        "spec.bootMACAddress: x does not match",
        "status: poweredOn is missing",
        "status.errorType: \"odd\" is not among",
    ] {
        assert!(complaints.contains(part), "{part} in {complaints}");
    }
}

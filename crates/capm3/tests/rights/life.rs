//! A life in which the provider makes every request that it can make: machines come up, grow and shrink in number, stored objects
//! are migrated, and everything is deleted.

use std::{path::Path, sync::Arc, time::Duration};

use capm3_engine::{ObjectKey, ResourceKind};
use capm3_lab::{
    Lab, Options,
    faults::{Faults, NoFaults},
    manifests::{self, Manifest},
};
use capm3_provider::{crd_migration::Phases, host_crd::definitions};
use serde_json::{Value, json};

/// More than anything takes that is not held up.
const LIMIT: Duration = Duration::from_secs(7200);

const GROUP: &str = "infrastructure.cluster.x-k8s.io";
const OBSERVED: &str = "crd-migration.cluster.x-k8s.io/observed-generation";

/// The parts of a life, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Six machines come up, and a claim of Cluster API is served.
    RollOut,
    /// Two more machines.
    Growth,
    /// A machine is unhealthy, and its remediation is given up: another machine takes its place.
    Remediation,
    /// Three machines less.
    Shrinking,
    /// All kinds are as if they were stored in an older version.
    Migration,
    /// The claim and the cluster are deleted.
    Deletion,
}

pub const STAGES: [Stage; 6] =
    [Stage::RollOut, Stage::Growth, Stage::Remediation, Stage::Shrinking, Stage::Migration, Stage::Deletion];

impl Stage {
    /// What a user does.
    pub async fn begin(self, lab: &Lab) {
        let (claims, claim) = (kind("ipam.cluster.x-k8s.io", "IPAddressClaim"), key("c1"));
        match self {
            Self::RollOut => {
                lab.apply(&site()).await.unwrap();
                let pool = json!({"name": "pool-rack1", "kind": "IPPool", "apiGroup": "ipam.metal3.io"});
                let object =
                    json!({"metadata": {"name": "c1", "namespace": "metal3"}, "spec": {"poolRef": pool}});
                lab.client().create(&claims, "metal3", object).await.unwrap();
            }
            Self::Growth => scale(lab, 5).await,
            Self::Remediation => remediate(lab).await,
            Self::Shrinking => scale(lab, 2).await,
            Self::Migration => store_in_older_version(lab).await,
            Self::Deletion => {
                lab.client().delete(&claims, &claim, None).await.unwrap();
                let clusters = kind("cluster.x-k8s.io", "Cluster");
                lab.client().delete(&clusters, &key("my-cluster"), None).await.unwrap();
            }
        }
    }

    /// Lets everything happen that happens.
    pub async fn rest(self, lab: &Lab, limit: Duration) {
        lab.settle(limit).await;
        while serve_other_pool(lab).await {
            lab.settle(limit).await;
        }
        if self == Self::Migration {
            // Longer than the provider waits until it reads the CRDs again.
            tokio::time::sleep(Duration::from_secs(700)).await;
        }
    }

    /// What is not done yet.
    pub fn left(self, lab: &Lab) -> Vec<String> {
        match self {
            Self::RollOut => {
                let mut left = machines_left(lab, 6);
                let claim = lab.object("IPAddressClaim", "c1").unwrap();
                left.extend(claim["status"]["addressRef"].is_null().then(|| "claim c1".to_owned()));
                left
            }
            Self::Growth => machines_left(lab, 8),
            Self::Remediation => {
                let mut left = machines_left(lab, 8);
                left.extend(lab.objects("Metal3Remediation").iter().map(|it| name(it)));
                let is_marked =
                    |host: &Value| !host["metadata"]["annotations"]["capm3.metal3.io/unhealthy"].is_null();
                let marked = lab.objects("BareMetalHost").iter().filter(|host| is_marked(host)).count();
                left.extend((marked != 1).then(|| format!("{marked} hosts are marked as unhealthy")));
                left
            }
            Self::Shrinking => machines_left(lab, 5),
            Self::Migration => {
                let own = own_definitions(lab);
                let left = own.iter().filter(|crd| {
                    crd["status"]["storedVersions"] != json!(["v1beta2"])
                        || crd["metadata"]["annotations"][OBSERVED].is_null()
                });
                left.map(|crd| name(crd)).collect()
            }
            Self::Deletion => {
                let kinds = [
                    "Cluster",
                    "Metal3Cluster",
                    "Metal3Machine",
                    "Metal3DataClaim",
                    "Metal3Data",
                    "IPClaim",
                    "IPAddressClaim",
                    "IPAddress",
                ];
                let mut left: Vec<String> =
                    kinds.iter().flat_map(|kind| lab.objects(kind)).map(|it| name(&it)).collect();
                let hosts = lab.objects("BareMetalHost");
                assert!(hosts.len() > 6, "{hosts:?}");
                let used = hosts.iter().filter(|host| !host["spec"]["consumerRef"].is_null());
                left.extend(used.map(|host| name(host)));
                left
            }
        }
    }
}

fn name(object: &Value) -> String {
    format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

fn machines_left(lab: &Lab, wanted: usize) -> Vec<String> {
    let machines = lab.objects("Metal3Machine");
    let is_ready =
        |machine: &Value| machine.pointer("/status/initialization/provisioned") == Some(&json!(true));
    let mut left: Vec<String> =
        machines.iter().filter(|machine| !is_ready(machine)).map(|it| name(it)).collect();
    if machines.len() != wanted {
        left.push(format!("{} machines instead of {wanted}", machines.len()));
    }
    let hosts = lab.objects("BareMetalHost");
    let used = hosts.iter().filter(|host| !host["spec"]["consumerRef"].is_null()).count();
    if used != wanted {
        left.push(format!("{used} hosts are in use instead of {wanted}"));
    }
    left
}

fn kind(group: &str, kind: &str) -> ResourceKind {
    let plural = format!("{}s", kind.to_lowercase());
    ResourceKind { group: group.to_owned(), version: "v1beta2".to_owned(), kind: kind.to_owned(), plural }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("metal3", name)
}

/// The three racks; one of them takes its addresses from a pool of another address manager, and a host was inspected.
fn site() -> Vec<Manifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/three-racks");
    let mut all = manifests::read(&folder).unwrap();
    let object = |all: &mut Vec<Manifest>, kind: &str, name: &str| -> usize {
        all.iter().position(|it| it.kind() == kind && it.key().name == name).unwrap()
    };
    let host = object(&mut all, "BareMetalHost", "rack1-host-2");
    all[host].object["metadata"]["annotations"]["inspect.metal3.io/hardwaredetails"] = json!(
        r#"{"cpu": {"arch": "x86_64", "count": 8}, "ramMebibytes": 1024, "nics": [{"name": "enp1s0", "mac": "52:54:00:aa:01:02"}]}"#
    );
    let template = object(&mut all, "Metal3DataTemplate", "m3dt-rack3");
    let network = all[template].object.pointer_mut("/spec/networkData/networks/ipv4/0").unwrap();
    network.as_object_mut().unwrap().remove("ipAddressFromIPPool");
    network["fromPoolRef"] =
        json!({"name": "other", "kind": "InClusterIPPool", "apiGroup": "ipam.cluster.x-k8s.io"});
    all
}

/// Plays the other address manager, which gives an address to each claim of its pool; whether there was one.
async fn serve_other_pool(lab: &Lab) -> bool {
    let group = "ipam.cluster.x-k8s.io";
    let claims = lab.objects("IPAddressClaim");
    let is_open = |claim: &Value| {
        claim["spec"]["poolRef"]["name"] == "other"
            && claim["status"]["addressRef"].is_null()
            && claim["metadata"]["deletionTimestamp"].is_null()
    };
    let Some(claim) = claims.iter().find(|claim| is_open(claim)) else { return false };
    let name = claim["metadata"]["name"].as_str().unwrap();
    let given = lab.objects("IPAddress").len();
    let owner = json!({"apiVersion": format!("{group}/v1beta2"), "kind": "IPAddressClaim", "name": name,
        "uid": claim["metadata"]["uid"]});
    let address = json!({
        "metadata": {"name": name, "namespace": "metal3", "ownerReferences": [owner]},
        "spec": {"address": format!("192.0.2.{}", 100 + given), "prefix": 24, "claimRef": {"name": name},
            "poolRef": claim["spec"]["poolRef"]},
    });
    let addresses = ResourceKind { plural: "ipaddresses".to_owned(), ..kind(group, "IPAddress") };
    lab.client().create(&addresses, "metal3", address).await.unwrap();
    let answer = json!({"status": {"addressRef": {"name": name}}});
    lab.patch_status(&kind(group, "IPAddressClaim"), &key(name), &answer).await.unwrap();
    true
}

/// What a MachineHealthCheck does with a worker that is unhealthy, and stays so.
async fn remediate(lab: &Lab) {
    let is_worker = |machine: &Value| {
        machine["metadata"]["labels"].get("cluster.x-k8s.io/control-plane").is_none()
            && machine["metadata"]["deletionTimestamp"].is_null()
    };
    let machines = lab.objects("Machine");
    let machine = machines.iter().find(|machine| is_worker(machine)).unwrap();
    let name = machine["metadata"]["name"].as_str().unwrap();
    let mut conditions = machine["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.push(json!({"type": "HealthCheckSucceeded", "status": "False", "reason": "UnhealthyNode",
        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
    let status = json!({"status": {"conditions": conditions}});
    lab.patch_status(&kind("cluster.x-k8s.io", "Machine"), &key(name), &status).await.unwrap();
    let owner = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": name,
        "uid": machine["metadata"]["uid"]});
    let strategy = json!({"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 100});
    let remediation = json!({"metadata": {"name": name, "namespace": "metal3", "ownerReferences": [owner]},
        "spec": {"strategy": strategy}});
    lab.client().create(&kind(GROUP, "Metal3Remediation"), "metal3", remediation).await.unwrap();
}

async fn scale(lab: &Lab, replicas: u32) {
    let patch = json!({"spec": {"replicas": replicas}});
    let deployments = kind("cluster.x-k8s.io", "MachineDeployment");
    lab.client().merge_patch(&deployments, &key("my-cluster-workers"), None, &patch).await.unwrap();
}

fn own_definitions(lab: &Lab) -> Vec<Arc<Value>> {
    let mut own = lab.objects("CustomResourceDefinition");
    own.retain(|crd| crd["spec"]["group"] == GROUP);
    assert_eq!(own.len(), 9, "{own:?}");
    own
}

/// One object of each kind that nothing else creates, and all of them as if they were stored in an older version.
async fn store_in_older_version(lab: &Lab) {
    let strategy = json!({"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 600});
    let template = json!({"spec": {"template": {"spec": {"strategy": strategy}}}});
    for (name, mut object) in [
        (
            "Metal3ClusterTemplate",
            json!({"spec": {"template": {"spec": {"controlPlaneEndpoint": {"host": "h", "port": 6443}}}}}),
        ),
        ("Metal3RemediationTemplate", template),
        ("Metal3Remediation", json!({"spec": {"strategy": strategy}})),
    ] {
        object["metadata"] = json!({"name": "one", "namespace": "metal3"});
        lab.client().create(&kind(GROUP, name), "metal3", object).await.unwrap();
    }
    for crd in own_definitions(lab) {
        let key = ObjectKey::new("", crd["metadata"]["name"].as_str().unwrap());
        let stored = json!({"status": {"storedVersions": ["v1beta1", "v1beta2"]}});
        lab.patch_status(&definitions(), &key, &stored).await.unwrap();
        let annotations = json!({OBSERVED: null});
        lab.patch(&definitions(), &key, &json!({"metadata": {"annotations": annotations}})).await.unwrap();
    }
}

/// A lab in which everything is done that a provider does, with this between it and the server.
pub async fn lab(faults: Arc<dyn Faults>) -> Lab {
    let options = Options { faults, crd_migration: Some(Phases::default()), ..Options::default() };
    Lab::start(&options).await.unwrap()
}

/// The whole life without faults.
pub async fn a_whole_life() -> Lab {
    let lab = lab(Arc::new(NoFaults)).await;
    for stage in STAGES {
        stage.begin(&lab).await;
        stage.rest(&lab, LIMIT).await;
        assert_eq!(stage.left(&lab), Vec::<String>::new(), "{stage:?}");
    }
    lab
}

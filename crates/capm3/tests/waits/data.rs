//! Machines that wait for their metadata and network data.

use capm3_lab::{
    Lab, Options,
    faults::{Fault, Refusal},
};
use capm3_offline::planner::Controller;
use serde_json::{Value, json};

use crate::{
    scene::{OneFault, Scene, delete, lab, lab_against, patch, put, rest, strip},
    site::{HOME, Site, host, ours, owner, secret},
};

const FORBIDDEN: Fault = Fault::Refused(Refusal::Forbidden);
const OF_MACHINE: &str = "metal3machine.infrastructure.cluster.x-k8s.io";
const OF_CLAIM: &str = "metal3dataclaim.infrastructure.cluster.x-k8s.io";

/// A lab whose machine has a host and waits for its data, which waits for a pool that is not there.
pub async fn unrendered() -> Lab {
    let lab = lab(&Site::whole().without("IPPool", "p")).await;
    rest(&lab).await;
    lab
}

/// The same whose machine has an unserved claim.
async fn unserved() -> Lab {
    let lab = lab(&Site::whole().without("Metal3DataTemplate", "d")).await;
    rest(&lab).await;
    lab
}

pub async fn without_own_secret() -> Scene {
    Scene::machine(
        lab(&Site::whole().with("Metal3Machine", "m", &json!({"spec": {"metaData": {"name": "mine"}}})))
            .await,
    )
}

/// Admission does not take it.
pub async fn with_secret_elsewhere() -> Scene {
    let elsewhere = json!({"spec": {"metaData": {"name": "boot", "namespace": "other"}}});
    Scene::planned(&Site::grown().with("Metal3Machine", "m", &elsewhere), Controller::Machine, "m")
}

pub async fn claimed_under_another_uid() -> Scene {
    let lab = unserved().await;
    let other = json!({"metadata": {"ownerReferences": [owner("Metal3Machine", "m")]}});
    patch(&lab, "Metal3DataClaim", "m", other).await;
    Scene::machine(lab)
}

pub async fn whose_claim_is_deleted() -> Scene {
    let lab = unserved().await;
    let held = json!({"metadata": {"finalizers": [OF_MACHINE, "example.com/held"]}});
    patch(&lab, "Metal3DataClaim", "m", held).await;
    delete(&lab, "Metal3DataClaim", "m").await;
    Scene::machine(lab)
}

pub async fn without_template() -> Scene {
    Scene::machine(lab(&Site::whole().without("Metal3DataTemplate", "d")).await)
}

/// The server refuses the data.
pub async fn not_served() -> Scene {
    Scene::machine(lab_against(&Site::whole(), &OneFault::new("POST", "/metal3datas", FORBIDDEN)).await)
}

/// The data is taken away by hand, and the server refuses another one.
pub async fn missing() -> Scene {
    let fault = OneFault::new("POST", "/metal3datas", FORBIDDEN);
    fault.set(false);
    let lab = lab_against(&Site::whole().without("IPPool", "p"), &fault).await;
    rest(&lab).await;
    fault.set(true);
    strip(&lab, "Metal3Data", "d-0").await;
    Scene::machine(lab)
}

/// The Secret is asked for, and no answer comes.
pub async fn being_rendered() -> Scene {
    Scene::machine(lab_against(&Site::whole(), &OneFault::new("POST", "/secrets", Fault::NeverAsked)).await)
}

pub async fn of_another_cluster() -> Scene {
    let lab = unrendered().await;
    patch(
        &lab,
        "Metal3Data",
        "d-0",
        json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "gone"}}}),
    )
    .await;
    Scene::data(lab)
}

pub async fn whose_template_is_gone() -> Scene {
    let lab = unrendered().await;
    strip(&lab, "Metal3DataTemplate", "d").await;
    Scene::data(lab)
}

pub async fn whose_claim_is_gone() -> Scene {
    let lab = unrendered().await;
    strip(&lab, "Metal3DataClaim", "m").await;
    Scene::data(lab)
}

/// The claim says that it is of another machine.
pub async fn whose_machine_is_gone() -> Scene {
    let lab = unrendered().await;
    let other = json!({"metadata": {"ownerReferences": [owner("Metal3Machine", "gone")]}});
    patch(&lab, "Metal3DataClaim", "m", other).await;
    Scene::data(lab)
}

/// In a lab the garbage collector removes the machine.
pub async fn whose_owner_is_gone() -> Scene {
    let labels = json!({"cluster.x-k8s.io/cluster-name": "c"});
    let mut claim = ours("Metal3DataClaim", "m", json!({"template": {"name": "d", "namespace": HOME}}));
    claim["metadata"]["labels"] = labels.clone();
    claim["metadata"]["ownerReferences"] = json!([owner("Metal3Machine", "m")]);
    claim["metadata"]["uid"] = json!("metal3dataclaim-m");
    claim["status"] = json!({"renderedData": {"name": "d-0", "namespace": HOME}});
    let mut data = ours(
        "Metal3Data",
        "d-0",
        json!({"index": 0, "template": {"name": "d", "namespace": HOME}, "claim": {"name": "m", "namespace": HOME}}),
    );
    data["metadata"]["labels"] = labels;
    data["metadata"]["ownerReferences"] = json!([owner("Metal3DataClaim", "m")]);
    let site = Site::grown().without("Machine", "m").and(claim).and(data);
    Scene::planned(&site, Controller::Data, "d-0")
}

pub async fn whose_host_is_gone() -> Scene {
    let lab = unrendered().await;
    strip(&lab, "BareMetalHost", "h").await;
    rest(&lab).await;
    Scene::data(lab)
}

pub async fn without_pool() -> Scene {
    Scene::data(unrendered().await)
}

/// The pool is one of Cluster API's contract, whose claims are not installed.
pub async fn whose_claim_kind_is_not_served() -> Scene {
    const GROUP: &str = "ipam.cluster.x-k8s.io";
    let mut lab = Lab::start(&Options::default()).await.unwrap();
    lab.stop_providers();
    let crds: Vec<_> =
        capm3_lab::crds().into_iter().filter(|crd| crd.key().name.ends_with(&format!(".{GROUP}"))).collect();
    assert!(!crds.is_empty(), "{GROUP} has CRDs");
    for crd in crds {
        lab.client().delete(&crd.resource(), &crd.key(), None).await.unwrap();
    }
    lab.start_provider();
    let pool = json!({"name": "p", "kind": "InClusterIPPool", "apiGroup": GROUP});
    let foreign = json!({"spec": {"metaData": {
        "ipAddressesFromPool": null,}, "networkData": {
        "links": {"ethernets": [{"id": "e", "type": "phy", "macAddress": {"fromHostInterface": "eno1"}}]},
        "networks": {"ipv4": [{"id": "n", "link": "e", "fromPoolRef": pool}]}}}});
    lab.apply(&Site::whole().with("Metal3DataTemplate", "d", &foreign).manifests()).await.unwrap();
    Scene::data(lab)
}

pub async fn whose_old_secret_goes() -> Scene {
    let mut old = secret("m-metadata");
    old["metadata"]["finalizers"] = json!(["example.com/held"]);
    let lab = lab(&Site::whole().without("BareMetalHost", "h").and(old)).await;
    delete(&lab, "Secret", "m-metadata").await;
    put(&lab, host("h")).await;
    Scene::data(lab)
}

/// The claim is deleted and its machine has released it, and the server refuses the end of the data.
pub async fn abandoned() -> Scene {
    let lab = lab_against(
        &Site::whole().without("IPPool", "p"),
        &OneFault::new("DELETE", "/metal3datas/", FORBIDDEN),
    )
    .await;
    rest(&lab).await;
    patch(&lab, "Metal3DataClaim", "m", json!({"metadata": {"finalizers": [OF_CLAIM]}})).await;
    delete(&lab, "Metal3DataClaim", "m").await;
    Scene::data(lab)
}

pub async fn deleted_under_its_claim() -> Scene {
    let lab = unrendered().await;
    delete(&lab, "Metal3Data", "d-0").await;
    Scene::data(lab)
}

/// One pool has given an address and may not take it back, the other one is not there.
pub async fn deleted_before_its_addresses() -> Scene {
    let fault = OneFault::new("PATCH", "/ipclaims/", FORBIDDEN);
    fault.set(false);
    let two = json!({"spec": {"metaData": {"ipAddressesFromPool": [
        {"key": "p", "name": "p"}, {"key": "q", "name": "q"}]}}});
    let lab = lab_against(&Site::whole().with("Metal3DataTemplate", "d", &two), &fault).await;
    rest(&lab).await;
    fault.set(true);
    strip(&lab, "Metal3DataClaim", "m").await;
    delete(&lab, "Metal3Data", "d-0").await;
    Scene::data(lab)
}

/// The only address of the pool is kept for somebody else.
pub async fn of_a_full_pool() -> Scene {
    let full = json!({"spec": {"preAllocations": {"somebody": "10.1.0.10"}, "pools": [{"start": "10.1.0.10", "end": "10.1.0.10"}]}});
    Scene::data(lab(&Site::whole().with("IPPool", "p", &full)).await)
}

pub async fn whose_pool_has_no_cluster() -> Scene {
    let waiting = json!({"spec": {"clusterName": "gone"}});
    let lab = lab(&Site::whole().with("IPPool", "p", &waiting)).await;
    rest(&lab).await;
    Scene::of(lab, Controller::Pool, "p")
}

/// A pause of the template, which keeps its claims unserved.
pub async fn whose_template_is_paused() -> Scene {
    let lab = lab(&Site::whole().with("Metal3DataTemplate", "d", &paused())).await;
    rest(&lab).await;
    Scene::of(lab, Controller::DataTemplate, "d")
}

/// A pause of the pool, which keeps its claims unserved.
pub async fn whose_pool_is_paused() -> Scene {
    let lab = lab(&Site::whole().with("IPPool", "p", &paused())).await;
    rest(&lab).await;
    Scene::of(lab, Controller::Pool, "p")
}

fn paused() -> Value {
    json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}})
}

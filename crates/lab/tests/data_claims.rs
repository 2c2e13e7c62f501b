//! From claim to index, data and Secret: what is made, what is found again, what happens when a part is lost.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use capm3_apiserver::ApiServer;
use capm3_lab::{
    Lab, Options,
    faults::{AnswerFuture, Call, Fault, Faults},
};
use common::{data::*, *};
use http::Request;
use http_body_util::Either;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::Service;

fn network() -> Value {
    json!({"links": {"ethernets": [{"id": "eno1", "type": "phy", "macAddress": {"fromHostInterface": "eno1"}}]}})
}

/// One Secret for each part of the template; without parts the data is ready at once.
#[tokio::test(start_paused = true)]
async fn s86_each_part_of_the_template_makes_one_secret() {
    let (meta_data, network_data) = (with_index()["metaData"].clone(), network());
    for (spec, expected) in [
        (json!({"metaData": meta_data}), vec!["metadata"]),
        (json!({"networkData": network_data}), vec!["networkdata"]),
        (json!({"metaData": meta_data, "networkData": network_data}), vec!["metadata", "networkdata"]),
        (json!({}), vec![]),
    ] {
        let lab = settled(&workers(1, spec)).await;
        let machine = name(&worker_machines(&lab)[0]);
        let made = ["metadata", "networkdata"].into_iter();
        let made: Vec<_> =
            made.filter(|s| lab.object("Secret", &format!("{machine}-{s}")).is_some()).collect();
        assert_eq!(made, expected);
        assert_eq!(data_of(&lab, &machine)["status"]["ready"], json!(true));
        assert!(all_ready(&lab));
    }
}

/// `lastUpdated` of the template moves with an index, and only then.
#[tokio::test(start_paused = true)]
async fn s89_last_updated_moves_only_with_an_index() {
    let lab = settled(&workers(2, with_index())).await;
    let stamp = |lab: &capm3_lab::Lab| text(&get(lab, "Metal3DataTemplate", "fleet"), "/status/lastUpdated");
    let before = stamp(&lab);
    let touch = json!({"metadata": {"annotations": {"touched": "yes"}}});
    lab.patch(&metal3("Metal3DataTemplate"), &here("fleet"), &touch).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    rest(&lab).await;
    assert_eq!(stamp(&lab), before);
    scale(&lab, 1).await;
    assert!(stamp(&lab) > before, "{} is not after {before}", stamp(&lab));
}

/// The printed claim `machine-1`, applied by hand: with the uid of its owner filled in it is served, and `renderedData`
/// becomes `nodepool-1-0`; with the owner dropped it is accepted, gets no data and says what it lacks.
#[tokio::test(start_paused = true)]
async fn s146_a_claim_that_is_applied_by_hand_gets_the_first_index() {
    for version in ["v1beta1", "v1beta2"] {
        let home = workers(1, with_index()).remove(0);
        let machine = ours("Metal3Machine", "machine-1", &json!({"customDeploy": {"method": "install"}}));
        let lab = settled(&[home, ours("Metal3DataTemplate", "nodepool-1", &with_index()), machine]).await;
        let api_version = format!("infrastructure.cluster.x-k8s.io/{version}");
        let owner = json!({"apiVersion": api_version, "controller": true, "kind": "Metal3Machine", "name": "machine-1",
            "uid": get(&lab, "Metal3Machine", "machine-1")["metadata"]["uid"]});
        let claim = |name: &str, owners: &Value| {
            let rest = json!({"metadata": {"ownerReferences": owners}, "spec": {"template": {"name": "nodepool-1"}}});
            manifest(&api_version, "Metal3DataClaim", name, &rest)
        };
        lab.apply(&[claim("machine-2", &json!([])), claim("machine-1", &json!([owner]))]).await.unwrap();
        rest(&lab).await;
        let served = get(&lab, "Metal3DataClaim", "machine-1");
        assert_eq!(text(&served, "/status/renderedData/name"), "nodepool-1-0");
        let data = get(&lab, "Metal3Data", "nodepool-1-0");
        assert_eq!(data["spec"]["index"], json!(0));
        assert_eq!(text(&data, "/spec/claim/name"), "machine-1");
        let unserved = get(&lab, "Metal3DataClaim", "machine-2");
        assert_eq!(text(&unserved, "/status/renderedData/name"), "");
        assert_eq!(text(&unserved, "/status/errorMessage"), "metal3Machine not found in owner references");
        assert_eq!(lab.objects("Metal3Data").len(), 1);
    }
}

/// A Metal3Machine without a Machine, and a claim of its name for a template, with the label of a Cluster.
async fn claim_by_hand(lab: &Lab, machine: &str, template: &str, cluster: &str) {
    let labels = json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": cluster}}});
    let mut owner = ours("Metal3Machine", machine, &json!({"customDeploy": {"method": "install"}}));
    json_patch::merge(&mut owner.object, &labels);
    lab.apply(&[owner]).await.unwrap();
    let mut claim = ours("Metal3DataClaim", machine, &json!({"template": {"name": template}}));
    json_patch::merge(&mut claim.object, &labels);
    claim.object["metadata"]["ownerReferences"] = json!([{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "Metal3Machine", "name": machine, "controller": true,
        "uid": get(lab, "Metal3Machine", machine)["metadata"]["uid"]}]);
    lab.apply(&[claim]).await.unwrap();
    rest(lab).await;
}

/// A template that the claims of one Cluster use, or that names its Cluster, carries the label of that Cluster; one that
/// several share carries none.
#[tokio::test(start_paused = true)]
async fn s84_a_template_carries_the_label_of_its_only_cluster() {
    let label = "/metadata/labels/cluster.x-k8s.io~1cluster-name";
    let mut named = with_index();
    named["clusterName"] = json!("fleet");
    let mut manifests = workers(1, with_index());
    manifests.insert(1, ours("Metal3DataTemplate", "named", &named));
    manifests.insert(1, ours("Metal3DataTemplate", "unused", &with_index()));
    let lab = settled(&manifests).await;
    let of = |template: &str| text(&get(&lab, "Metal3DataTemplate", template), label);
    assert_eq!(of("fleet"), "fleet", "all claims are of one Cluster");
    assert_eq!(of("named"), "fleet", "it names its Cluster");
    assert_eq!(of("unused"), "", "nobody uses it");
    claim_by_hand(&lab, "stranger", "fleet", "other").await;
    assert_eq!(of("fleet"), "", "two Clusters share it");
    claim_by_hand(&lab, "guest", "named", "other").await;
    assert_eq!(of("named"), "fleet", "what it names counts");
}

/// While a Cluster is paused, as during a move, its claims are neither served nor released; when the pause ends, they are.
#[tokio::test(start_paused = true)]
async fn pa66_claims_wait_for_the_end_of_a_pause_of_their_cluster() {
    let lab = settled(&workers(1, with_index())).await;
    claim_by_hand(&lab, "leaves", "fleet", "fleet").await;
    assert_eq!(lab.objects("Metal3Data").len(), 2);
    let pause = |paused: bool| json!({"spec": {"paused": paused}});
    lab.patch(&capi("Cluster"), &here("fleet"), &pause(true)).await.unwrap();
    rest(&lab).await;
    claim_by_hand(&lab, "comes", "fleet", "fleet").await;
    delete(&lab, "Metal3DataClaim", "leaves").await;
    tokio::time::sleep(std::time::Duration::from_secs(300)).await;
    rest(&lab).await;
    assert_eq!(text(&get(&lab, "Metal3DataClaim", "comes"), "/status/renderedData/name"), "");
    assert_eq!(data_of(&lab, "leaves")["metadata"].get("deletionTimestamp"), None, "its data stays");
    assert_eq!(lab.objects("Metal3Data").len(), 2);
    lab.patch(&capi("Cluster"), &here("fleet"), &pause(false)).await.unwrap();
    rest(&lab).await;
    assert_ne!(text(&get(&lab, "Metal3DataClaim", "comes"), "/status/renderedData/name"), "");
    assert!(lab.object("Metal3DataClaim", "leaves").is_none());
    assert_eq!(lab.objects("Metal3Data").len(), 2);
}

/// A failure stands on the claim and goes away with its cause.
#[tokio::test(start_paused = true)]
async fn s151_a_failure_stands_on_the_claim_until_it_is_cured() {
    let spec = json!({"metaData": {"fromHostInterfaces": [{"key": "mac", "interface": "eth9"}]}});
    let lab = settled(&workers(1, spec)).await;
    let machine = name(&worker_machines(&lab)[0]);
    let claim = get(&lab, "Metal3DataClaim", &machine);
    let message = text(&claim, "/status/errorMessage");
    assert!(
        message.starts_with("NIC name not found eth9: spec.metaData.fromHostInterfaces[0].interface"),
        "{message}"
    );
    assert_eq!(condition(&claim, "Ready"), ("False".into(), "RenderFailed".into()));
    give_nic(&lab, &machine, "eth9").await;
    let claim = get(&lab, "Metal3DataClaim", &machine);
    assert_eq!(text(&claim, "/status/errorMessage"), "");
    assert_eq!(condition(&claim, "Ready"), ("True".into(), "Rendered".into()));
    assert!(all_ready(&lab));
}

/// Adds a network interface to the hardware of a machine's host.
async fn give_nic(lab: &capm3_lab::Lab, machine: &str, nic: &str) {
    let machine = get(lab, "Metal3Machine", machine);
    let host = text(&machine, "/metadata/annotations/metal3.io~1BareMetalHost").replace("fleet/", "");
    let kind = manifest("metal3.io/v1alpha1", "BareMetalHost", "", &json!({})).resource();
    let nics =
        json!([{"name": "eno1", "mac": "52:54:00:00:00:01"}, {"name": nic, "mac": "52:54:00:00:00:99"}]);
    let patch = json!({"status": {"hardware": {"nics": nics}}});
    lab.client().merge_patch(&kind, &here(&host), Some("status"), &patch).await.unwrap();
    rest(lab).await;
}

/// A claim that lost its reference gets it back; no second data is made.
#[tokio::test(start_paused = true)]
async fn s153_a_lost_reference_is_found_again() {
    let lab = settled(&workers(1, with_index())).await;
    let machine = name(&worker_machines(&lab)[0]);
    let wiped = json!({"status": null});
    lab.client()
        .merge_patch(&metal3("Metal3DataClaim"), &here(&machine), Some("status"), &wiped)
        .await
        .unwrap();
    rest(&lab).await;
    assert_eq!(text(&get(&lab, "Metal3DataClaim", &machine), "/status/renderedData/name"), "fleet-0");
    assert_eq!(lab.objects("Metal3Data").len(), 1);
}

/// A Secret that was deleted is made again with the same bytes.
#[tokio::test(start_paused = true)]
async fn s154_a_deleted_secret_comes_back_with_the_same_bytes() {
    let lab =
        settled(&workers(1, json!({"metaData": with_index()["metaData"], "networkData": network()}))).await;
    let before = rendered(&lab);
    let machine = name(&worker_machines(&lab)[0]);
    let kind = manifest("v1", "Secret", "", &json!({})).resource();
    for suffix in ["metadata", "networkdata"] {
        lab.client().delete(&kind, &here(&format!("{machine}-{suffix}")), None).await.unwrap();
    }
    rest(&lab).await;
    assert_eq!(rendered(&lab), before);
    assert!(warnings(&lab, "Metal3Data", "fleet-0").is_empty(), "nothing differs, so nobody is warned");
}

/// Indexes in the status are a mirror: a wrong one is corrected from the objects.
#[tokio::test(start_paused = true)]
async fn s156_indexes_of_the_status_are_rebuilt_from_the_objects() {
    let lab = settled(&workers(2, with_index())).await;
    let template = || get(&lab, "Metal3DataTemplate", "fleet");
    let before = template()["status"]["indexes"].clone();
    let kind = metal3("Metal3DataTemplate");
    for wrong in [json!(null), json!([{"name": "nobody", "index": 7}])] {
        let patch = json!({"status": {"indexes": wrong, "lastUpdated": null}});
        lab.client().merge_patch(&kind, &here("fleet"), Some("status"), &patch).await.unwrap();
        scale(&lab, 2).await;
        let touch = json!({"metadata": {"annotations": {"touched": wrong.to_string()}}});
        lab.patch(&kind, &here("fleet"), &touch).await.unwrap();
        rest(&lab).await;
        assert_eq!(template()["status"]["indexes"], before);
    }
}

/// Somebody who takes the next names of data away, just before the provider creates it; with the time of each try.
#[derive(Default)]
struct Faster(Mutex<Vec<Instant>>);

impl Faults for Faster {
    fn apply_fault(&self, _: &Call) -> Fault {
        Fault::None
    }

    fn ask(&self, server: &ApiServer, call: &Call, request: Request<Body>) -> AnswerFuture {
        let mut server = server.clone();
        let is_create = call.method == "POST" && call.path.contains("/metal3datas");
        let mut number = usize::MAX;
        if is_create {
            let mut tries = self.0.lock();
            number = tries.len();
            tries.push(Instant::now());
        }
        Box::pin(async move {
            if number < TAKEN {
                let client =
                    capm3_engine::ApiClient::new(kube::Client::new(server.clone(), "default"), "faster");
                let taken = ours("Metal3Data", &format!("fleet-{number}"), &json!({"index": number}));
                client.create(&taken.resource(), HOME, taken.object.clone()).await.unwrap();
            }
            Ok(server.call(request).await?.map(Either::Left))
        })
    }
}

/// How many names somebody else takes.
const TAKEN: usize = 3;

/// Where somebody else creates data under the name that is about to be created, the objects are listed again and the next
/// index is taken at once, until it works; no failure is reported.
#[tokio::test(start_paused = true)]
async fn s157_a_taken_name_is_passed_over_at_once() {
    let faster = Arc::new(Faster::default());
    let faults = Arc::clone(&faster) as Arc<dyn Faults>;
    let lab = Lab::start(&Options { faults, ..Options::default() }).await.unwrap();
    lab.apply(&workers(1, with_index())).await.unwrap();
    rest(&lab).await;
    let requests = lab.server().requests();
    let refused = requests.iter().filter(|r| r.user_agent == "capm3" && r.verb == "create" && r.code == 409);
    let refused: u64 = refused.filter(|r| r.resource.ends_with("/metal3datas")).map(|r| r.count).sum();
    assert_eq!(refused, u64::try_from(TAKEN).unwrap(), "each name was found to be taken once");
    assert_eq!(values(&lab, "index"), [TAKEN.to_string()]);
    assert!(all_ready(&lab));
    let tries = faster.0.lock().clone();
    assert_eq!(tries.len(), TAKEN + 1);
    assert!(tries.windows(2).all(|pair| pair[0] == pair[1]), "no backoff between tries: {tries:?}");
    let machine = name(&worker_machines(&lab)[0]);
    assert_eq!(warnings(&lab, "Metal3DataClaim", &machine), Vec::<String>::new());
}

/// Data that is there under the next name is passed over without a try.
#[tokio::test(start_paused = true)]
async fn s157_a_name_that_is_seen_to_be_taken_is_not_tried() {
    let mut manifests = workers(2, with_index());
    manifests.insert(1, ours("Metal3Data", "fleet-0", &json!({"index": 7})));
    let lab = settled(&manifests).await;
    assert_eq!(values(&lab, "index"), ["1", "2"]);
    assert!(all_ready(&lab));
    let requests = lab.server().requests();
    assert!(!requests.iter().any(|r| r.user_agent == "capm3" && r.verb == "create" && r.code == 409));
}

/// A change of the machine reconciles its data: what is missing is created again.
#[tokio::test(start_paused = true)]
async fn s158_a_changed_machine_wakes_its_data() {
    let spec =
        json!({"metaData": {"fromLabels": [{"key": "rack", "object": "metal3machine", "label": "rack"}]}});
    let lab = settled(&workers(1, spec)).await;
    let machine = name(&worker_machines(&lab)[0]);
    let patch = json!({"metadata": {"labels": {"rack": "r1"}}});
    lab.patch(&metal3("Metal3Machine"), &here(&machine), &patch).await.unwrap();
    rest(&lab).await;
    assert_eq!(values(&lab, "rack"), [""], "an existing Secret keeps its bytes");
    let data = get(&lab, "Metal3Data", "fleet-0");
    assert!(ready_message(&data).ends_with("metaData rendered today would differ"), "{data}");
    assert_eq!(warnings(&lab, "Metal3Data", "fleet-0").len(), 1);
}

/// Rendered data has `ready` and the condition `Ready`; a failure is `errorMessage` and the condition on data and claim,
/// `ready` is false, and all of it goes with its cause.
#[tokio::test(start_paused = true)]
async fn s159_data_says_whether_it_is_rendered() {
    let lab = settled(&workers(1, with_index())).await;
    let data = get(&lab, "Metal3Data", "fleet-0");
    assert_eq!(data["status"]["ready"], json!(true));
    assert_eq!(condition(&data, "Ready"), ("True".into(), "Rendered".into()));
    assert!(data["status"].get("errorMessage").is_none());

    let spec = json!({"metaData": {"fromHostInterfaces": [{"key": "mac", "interface": "eth9"}]}});
    let lab = settled(&workers(1, spec)).await;
    let machine = name(&worker_machines(&lab)[0]);
    for (kind, name) in [("Metal3Data", "fleet-0"), ("Metal3DataClaim", machine.as_str())] {
        let failed = get(&lab, kind, name);
        let message = text(&failed, "/status/errorMessage");
        assert!(message.starts_with("NIC name not found eth9"), "{kind}: {message}");
        assert_eq!(condition(&failed, "Ready"), ("False".into(), "RenderFailed".into()), "{kind}");
    }
    assert_eq!(get(&lab, "Metal3Data", "fleet-0")["status"]["ready"], json!(false));
    assert!(lab.object("Secret", &format!("{machine}-metadata")).is_none());
    give_nic(&lab, &machine, "eth9").await;
    assert_eq!(get(&lab, "Metal3Data", "fleet-0")["status"]["ready"], json!(true));
    for (kind, name) in [("Metal3Data", "fleet-0"), ("Metal3DataClaim", machine.as_str())] {
        let repaired = get(&lab, kind, name);
        assert_eq!(condition(&repaired, "Ready"), ("True".into(), "Rendered".into()), "{kind}");
        assert!(repaired["status"].get("errorMessage").is_none(), "{kind}");
    }
}

/// Everything that a status says is wiped while nobody looks: the same indexes, names and Secrets are there again.
#[tokio::test(start_paused = true)]
async fn s191_wiped_status_comes_back_as_it_was() {
    let spec = json!({"metaData": with_index()["metaData"], "networkData": {
        "networks": {"ipv4": [{"id": "n", "link": "eno1", "ipAddressFromIPPool": "fleet"}]}}});
    let mut lab = settled(&workers(4, spec)).await;
    let before = (rendered(&lab), names(&lab));
    lab.stop_providers();
    for (kind, objects) in [
        (metal3("Metal3DataTemplate"), lab.objects("Metal3DataTemplate")),
        (metal3("Metal3DataClaim"), lab.objects("Metal3DataClaim")),
        (metal3("Metal3Data"), lab.objects("Metal3Data")),
        (metal3("Metal3Machine"), lab.objects("Metal3Machine")),
        (ipam("IPPool"), lab.objects("IPPool")),
        (ipam("IPClaim"), lab.objects("IPClaim")),
    ] {
        for object in objects {
            let wiped = json!({"status": null});
            lab.client().merge_patch(&kind, &here(&name(&object)), Some("status"), &wiped).await.unwrap();
        }
    }
    lab.start_provider();
    rest(&lab).await;
    assert_eq!((rendered(&lab), names(&lab)), before);
    assert!(all_ready(&lab));
}

fn names(lab: &capm3_lab::Lab) -> Vec<String> {
    let kinds = ["Metal3Data", "Metal3DataClaim", "IPClaim", "IPAddress", "Secret"];
    kinds
        .iter()
        .flat_map(|kind| lab.objects(kind).iter().map(|o| format!("{kind} {}", name(o))).collect::<Vec<_>>())
        .collect()
}

/// Demonstration 6: hosts of any name become worker-np1-0, -1 and -2, and gaps are filled.
#[tokio::test(start_paused = true)]
async fn s190_nodes_are_named_by_their_index() {
    let spec = json!({"metaData": {"indexes": [{"key": "local-hostname", "prefix": "worker-np1-"}]}});
    let lab = settled(&workers(3, spec)).await;
    let expected = ["worker-np1-0", "worker-np1-1", "worker-np1-2"];
    assert_eq!(values(&lab, "local-hostname"), expected);
    for replicas in [1, 3] {
        scale(&lab, replicas).await;
        assert_eq!(worker_machines(&lab).len(), replicas);
    }
    assert_eq!(values(&lab, "local-hostname"), expected);
}

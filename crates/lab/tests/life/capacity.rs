//! What a template says of machines to come, for an autoscaler that starts from none.

use std::time::Duration;

use capm3_lab::{Lab, Options, fleet::fleet, manifests::Manifest};
use serde_json::{Value, json};

use crate::common::{hosts::*, *};

const TEMPLATE: &str = "my-cluster-workers";

fn inspected(cpus: u32, mebibytes: u32) -> Value {
    let hardware = json!({"nics": [], "cpu": {"arch": "x86_64", "count": cpus}, "ramMebibytes": mebibytes});
    json!({"metadata": {"annotations": {"inspect.metal3.io/hardwaredetails": hardware.to_string()}}})
}

/// The racks without a single machine; inspection reports what is in the worker hosts.
fn racks() -> Vec<Manifest> {
    let mut manifests = racks_without_machines();
    let workers =
        manifests.iter_mut().filter(|m| text(&m.object, "/metadata/labels/cluster-role") == "worker");
    workers.for_each(|host| json_patch::merge(&mut host.object, &inspected(32, 131_072)));
    manifests
}

/// One more worker host.
fn another(name: &str, cpus: u32, mebibytes: u32) -> Manifest {
    let mut host = racks().into_iter().find(|m| m.key().name == "rack1-host-2").unwrap();
    json_patch::merge(
        &mut host.object,
        &json!({"metadata": {"name": name}, "spec": {"bootMACAddress": null}}),
    );
    json_patch::merge(&mut host.object, &inspected(cpus, mebibytes));
    host
}

fn status(lab: &Lab, template: &str) -> Value {
    get(lab, "Metal3MachineTemplate", template).get("status").cloned().unwrap_or_default()
}

fn capacity(cpus: &str, memory: &str) -> Value {
    json!({"capacity": {"cpu": cpus, "memory": memory}, "nodeInfo": {"architecture": "amd64"}})
}

/// A template without machines says what each of them will have at least, follows the hosts, and rests with them.
#[tokio::test(start_paused = true)]
async fn a_template_shows_what_its_machines_may_count_on_before_there_is_one() {
    let (lab, writes) = Writes::lab().await;
    lab.apply(&racks()).await.unwrap();
    rest(&lab).await;
    assert_eq!(lab.objects("Metal3Machine").len(), 0);
    assert_eq!(status(&lab, TEMPLATE), capacity("32", "131072Mi"));
    assert_eq!(status(&lab, "my-cluster-cp").get("capacity"), None, "its hosts do not show it");
    assert_eq!(writes.of_provider("/metal3machinetemplates").len(), 1, "all hosts are alike");

    writes.clear();
    lab.apply(&[another("larger", 64, 262_144)]).await.unwrap();
    rest(&lab).await;
    assert!(writes.of_provider("/metal3machinetemplates").is_empty(), "nothing new");

    lab.apply(&[another("smaller", 16, 65_536)]).await.unwrap();
    rest(&lab).await;
    assert_eq!(status(&lab, TEMPLATE), capacity("16", "65536Mi"));

    patch_host(&lab, "smaller", json!({"metadata": {"labels": {"cluster-role": "none"}}})).await;
    rest(&lab).await;
    assert_eq!(status(&lab, TEMPLATE), capacity("32", "131072Mi"));
    assert_eq!(
        get(&lab, "Metal3MachineTemplate", TEMPLATE)["metadata"]["generation"],
        1,
        "no change of the spec"
    );

    writes.clear();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    rest(&lab).await;
    assert!(writes.of_provider("").is_empty(), "no writes at rest");
}

/// The status is read and written in the older version as well, and somebody else's words in it stay.
#[tokio::test(start_paused = true)]
async fn the_older_version_shows_the_capacity_and_other_resources_are_kept() {
    let lab = settled(&racks()).await;
    let mut older = metal3("Metal3MachineTemplate");
    older.version = "v1beta1".to_owned();
    let gpu = json!({"status": {"capacity": {"cpu": "1", "nvidia.com/gpu": "2"}}});
    lab.client().merge_patch(&older, &key(TEMPLATE), Some("status"), &gpu).await.unwrap();
    rest(&lab).await;
    let seen: Value = lab.client().get(&older, &key(TEMPLATE)).await.unwrap().unwrap();
    let expected = json!({"cpu": "32", "memory": "131072Mi", "nvidia.com/gpu": "2"});
    assert_eq!(seen["status"]["capacity"], expected);
}

/// Hosts that are alike ask for no further pass, however many there are, and no machine does.
#[tokio::test(start_paused = true)]
async fn a_template_is_looked_at_as_often_among_many_hosts_as_among_few() {
    let looks = async |size: usize| {
        let lab = settled(&fleet(size)).await;
        assert_eq!(status(&lab, "workers"), capacity("32", "131072Mi"));
        lab.provider().unwrap().looks()["metal3machinetemplate-capacity"]
    };
    let (few, many) = (looks(5).await, looks(80).await);
    assert!(many <= few + 2, "{few} looks among 6 hosts, {many} among 81");
}

/// Where the installed templates have no status, capacity is not reported, and everything else goes on.
#[tokio::test(start_paused = true)]
async fn templates_of_an_older_installation_are_left_without_capacity() {
    let mut lab = Lab::start(&Options::default()).await.unwrap();
    let is_template = |m: &Manifest| m.key().name.starts_with("metal3machinetemplates.");
    let mut crd = capm3_lab::crds().into_iter().find(is_template).unwrap();
    for version in crd.object["spec"]["versions"].as_array_mut().unwrap() {
        version.as_object_mut().unwrap().remove("subresources").unwrap();
        let properties = version.pointer_mut("/schema/openAPIV3Schema/properties").unwrap();
        properties.as_object_mut().unwrap().remove("status").unwrap();
    }
    lab.apply(&[crd]).await.unwrap();
    lab.start_provider();
    lab.apply(&fleet(2)).await.unwrap();
    rest(&lab).await;
    assert_eq!(get(&lab, "Metal3MachineTemplate", "workers").get("status"), None);
    assert!(lab.objects("Metal3Machine").iter().all(|m| condition(m, "Ready").0 == "True"));
}

//! One machine on its way, from what is there to what the controllers make of it.

use capm3_api::{
    neighbours::{BareMetalHost, SecretMetadata},
    v1beta2::{Metal3Data, Metal3Machine},
};
use capm3_engine::{Reader, manifests::parse};

use super::*;

const SITE: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c, namespace: ns, uid: u-c}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: c}}
status: {initialization: {infrastructureProvisioned: true}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Cluster
metadata: {name: c, namespace: ns, uid: u-m3c}
spec: {controlPlaneEndpoint: {host: 10.0.0.1, port: 6443}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: m, namespace: ns, uid: u-m, labels: {cluster.x-k8s.io/cluster-name: c}}
spec: {clusterName: c, bootstrap: {dataSecretName: boot}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata:
  name: m
  namespace: ns
  uid: u-m3m
  labels: {cluster.x-k8s.io/cluster-name: c}
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, name: m, uid: u-m}]
spec: {dataTemplate: {name: t}, image: {url: u, checksum: c}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: t, namespace: ns, uid: u-t}
spec: {metaData: {objectNames: [{key: name, object: baremetalhost}], ipAddressesFromPool: [{key: ip, name: pool}]}}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: pool, namespace: ns, uid: u-p}
spec: {namePrefix: p, prefix: 24, pools: [{start: 10.0.0.10, end: 10.0.0.13}]}
";

const HOST: &str = "---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: h, namespace: ns, uid: u-h}
";

fn plan(text: &str) -> Planner {
    let reading = parse("a.yaml", text);
    let (mut planner, problems) = Planner::read(&reading.documents);
    assert!(problems.is_empty(), "{problems:?}");
    assert!(planner.run(Timestamp::UNIX_EPOCH), "comes to rest");
    planner
}

fn here(name: &str) -> ObjectKey {
    ObjectKey::new("ns", name)
}

#[test]
fn a_machine_gets_host_index_address_and_document_and_nobody_provisions_the_host() {
    let planner = plan(&format!("{SITE}{HOST}"));
    let host = planner.memory().get::<BareMetalHost>(&here("h")).unwrap();
    assert_eq!(host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.as_deref()), Some("m"));
    assert!(host.spec.image.is_some(), "it has an image");
    let data = planner.memory().get::<Metal3Data>(&here("t-0")).unwrap();
    assert_eq!((data.spec.index, data.status.ready), (Some(0), Some(true)));
    let secret = planner.memory().whole::<SecretMetadata>(&here("m-metadata")).unwrap();
    assert!(secret.pointer("/data/metaData").is_some(), "contents are kept");
    let wait = planner.wait(Controller::Machine, &here("m"));
    assert!(matches!(wait, Some(Wait::Provisioning { .. })), "{wait:?}");
    assert_eq!(planner.list("IPAddress").len(), 1);
}

#[test]
fn what_a_machine_waits_for_is_what_its_controller_says() {
    let planner = plan(SITE);
    let wait = planner.wait(Controller::Machine, &here("m"));
    assert!(matches!(wait, Some(Wait::NoHost(_))), "{wait:?}");
    let machine = planner.memory().get::<Metal3Machine>(&here("m")).unwrap();
    assert!(!machine.status.conditions.is_empty(), "and the conditions report it");
}

#[test]
fn the_hosts_that_a_machine_without_uid_may_take_are_named_and_one_of_them_is_taken() {
    let two = format!("{SITE}{HOST}{}", HOST.replace("name: h", "name: g"));
    assert!(plan(&two).undecided().is_empty(), "the uid decides");
    let without_uid = two.replace("  uid: u-m3m\n", "");
    let planner = plan(&without_uid);
    let names = ["g", "h"].map(str::to_owned);
    let possible = PossibleHosts { hosts: names.clone().into(), may_take_none: false };
    assert_eq!(*planner.undecided(), [(here("m"), possible)].into());
    let hosts = names.map(|name| planner.memory().get::<BareMetalHost>(&here(&name)).unwrap());
    assert_eq!(hosts.iter().filter(|host| host.spec.consumer_ref.is_some()).count(), 1);
    let one = without_uid.replace("name: g", "name: h");
    let one = one.replacen(&format!("{HOST}{HOST}"), HOST, 1);
    assert!(plan(&one).undecided().is_empty(), "there is one host only");
}

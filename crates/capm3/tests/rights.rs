//! The Roles fit the controllers: whatever they ask of an API server is granted.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{collections::BTreeSet, path::Path, time::Duration};

use capm3_engine::{Index, Object, ObjectKey, ResourceKind};
use capm3_install::{
    Install,
    rights::{self, Scope, TABLE, When},
};
use capm3_lab::{
    Lab, Options,
    manifests::{self, Manifest},
};
use capm3_provider::{
    crd_migration::Phases,
    host_crd::definitions,
    kinds::{self, Reading, Visitor},
};
use serde_json::json;

fn with_ipam() -> Install {
    Install { ipam: true, ..Install::default() }
}

#[test]
fn every_kind_that_is_watched_may_be_read() {
    #[derive(Default)]
    struct Kinds(Vec<ResourceKind>);
    impl Visitor for Kinds {
        fn visit<K: Object>(&mut self, _: Reading, _: &[Index<K>]) {
            self.0.push(ResourceKind::of::<K>());
        }
    }
    let mut watched = Kinds::default();
    kinds::visit(&mut watched);
    assert!(watched.0.len() > 10, "{:?}", watched.0);
    let install = Install::default();
    for kind in &watched.0 {
        for verb in ["get", "list", "watch"] {
            assert!(
                rights::allows(&install, Scope::Cluster, verb, &kind.group, &kind.plural),
                "{verb} {kind:?}"
            );
        }
    }
    // And nothing else is watched.
    let listed = TABLE.iter().filter(|right| right.verbs.contains(&"watch"));
    for right in listed {
        let is_it = |kind: &ResourceKind| kind.group == right.group && kind.plural == right.resource;
        assert!(watched.0.iter().any(is_it), "nobody watches {} {}", right.group, right.resource);
    }
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

const LIMIT: Duration = Duration::from_secs(7200);

fn kind(group: &str, kind: &str) -> ResourceKind {
    let plural = format!("{}s", kind.to_lowercase());
    ResourceKind { group: group.to_owned(), version: "v1beta2".to_owned(), kind: kind.to_owned(), plural }
}

/// One object of each kind that nothing else creates, and all of them as if they were stored in an older version.
async fn migrate(lab: &Lab) {
    let group = "infrastructure.cluster.x-k8s.io";
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
        lab.client().create(&kind(group, name), "metal3", object).await.unwrap();
    }
    let crds = lab.objects("CustomResourceDefinition");
    let own: Vec<&str> = crds
        .iter()
        .filter(|crd| crd["spec"]["group"] == group)
        .filter_map(|crd| crd["metadata"]["name"].as_str())
        .collect();
    assert_eq!(own.len(), 9, "{own:?}");
    for name in own {
        let key = ObjectKey::new("", name);
        let stored = json!({"status": {"storedVersions": ["v1beta1", "v1beta2"]}});
        lab.patch_status(&definitions(), &key, &stored).await.unwrap();
        let observed = json!({"crd-migration.cluster.x-k8s.io/observed-generation": null});
        lab.patch(&definitions(), &key, &json!({"metadata": {"annotations": observed}})).await.unwrap();
    }
    // Longer than the provider waits until it reads the CRDs again.
    tokio::time::sleep(Duration::from_secs(700)).await;
}

/// Machines come up, grow in number, shrink and are deleted with their cluster; a claim of Cluster API is served.
async fn a_whole_life() -> Lab {
    let options = Options { crd_migration: Some(Phases::default()), ..Options::default() };
    let lab = Lab::start(&options).await.unwrap();
    lab.apply(&site()).await.unwrap();
    let (deployments, clusters) =
        (kind("cluster.x-k8s.io", "MachineDeployment"), kind("cluster.x-k8s.io", "Cluster"));
    let (claims, claim) = (kind("ipam.cluster.x-k8s.io", "IPAddressClaim"), ObjectKey::new("metal3", "c1"));
    let pool = json!({"name": "pool-rack1", "kind": "IPPool", "apiGroup": "ipam.metal3.io"});
    let object = json!({"metadata": {"name": "c1", "namespace": "metal3"}, "spec": {"poolRef": pool}});
    lab.client().create(&claims, "metal3", object).await.unwrap();
    lab.settle(LIMIT).await;
    for replicas in [5, 2] {
        let (key, patch) =
            (ObjectKey::new("metal3", "my-cluster-workers"), json!({"spec": {"replicas": replicas}}));
        lab.client().merge_patch(&deployments, &key, None, &patch).await.unwrap();
        lab.settle(LIMIT).await;
    }
    migrate(&lab).await;
    lab.client().delete(&claims, &claim, None).await.unwrap();
    lab.client().delete(&clusters, &ObjectKey::new("metal3", "my-cluster"), None).await.unwrap();
    lab.settle(LIMIT).await;
    assert!(lab.objects("Metal3Machine").is_empty(), "everything is deleted");
    lab
}

/// Verb, group and resource of every request of the provider.
fn asked(lab: &Lab) -> BTreeSet<(String, String, String)> {
    let mut asked = BTreeSet::new();
    for request in lab.server().requests().into_iter().filter(|it| it.user_agent == "capm3") {
        let (group, plural) = request.resource.rsplit_once('/').unwrap();
        // Discovery is a path, and open to every account. Nodes are those of workload clusters.
        if !group.starts_with('/') && plural != "nodes" {
            let slash = if request.subresource.is_empty() { "" } else { "/" };
            asked.insert((request.verb, group.to_owned(), format!("{plural}{slash}{}", request.subresource)));
        }
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn whatever_the_controllers_ask_for_is_granted() {
    let asked = asked(&a_whole_life().await);
    assert!(asked.len() > 50, "{asked:#?}");
    for (verb, group, resource) in &asked {
        // The requests of the lab are not told by name.
        let by_name = TABLE.iter().filter(|right| !right.names.is_empty() && right.when == When::Always);
        let mut by_name = by_name.filter(|right| (right.group, right.resource) == (group, resource));
        let is_granted = rights::allows(&with_ipam(), Scope::Cluster, verb, group, resource)
            || by_name.any(|right| right.verbs.contains(&verb.as_str()));
        assert!(is_granted, "{verb} {group} {resource}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_write_that_is_granted_is_made() {
    let asked = asked(&a_whole_life().await);
    let unused: Vec<String> = TABLE
        .iter()
        .filter(|right| right.scope == Scope::Cluster && right.when != When::SelfManagedCertificates)
        .flat_map(|right| right.verbs.iter().map(move |verb| (*verb, right.group, right.resource)))
        .filter(|(verb, _, _)| !["get", "list", "watch"].contains(verb))
        .filter(|(verb, group, resource)| {
            !asked.contains(&((*verb).to_owned(), (*group).to_owned(), (*resource).to_owned()))
        })
        .map(|(verb, group, resource)| format!("{verb} {group} {resource}"))
        .collect();
    // An event is counted up only if a host is orphaned twice for the same reason.
    assert_eq!(unused, ["patch  events"]);
}

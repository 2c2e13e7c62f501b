//! Several managers for one cluster: each looks at its own namespace, or at the objects with its own label.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use capm3_lab::{Lab, Options, manifests::Manifest, report::report};
use capm3_provider::WatchFilter;
use common::*;
use serde_json::{Value, json};

const LABEL: &str = "cluster.x-k8s.io/watch-filter";

/// The three racks with the label on what the provider takes care of; machines get theirs from their templates.
fn labelled(value: &str) -> Vec<Manifest> {
    let mut all = three_racks();
    let labels = json!({"labels": {LABEL: value}});
    for manifest in &mut all {
        let patch = match manifest.kind() {
            "Metal3Cluster" | "Metal3DataTemplate" => json!({"metadata": labels}),
            "KubeadmControlPlane" => json!({"spec": {"machineTemplate": {"metadata": labels}}}),
            "MachineDeployment" => json!({"spec": {"template": {"metadata": labels}}}),
            _ => continue,
        };
        json_patch::merge(&mut manifest.object, &patch);
    }
    all
}

async fn run(options: &Options, manifests: &[Manifest]) -> Lab {
    let lab = Lab::start(options).await.unwrap();
    lab.apply(manifests).await.unwrap();
    lab.settle(LIMIT).await;
    lab
}

fn ready(lab: &Lab) -> usize {
    report(lab, 0).machines.iter().filter(|machine| machine.provider_id.is_some()).count()
}

/// Whether the provider wrote anything to the Metal3Cluster or to a host.
fn is_untouched(lab: &Lab) -> bool {
    let hosts = lab.objects("BareMetalHost");
    assert!(!hosts.is_empty());
    let cluster = lab.object("Metal3Cluster", "my-cluster").unwrap();
    let machines = lab.objects("Metal3Machine");
    assert!(!machines.is_empty());
    let is_held = |object: &Arc<Value>| object["metadata"].get("finalizers").is_some();
    let held = machines.iter().chain(&lab.objects("Metal3DataTemplate")).filter(|it| is_held(it)).count();
    held == 0
        && cluster["metadata"].get("finalizers").is_none()
        && cluster.get("status").is_none()
        && hosts.iter().all(|host| host["spec"].get("consumerRef").is_none())
}

#[tokio::test(start_paused = true)]
async fn only_objects_with_the_label_of_the_watch_filter_are_taken_care_of() {
    let options = Options { watch_filter: WatchFilter::new("a"), ..Options::default() };
    assert_eq!(ready(&run(&options, &labelled("a")).await), 6);
    for others in [labelled("b"), three_racks()] {
        assert!(is_untouched(&run(&options, &others).await));
    }
}

#[tokio::test(start_paused = true)]
async fn each_kind_needs_the_label_itself() {
    let options = Options { watch_filter: WatchFilter::new("a"), ..Options::default() };
    for kind in ["Metal3Cluster", "Metal3DataTemplate", "KubeadmControlPlane"] {
        let mut all = labelled("a");
        let unlabelled = three_racks().into_iter().filter(|it| it.kind() == kind);
        all.retain(|it| it.kind() != kind);
        all.extend(unlabelled);
        let lab = run(&options, &all).await;
        let hosts = lab.objects("BareMetalHost");
        let taken = hosts.iter().filter(|host| host["spec"].get("consumerRef").is_some()).count();
        // A machine that waits for its data has a host already; all others wait for this first one.
        let expected = if kind == "Metal3DataTemplate" { (1, 0) } else { (0, 0) };
        assert_eq!((taken, ready(&lab)), expected, "without the label on {kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_managers_with_two_filters_share_the_hosts() {
    let options = Options { watch_filter: WatchFilter::new("a"), ..Options::default() };
    let mut both = labelled("a");
    let mut second = labelled("b");
    // The second manager's cluster is this one's twin; only hosts, namespace and their Secret are shared.
    second.retain(|it| !matches!(it.kind(), "BareMetalHost" | "Namespace" | "Secret"));
    let text = |it: &Manifest| serde_json::to_string(&it.object).unwrap();
    for manifest in &mut second {
        let renamed = text(manifest).replace("my-cluster", "other").replace("m3dt-", "other-");
        manifest.object = serde_json::from_str(&renamed.replace("pool-rack", "other-pool-rack")).unwrap();
    }
    both.extend(second);
    let lab = run(&options, &both).await;
    assert_eq!(ready(&lab), 6, "those of the other manager wait for it");
    let other = lab.object("Metal3Cluster", "other").unwrap();
    assert!(other.get("status").is_none(), "{other}");
}

#[tokio::test(start_paused = true)]
async fn only_objects_of_the_namespace_are_seen() {
    let within = |namespace: &str| Options { namespace: namespace.to_owned(), ..Options::default() };
    assert_eq!(ready(&run(&within("metal3"), &three_racks()).await), 6);
    assert!(is_untouched(&run(&within("elsewhere"), &three_racks()).await));
}

//! Series that count troubles, where there are some: they are compared with what was planted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_lab::{
    Lab, Options,
    faults::{Call, Fault, Faults, Refusal},
};
use serde_json::json;

use crate::{
    common::{hosts::*, *},
    scrape,
};

/// Long enough for every proof that a machine is gone.
const LONG: Duration = Duration::from_secs(7200);

/// Refuses the first changes of some objects in one way.
struct Refuses {
    path: &'static str,
    refusal: Refusal,
    count: usize,
    asked: AtomicUsize,
}

impl Refuses {
    /// The example with one machine, once it came up anyway.
    async fn lab(path: &'static str, refusal: Refusal, count: usize) -> Lab {
        let faults = Arc::new(Self { path, refusal, count, asked: AtomicUsize::default() });
        let options = Options { faults: Arc::clone(&faults) as Arc<dyn Faults>, ..Options::default() };
        let lab = Lab::start(&options).await.unwrap();
        lab.apply(&control_plane(1)).await.unwrap();
        // The machine tries again after a while.
        tokio::time::sleep(Duration::from_secs(120)).await;
        rest(&lab).await;
        assert!(faults.asked.load(Ordering::SeqCst) > count, "more was asked than was refused");
        let machine = machines(&lab, "my-cluster-cp").remove(0);
        assert_eq!(condition(&machine, "Ready").0, "True", "{machine}");
        lab
    }
}

impl Faults for Refuses {
    fn apply_fault(&self, call: &Call) -> Fault {
        let is_meant = call.method.as_str() == "PATCH" && call.path.contains(self.path);
        match is_meant && self.asked.fetch_add(1, Ordering::SeqCst) < self.count {
            true => Fault::Refused(self.refusal),
            false => Fault::None,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn hosts_whose_machines_are_gone_are_counted_until_they_are_released() {
    let lab = settled(&three_racks()).await;
    let mut hosts = Vec::new();
    for machine in &machines(&lab, "my-cluster-workers")[..2] {
        let (machine, host) = (name(machine), host_of(machine));
        // Cluster API must not get in the way: its Machine is left alone.
        let paused = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}});
        patch(&lab, "cluster.x-k8s.io/v1beta2", "Machine", &machine, paused.clone()).await;
        patch_machine(&lab, &machine, paused).await;
        strip(&lab, "infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Machine", &machine).await;
        hosts.push((host, machine));
    }
    tokio::time::sleep(LONG).await;
    assert_eq!(scrape(&lab).one("capm3_orphaned_hosts"), 2.0);
    let (host, machine) = hosts.pop().unwrap();
    let request =
        json!({"metadata": {"annotations": {"capm3.metal3.io/release": format!("metal3/{machine}")}}});
    patch_host(&lab, &host, request).await;
    rest(&lab).await;
    assert_eq!(scrape(&lab).one("capm3_orphaned_hosts"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn claims_of_hosts_that_came_too_late_are_counted() {
    let lab = Refuses::lab("/baremetalhosts/", Refusal::Conflict, 2).await;
    let scrape = scrape(&lab);
    assert_eq!(scrape.one("capm3_host_claim_conflicts_total"), 2.0);
    assert_eq!(scrape.one("capm3_host_claims_total"), 1.0);
    let refused = scrape.all("capm3_refused_writes_total");
    assert_eq!(refused["verb=\"patch\",kind=\"BareMetalHost\",reason=\"conflict\""], 2.0, "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn writes_that_the_server_refuses_are_counted_by_verb_kind_and_reason() {
    let lab = Refuses::lab("/baremetalhosts/", Refusal::Forbidden, 3).await;
    let scrape = scrape(&lab);
    let refused = scrape.all("capm3_refused_writes_total");
    assert_eq!(refused["verb=\"patch\",kind=\"BareMetalHost\",reason=\"forbidden\""], 3.0, "{refused:?}");
    assert_eq!(scrape.one("capm3_host_claim_conflicts_total"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn workload_clusters_that_cannot_be_reached_are_counted() {
    let mut manifests = control_plane(1);
    let nowhere =
        "apiVersion: v1\nkind: Config\nclusters:\n- name: x\n  cluster: {server: 'https://192.0.2.1'}\n";
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: my-cluster-kubeconfig, namespace: metal3}}\ndata: {{value: {}}}\n",
        BASE64_STANDARD.encode(nowhere)
    );
    manifests.extend(yaml(&secret));
    let lab = settled(&manifests).await;
    let clusters = [("connecting", 0.0), ("synced", 0.0), ("unreachable", 1.0)];
    let clusters = clusters.map(|(state, count)| (format!("state=\"{state}\""), count));
    assert_eq!(scrape(&lab).all("capm3_workload_clusters"), clusters.into());
}

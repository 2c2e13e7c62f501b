//! What stands in the way of a remediation.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use capm3_lab::{
    Lab, Options,
    faults::{Call, Fault, Faults, Refusal},
    moving::move_cluster,
};
use serde_json::json;

use crate::{
    common::{hosts::*, *},
    site::*,
};

/// Gives calls to the workload cluster a fault while it is switched on.
struct OfWorkload {
    fault: Fault,
    is_on: AtomicBool,
    path: &'static str,
}

impl OfWorkload {
    fn new(fault: Fault, path: &'static str) -> Arc<Self> {
        Arc::new(Self { fault, is_on: AtomicBool::new(false), path })
    }

    fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::SeqCst);
    }
}

impl Faults for OfWorkload {
    fn apply_fault(&self, call: &Call) -> Fault {
        let is_it = call.path.starts_with("/clusters/") && call.path.contains(self.path);
        if is_it && self.is_on.load(Ordering::SeqCst) { self.fault } else { Fault::None }
    }
}

fn phase(lab: &capm3_lab::Lab, node: &str) -> String {
    lab.object("Metal3Remediation", node).map(|it| text(&it, "/status/phase")).unwrap_or_default()
}

/// Puts a host on or off on purpose.
async fn set_online(lab: &capm3_lab::Lab, host: &str, online: bool) {
    patch_host(lab, host, json!({"spec": {"online": online}})).await;
}

/// A host with `online: false` is not remediated, phase Failed, until it is online again.
#[tokio::test(start_paused = true)]
async fn re127_a_host_that_is_switched_off_on_purpose_is_not_remediated_until_it_is_on_again() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    set_online(&lab, &host, false).await;
    until(&lab, "the phase is Failed", |lab| phase(lab, &node) == "Failed").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(past(&lab, "/status/phase"), ["Failed"]);
    assert_eq!(leftovers(&lab), Vec::<String>::new());
    let shown = get(&lab, "Metal3Remediation", &node);
    assert_eq!(condition(&shown, "Remediated"), ("False".into(), "HostOffline".into()));
    set_online(&lab, &host, true).await;
    rest(&lab).await;
    assert_eq!(ready(&lab, &node), "True");
    assert!(lab.object("Machine", &node).is_some(), "it was never given up");
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

/// Where Nodes may not be read or changed, the host is powered off and on anyway.
#[tokio::test(start_paused = true)]
async fn re128_where_nodes_may_not_be_changed_the_host_is_power_cycled_all_the_same_and_an_event_says_so() {
    let faults = OfWorkload::new(Fault::Refused(Refusal::Forbidden), "/api/v1/nodes/");
    let options = Options { faults: Arc::clone(&faults) as Arc<dyn Faults>, ..Options::default() };
    let lab = up_with(&options, &example()).await;
    let (node, host) = worker(&lab);
    faults.set(true);
    fail(&lab, &node, "hang").await;
    rest(&lab).await;
    assert_eq!(power_cycles(&lab, &host), 1);
    assert_eq!(ready(&lab, &node), "True");
    let messages = events(&lab, "PowerOnRequested");
    assert!(
        messages.iter().any(|it| it.contains("has no permission to read or change Nodes")),
        "{messages:?}"
    );
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

/// The API of a workload cluster may be down because the host that is to be power-cycled hangs.
#[tokio::test(start_paused = true)]
async fn a_workload_api_that_is_dead_all_the_time_does_not_hold_up_the_power_cycle() {
    let faults = OfWorkload::new(Fault::RequestLost, "");
    let options = Options { faults: Arc::clone(&faults) as Arc<dyn Faults>, ..Options::default() };
    let lab = up_with(&options, &example()).await;
    let (node, host) = worker(&lab);
    faults.set(true);
    fail(&lab, &node, "hang").await;
    until(&lab, "a remediation", |lab| !past(lab, "/status/phase").is_empty()).await;
    let began = tokio::time::Instant::now();
    until(&lab, "the host is off and on", |lab| {
        power_cycles(lab, &host) == 1 && get(lab, "BareMetalHost", &host)["status"]["poweredOn"] == true
    })
    .await;
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    tokio::time::sleep(Duration::from_secs(30)).await;
    faults.set(false);
    rest(&lab).await;
    assert_eq!(ready(&lab, &node), "True");
    assert_eq!(power_cycles(&lab, &host), 1);
    assert_eq!(leftovers(&lab), Vec::<String>::new(), "the Node part has caught up");
}

#[tokio::test(start_paused = true)]
async fn a_paused_cluster_is_not_remediated_and_goes_on_afterwards() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    run_for_ever(&lab, &node).await;
    fail(&lab, &node, "hang").await;
    until_drained(&lab, &node).await;
    pause_cluster(&lab, true).await;
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert_eq!(get(&lab, "BareMetalHost", &host)["status"]["poweredOn"], false, "nothing is done");
    assert_eq!(condition(&get(&lab, "Metal3Remediation", &node), "Paused").0, "True");
    pause_cluster(&lab, false).await;
    rest(&lab).await;
    assert_eq!(ready(&lab, &node), "True");
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_remediation_that_is_deleted_while_the_host_is_off_leaves_nothing_behind() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    run_for_ever(&lab, &node).await;
    fail(&lab, &node, "hang").await;
    until_drained(&lab, &node).await;
    lab.client().delete(&metal3("Metal3Remediation"), &key(&node), None).await.unwrap();
    rest(&lab).await;
    assert_eq!(get(&lab, "BareMetalHost", &host)["status"]["poweredOn"], true);
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_restarted_provider_goes_on_where_it_was() {
    let mut lab = up().await;
    let (node, host) = worker(&lab);
    run_for_ever(&lab, &node).await;
    fail(&lab, &node, "hang").await;
    until_drained(&lab, &node).await;
    lab.stop_providers();
    tokio::time::sleep(Duration::from_secs(20)).await;
    lab.start_provider();
    rest(&lab).await;
    assert_eq!(power_cycles(&lab, &host), 1);
    assert_eq!(ready(&lab, &node), "True");
    assert_eq!(leftovers(&lab), Vec::<String>::new());
}

/// Its own annotation keeps the host off, and only the remediation that is gone would have removed it.
#[tokio::test(start_paused = true)]
async fn a_host_is_not_kept_off_for_a_remediation_whose_finalizer_was_removed_by_hand() {
    let mut lab = up().await;
    let (node, host) = worker(&lab);
    run_for_ever(&lab, &node).await;
    fail(&lab, &node, "hang").await;
    until_drained(&lab, &node).await;
    lab.stop_providers();
    let (kind, key) = (metal3("Metal3Remediation"), key(&node));
    let before = text(&get(&lab, "Metal3Remediation", &node), "/metadata/uid");
    lab.patch(&kind, &key, &json!({"metadata": {"finalizers": null}})).await.unwrap();
    lab.client().delete(&kind, &key, None).await.unwrap();
    lab.start_provider();
    until(&lab, "the health check has made another one", |lab| {
        lab.object("Metal3Remediation", &node).is_some_and(|it| text(&it, "/metadata/uid") != before)
    })
    .await;
    assert_eq!(leftovers(&lab)[0], format!("{host}: {POWER_OFF}{before}"));
    rest(&lab).await;
    assert_eq!(leftovers(&lab), Vec::<String>::new());
    assert_eq!(ready(&lab, &node), "True");
    assert!(lab.object("Machine", &node).is_some(), "it was never given up");
    let messages = events(&lab, "PowerOnRequested");
    assert!(
        messages.iter().any(|it| it.contains("the Metal3Remediation that kept it off is gone")),
        "{messages:?}"
    );
}

/// A move drops every status and gives every object another uid; the Machine names its Node only after a while. The reference
/// begins again with another annotation, and leaves the first one on the host.
#[tokio::test(start_paused = true)]
async fn a_remediation_that_is_moved_while_the_host_is_off_goes_on_in_the_other_cluster() {
    let lab = up().await;
    let (node, host) = worker(&lab);
    run_for_ever(&lab, &node).await;
    fail(&lab, &node, "hang").await;
    until_drained(&lab, &node).await;
    pause_cluster(&lab, true).await;
    rest(&lab).await;
    let next = Lab::start(&Options { seed: 2, ..Options::default() }).await.unwrap();
    move_cluster(&lab, &next, &key("my-cluster")).await.unwrap();
    let kept = leftovers(&next);
    assert!(kept.contains(&format!("{node} is tainted")) && kept.len() == 3, "{kept:?}");
    drop(lab);
    pause_cluster(&next, false).await;
    rest(&next).await;
    assert_eq!(ready(&next, &node), "True");
    assert_eq!(past(&next, "/status/retryCount"), Vec::<String>::new(), "the attempt of before goes on");
    assert_eq!(text(&get(&next, "Machine", &node), "/status/nodeRef/name"), node);
    assert_eq!(get(&next, "BareMetalHost", &host)["status"]["poweredOn"], true);
    assert_eq!(leftovers(&next), Vec::<String>::new());
}

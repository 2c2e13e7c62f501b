//! What a scrape tells is what the objects are, and dashboards and alerts ask only for what a scrape has.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod queries;
mod troubles;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use capm3_engine::{
    WriteGate,
    metrics::{CertificateSource, Format, LeadershipSource, Metrics, ProcessSource},
};
use capm3_lab::Lab;
use common::{data, *};
use serde_json::{Value, json};

/// Everything that a manager exports, of the provider of a lab.
fn scrape(lab: &Lab) -> Scrape {
    let metrics = Metrics::default();
    lab.provider().unwrap().add_to(&metrics);
    let gate = WriteGate::always_open();
    metrics.add(LeadershipSource { lease: "controller-leader-election-capm3".to_owned(), gate });
    metrics.add(CertificateSource { name: "webhook", end: || Some(2_000_000_000) });
    metrics.add(ProcessSource { version: "1.2.3" });
    Scrape(metrics.text(Format::Text))
}

/// The text of a scrape.
struct Scrape(String);

impl Scrape {
    /// Values of a family by their labels, such as `state="available",failure_domain="rack1"`.
    fn all(&self, name: &str) -> BTreeMap<String, f64> {
        let lines = self.0.lines().filter(|line| !line.starts_with('#'));
        let series = lines.filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (found, labels) = series.split_once('{').unwrap_or((series, ""));
            (found == name).then(|| (labels.trim_end_matches('}').to_owned(), value.parse().unwrap()))
        });
        series.collect()
    }

    /// The value of a series without labels.
    fn one(&self, name: &str) -> f64 {
        self.all(name)[""]
    }

    /// Names of all series.
    fn names(&self) -> BTreeSet<&str> {
        let lines = self.0.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split(['{', ' ']).next().unwrap()).collect()
    }
}

/// How many objects of a kind there are by the text of a function of them.
fn count(lab: &Lab, kind: &str, by: impl Fn(&Value) -> String) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    for object in lab.objects(kind) {
        *counts.entry(by(&object)).or_default() += 1.0;
    }
    counts
}

#[tokio::test(start_paused = true)]
async fn a_scrape_of_three_racks_shows_what_the_objects_are() {
    let lab = settled(&three_racks()).await;
    let scrape = scrape(&lab);
    let label = "/metadata/labels/infrastructure.cluster.x-k8s.io~1failure-domain";
    let by_state = |host: &Value| {
        let state = text(host, "/status/provisioning/state");
        format!("state=\"{state}\",failure_domain=\"{}\"", text(host, label))
    };
    let hosts = count(&lab, "BareMetalHost", by_state);
    assert!(hosts.len() >= 6, "free and used hosts in three racks: {hosts:?}");
    assert_eq!(scrape.all("capm3_hosts"), hosts);
    let free = lab.objects("BareMetalHost").iter().filter(|it| it["spec"]["consumerRef"].is_null()).count();
    assert!(free > 0);
    assert_eq!(scrape.all("capm3_hosts_usable").values().sum::<f64>(), free as f64);
    let machines = lab.objects("Metal3Machine").len() as f64;
    assert!(machines > 0.0);
    let steps = scrape.all("capm3_machine_step_seconds_count");
    assert_eq!(steps.keys().map(String::as_str).collect::<Vec<_>>(), STEPS);
    assert!(steps.values().all(|count| *count == machines), "{steps:?}");
    assert_eq!(scrape.one("capm3_host_claims_total"), machines);
    assert_eq!(scrape.one("capm3_indexes_used"), lab.objects("Metal3Data").len() as f64);
    let highest = lab.objects("Metal3Data").iter().filter_map(|data| data["spec"]["index"].as_i64()).max();
    assert_eq!(scrape.one("capm3_index_highest"), highest.unwrap() as f64);
    assert_eq!(scrape.one("capm3_orphaned_hosts"), 0.0);
    let clusters = [("connecting", 0.0), ("synced", 1.0), ("unreachable", 0.0)];
    let clusters = clusters.map(|(state, count)| (format!("state=\"{state}\""), count));
    assert_eq!(scrape.all("capm3_workload_clusters"), clusters.into());
    for name in ["capm3_machines_waiting", "capm3_render_errors"] {
        assert_eq!(scrape.all(name), BTreeMap::new(), "{name}");
    }
    assert!(scrape.all("capm3_watch_healthy").values().all(|it| *it == 1.0));
}

const STEPS: [&str; 4] = ["step=\"data\"", "step=\"host\"", "step=\"provisioned\"", "step=\"ready\""];

#[tokio::test(start_paused = true)]
async fn addresses_of_all_pools_are_counted_and_pools_by_how_full_they_are() {
    let mut manifests = three_racks();
    let ranges = |end: &str| json!({"spec": {"pools": [{"start": "10.0.1.10", "end": end, "prefix": 24, "gateway": "10.0.1.1"}]}});
    // One machine in each rack: no address of the first is left, and 40 of 41 of each other.
    change(&mut manifests, "IPPool", "pool-rack1", &ranges("10.0.1.10"));
    change(&mut manifests, "MachineDeployment", "my-cluster-workers", &json!({"spec": {"replicas": 0}}));
    let lab = settled(&manifests).await;
    let scrape = scrape(&lab);
    let used = lab.objects("IPAddress").len() as f64;
    assert_eq!(used, 3.0);
    let addresses = scrape.all("capm3_ip_pool_addresses");
    assert_eq!(addresses["family=\"ipv4\",state=\"used\""], used);
    let capacity = 1.0 + 2.0 * 41.0;
    assert_eq!(addresses.values().sum::<f64>(), capacity, "{addresses:?}");
    let pools = scrape.all("capm3_ip_pools");
    let of = |class: &str| pools[&format!("pool_namespace=\"metal3\",free=\"{class}\"")];
    assert_eq!((of("none"), of("under_10_percent"), of("enough")), (1.0, 0.0, 2.0), "{pools:?}");
    let smallest = scrape.all("capm3_ip_pool_smallest_free_ratio");
    assert_eq!(smallest, [("pool_namespace=\"metal3\"".to_owned(), 0.0)].into());
}

#[tokio::test(start_paused = true)]
async fn machines_without_a_host_are_counted_by_code_with_the_longest_wait() {
    let mut manifests = three_racks();
    manifests.retain(|m| m.kind() != "BareMetalHost");
    let lab = settled(&manifests).await;
    tokio::time::sleep(Duration::from_secs(1000)).await;
    let scrape = scrape(&lab);
    let waiting = scrape.all("capm3_machines_waiting");
    let code = "code=\"CAPM3-W020\"";
    let machines = lab
        .objects("Metal3Machine")
        .into_iter()
        .filter(|machine| machine.to_string().contains("no host is available"));
    let machines = machines.count() as f64;
    assert!(machines > 0.0);
    assert_eq!(waiting[code], machines, "{waiting:?}");
    let longest = scrape.all("capm3_machine_longest_wait_seconds")[code];
    assert!((1000.0..1100.0).contains(&longest), "{longest}");
    let steps = scrape.all("capm3_machine_step_seconds_count");
    assert!(steps.values().all(|count| *count == 0.0), "{steps:?}");
}

#[tokio::test(start_paused = true)]
async fn data_that_cannot_be_rendered_is_counted_by_code() {
    let mac = json!({"fromHostInterface": "eth7"});
    let links = json!({"ethernets": [{"id": "eno1", "type": "phy", "macAddress": mac}]});
    let lab = settled(&data::workers(2, json!({"networkData": {"links": links}}))).await;
    let errors = scrape(&lab).all("capm3_render_errors");
    assert_eq!(errors, [("code=\"CAPM3-D026\"".to_owned(), 2.0)].into());
}

#[tokio::test(start_paused = true)]
async fn controllers_and_requests_are_counted_as_controller_runtime_counts_them() {
    let lab = settled(&three_racks()).await;
    let scrape = scrape(&lab);
    let looks = lab.provider().unwrap().looks();
    assert!(looks.len() > 6);
    let reconciled = scrape.all("controller_runtime_reconcile_total");
    for (controller, looks) in looks {
        let of = |result: &str| reconciled[&format!("controller=\"{controller}\",result=\"{result}\"")];
        let all: f64 = ["success", "error", "requeue", "requeue_after"].map(of).iter().sum();
        assert_eq!(all, looks as f64, "{controller}");
        let queue = format!("name=\"{controller}\",controller=\"{controller}\"");
        assert_eq!(scrape.all("workqueue_depth")[&queue], 0.0);
        assert_eq!(scrape.all("workqueue_adds_total")[&queue], looks as f64);
        assert_eq!(scrape.all("workqueue_work_duration_seconds_count")[&queue], looks as f64);
        let one = format!("controller=\"{controller}\"");
        assert_eq!(scrape.all("controller_runtime_reconcile_time_seconds_count")[&one], looks as f64);
        assert_eq!(scrape.all("controller_runtime_max_concurrent_reconciles")[&one], 4.0);
    }
    let requests = scrape.all("rest_client_requests_total");
    let sent = lab.server().requests().into_iter().filter(|it| it.user_agent == "capm3");
    let sent: u64 = sent.map(|it| it.count).sum();
    assert_eq!(requests.values().sum::<f64>(), sent as f64, "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_counts_the_same_each_time() {
    let text = async || {
        let text = scrape(&settled(&three_racks()).await).0;
        text.lines().filter(|line| !line.starts_with("process_")).collect::<Vec<_>>().join("\n")
    };
    let (first, second) = (text().await, text().await);
    assert!(first.len() > 10_000);
    assert_eq!(first, second);
}

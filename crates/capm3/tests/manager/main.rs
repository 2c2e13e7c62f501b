//! `capm3 manager` as a process against an API server in another one: what its probes say, what it logs, and which of two leads.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]
#![allow(dead_code, reason = "not every test needs all that is shared")]

#[path = "../common/mod.rs"]
mod common;
mod diagnostics;
mod logs;
mod process;
mod rights;
mod secrets;
mod site;
mod webhooks;

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use capm3_engine::{ObjectKey, ResourceKind, client::over_network};
use common::{Up, repository};
use process::Manager;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A process that is stopped while this value lives.
struct Frozen(Pid);

impl Frozen {
    fn new(up: &Up) -> Self {
        Self::stop(Pid::from_raw(up.pid().try_into().unwrap()).unwrap())
    }

    fn stop(pid: Pid) -> Self {
        kill_process(pid, Signal::STOP).unwrap();
        Self(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).unwrap();
    }
}

/// Whether v1beta2 of Metal3Machine is served from now on.
fn serve_machines(up: &Up, served: bool) {
    let text = std::fs::read_to_string(&up.kubeconfig).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = over_network(&text, None, "test").await.unwrap();
        let definitions = ResourceKind::definitions();
        let key = ObjectKey::new("", "metal3machines.infrastructure.cluster.x-k8s.io");
        let mut definition: Value = client.get(&definitions, &key).await.unwrap().unwrap();
        let versions = definition["spec"]["versions"].as_array_mut().unwrap();
        let version = versions.iter_mut().find(|version| version["name"] == "v1beta2").unwrap();
        version["served"] = json!(served);
        let patch = json!({"spec": {"versions": versions}});
        client.merge_patch(&definitions, &key, None, &patch).await.unwrap();
    });
}

const NOT_SERVED: &str = "Metal3Machine infrastructure.cluster.x-k8s.io/v1beta2 is not served \
    (the server could not find the requested resource)";

/// What helps, as the last line of `/readyz` and at the end of the log line.
const INSTALL: &str = "install the CRDs in this version: those of capm3 with `capm3 manifests`, Cluster API with contract \
    v1beta2, the Baremetal Operator (docs/install.md)";

#[test]
fn a_kind_that_is_not_served_is_named_until_it_is_served() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let manager = Manager::start(&up);
    assert_eq!(manager.until_readyz(200, "everything is served"), "ok");
    drop(manager);
    serve_machines(&up, false);
    let manager = Manager::start(&up);
    assert_eq!(manager.get("/healthz"), (200, "ok".to_owned()));
    let mut text = manager.get("/readyz").1;
    // While other kinds are not synced yet they are named too.
    let expected = format!("{NOT_SERVED}\n{INSTALL}");
    for _ in 0..300 {
        if text == expected {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(100));
        text = manager.get("/readyz").1;
    }
    assert_eq!(text, expected);
    serve_machines(&up, true);
    manager.until_readyz(200, "served again");
    let expected = [
        ("WARN", format!("{NOT_SERVED}; {INSTALL}")),
        ("INFO", "Metal3Machine infrastructure.cluster.x-k8s.io/v1beta2 is synced".to_owned()),
    ];
    assert_eq!(manager.logged("Metal3Machine "), expected.map(|(level, text)| (level.to_owned(), text)));
}

/// A stopped process keeps its connections open, so only a missing answer shows it.
#[test]
fn a_frozen_api_server_makes_every_kind_unready_until_it_answers_again() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let manager = Manager::start(&up);
    manager.until_readyz(200, "before");
    let frozen = Frozen::new(&up);
    let text = manager.until_readyz(503, "frozen");
    assert!(
        text.contains("Metal3Machine infrastructure.cluster.x-k8s.io/v1beta2 cannot be read ("),
        "{text}"
    );
    assert!(text.lines().all(|line| line.contains(" cannot be read (")), "{text}");
    assert_eq!(manager.get("/healthz"), (200, "ok".to_owned()), "a restart would not help");
    drop(frozen);
    manager.until_readyz(200, "continued");
    for kind in ["Metal3Machine ", "BareMetalHost ", "Cluster "] {
        // Whoever reads the log may be behind the probes.
        manager.until_entry(kind, |entry| {
            let message = entry["fields"]["message"].as_str().unwrap_or_default();
            entry["level"] == "INFO" && message.starts_with(kind)
        });
        let logged = manager.logged(kind);
        let levels: Vec<&str> = logged.iter().map(|(level, _)| level.as_str()).collect();
        assert_eq!(levels, ["WARN", "INFO"], "{logged:?}");
    }
}

/// Times of an election that is over soon, and still leaves a slow machine time to renew.
const ELECTION: [&str; 6] = [
    "--leader-elect",
    "--leader-elect-lease-duration=8s",
    "--leader-elect-renew-deadline=6s",
    "--leader-elect-retry-period=1s",
    "--leader-elect-namespace=metal3",
    "--webhook-port=0",
];

fn lease(up: &Up) -> Value {
    up.list(&[capm3_engine::lease::lease_kind()]).remove(0)
}

/// Of several managers one leads, by the Lease `controller-leader-election-capm3` and with the times of its flags; one that
/// stops hands over at once.
#[test]
fn op142_of_two_managers_one_leads_and_a_stop_hands_over() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let first = Manager::start_with(&up, &ELECTION);
    first.until_logged("became leader");
    assert_eq!(lease(&up)["metadata"]["name"], "controller-leader-election-capm3");
    assert_eq!(lease(&up)["spec"]["leaseDurationSeconds"], 8, "as the flag says");
    let second = Manager::start_with(&up, &ELECTION);
    second.until_logged("waits for the Lease: held by ");
    assert_eq!(second.until_readyz(200, "who does not lead is ready too"), "ok");
    let before = lease(&up);
    kill_process(first.pid(), Signal::TERM).unwrap();
    assert_eq!(first.ended(), (Some(0), String::new()));
    second.until_logged("became leader");
    let after = lease(&up);
    assert_ne!(before["spec"]["holderIdentity"], after["spec"]["holderIdentity"]);
    assert_eq!(after["spec"]["leaseTransitions"], 1, "{before} {after}");
}

#[test]
fn a_leader_that_was_stopped_for_too_long_ends_with_code_1() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let first = Manager::start_with(&up, &ELECTION);
    first.until_logged("became leader");
    let second = Manager::start_with(&up, &ELECTION);
    let frozen = Frozen::stop(first.pid());
    second.until_logged("became leader");
    drop(frozen);
    let (code, last) = first.ended();
    assert_eq!(code, Some(1), "{last}");
    let lost = "error: leadership is lost: Lease metal3/controller-leader-election-capm3 ";
    assert!(last.starts_with(lost), "{last}");
    assert!(last.ends_with("restart it to compete for the Lease"), "{last}");
}

#[test]
fn a_manager_without_an_election_stops_with_code_0() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let manager = Manager::start(&up);
    manager.until_readyz(200, "ready");
    kill_process(manager.pid(), Signal::TERM).unwrap();
    assert_eq!(manager.ended(), (Some(0), String::new()));
}

#[test]
fn a_manager_without_a_cluster_says_the_ways() {
    let run = common::capm3(&["manager"], "");
    assert_eq!(run.code, 2, "{}", run.text());
    let expected = "error: no cluster is configured: set --kubeconfig PATH or KUBECONFIG, or run in a pod of the cluster";
    assert!(run.stderr.contains(expected), "{}", run.text());
}

/// An API server that knows only its version: Kubernetes 1.27.
fn old_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map(Result::unwrap) {
            std::thread::spawn(move || answer_as_old(&stream));
        }
    });
    at
}

/// Answers the requests of one connection.
fn answer_as_old(mut stream: &TcpStream) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok).peekable();
    while let Some(first) = lines.next() {
        lines.by_ref().find(String::is_empty);
        let (status, body) = match first.starts_with("GET /version ") {
            true => ("200 OK", r#"{"major": "1", "minor": "27", "gitVersion": "v1.27.3"}"#),
            false => ("503 Service Unavailable", "{}"),
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_server_of_an_unsupported_version_ends_the_manager_with_code_3_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, site::config(old_server(), "")).unwrap();
    let manager = Manager::start_at(&kubeconfig, &["--webhook-port=0", "--insecure-diagnostics"]);
    let expected = "error: the API server is Kubernetes 1.27, and capm3 needs 1.29 or newer: upgrade the management cluster";
    assert_eq!(manager.ended(), (Some(3), expected.to_owned()));
}

#[test]
fn a_flag_that_does_nothing_is_accepted_and_reported_once() {
    let run = common::capm3(&["manager", "--sync-period=10m0s", "--insecure-diagnostics=false", "-v=0"], "");
    let warnings: Vec<&str> = run.stderr.lines().filter(|line| line.contains(" has no effect: ")).collect();
    assert_eq!(warnings.len(), 1, "{}", run.text());
    assert!(
        warnings[0].contains(" WARN ") && warnings[0].contains("--sync-period has no effect: "),
        "{}",
        warnings[0]
    );
}

#[test]
fn a_wrong_value_of_a_flag_is_answered_with_what_it_takes() {
    for (flag, expected) in [
        ("--sync-period=10", "use numbers with units, such as 15s or 1m30s"),
        ("--leader-elect=yes", "'yes' is neither true nor false"),
        ("--health-addr=9440", "use HOST:PORT, such as 127.0.0.1:9440, or :9440"),
        ("--metal3machine-concurrency=0", "expected a whole number above 0"),
        ("--kube-api-qps=fast", "expected a number, such as 20"),
        ("--skip-crd-migration-phases=All", "use StorageVersionMigration or CleanupManagedFields"),
    ] {
        let run = common::capm3(&["manager", flag], "");
        assert_eq!(run.code, 2, "{flag}: {}", run.text());
        assert!(run.stderr.contains(expected), "{flag}: {}", run.text());
    }
}

//! Leader election on the embedded API server in virtual time: who may write, and when the Lease goes to another.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{sync::Arc, time::Duration};

use capm3_apiserver::{ApiServer, WriteRecord};
use capm3_engine::{
    ApiClient, Caches, Clock, Executor, Note, ObjectKey, Plan, ResourceKind, Write, WriteGate,
    lease::{Candidate, Elector, LeadershipLost, Timing, lease_kind},
    rng::Rng,
};
use futures::FutureExt;
use http::{Method, Request};
use jiff::Timestamp;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tower::{BoxError, Service, service_fn};

const NAMESPACE: &str = "capm3-system";
const LEASE: &str = "controller-leader-election-capm3";
const LEASES: &str = "coordination.k8s.io/leases";

/// How often each replica tries to write.
const TICK: Duration = Duration::from_millis(100);
const LEASE_TIME: Duration = Duration::from_secs(15);
const DEADLINE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_secs(2);

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

fn key() -> ObjectKey {
    ObjectKey::new(NAMESPACE, LEASE)
}

fn core(kind: &str, plural: &str) -> ResourceKind {
    ResourceKind { group: String::new(), version: "v1".into(), kind: kind.into(), plural: plural.into() }
}

/// A server and every write to it, with its time.
struct Cluster {
    server: ApiServer,
    clock: Clock,
    start: Instant,
    writes: Arc<Mutex<Vec<(Duration, WriteRecord)>>>,
}

impl Cluster {
    async fn start() -> Self {
        let clock = Clock::starting_at(Timestamp::from_second(1_767_225_600).unwrap());
        let (start, writes) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let mut options = capm3_apiserver::Options::new(Arc::new(move || clock.now()), 1);
        let seen = Arc::clone(&writes);
        options.observer = Some(Arc::new(move |record| seen.lock().push((start.elapsed(), record.clone()))));
        let cluster = Self { server: ApiServer::new(options), clock, start, writes };
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        cluster.client("test").create(&core("Namespace", "namespaces"), "", namespace).await.unwrap();
        cluster
    }

    fn client(&self, name: &str) -> ApiClient {
        ApiClient::new(kube::Client::new(self.server.clone(), "default"), name)
    }

    fn replica(&self, name: &'static str) -> Replica {
        self.replica_over(name, self.client(name))
    }

    fn replica_over(&self, name: &'static str, client: ApiClient) -> Replica {
        let gate = WriteGate::for_leader();
        let candidate = Candidate { lease: key(), identity: name.into(), timing: Timing::default() };
        let seed = name.bytes().map(u64::from).sum();
        let elector = Elector::new(client.clone(), self.clock, Rng::seeded(seed), candidate, gate.clone());
        let executor = Executor::new(client, Arc::new(Caches::default()), self.clock, "test");
        let executor = executor.with_gate(gate.clone());
        Replica { elector, gate, writer: tokio::spawn(write_for_ever(name, executor)) }
    }

    /// When a replica wrote its own objects.
    fn times(&self, replica: &str) -> Vec<Duration> {
        let writes = self.writes.lock();
        let own = writes.iter().filter(|(_, w)| w.user_agent == replica && w.resource == "/configmaps");
        own.map(|(at, _)| *at).collect()
    }

    /// When a replica last wrote the Lease.
    fn last_renewal(&self, replica: &str) -> Duration {
        let writes = self.writes.lock();
        let own = writes.iter().rev().find(|(_, w)| w.user_agent == replica && w.resource == LEASES);
        own.unwrap().0
    }

    async fn lease(&self) -> Value {
        self.client("test").get(&lease_kind(), &key()).await.unwrap().unwrap()
    }

    /// Messages of the events on the Lease, in order.
    fn events(&self) -> Vec<String> {
        let events = self.server.objects_of(&["Event"]);
        let of_lease = events.iter().filter(|it| it["involvedObject"]["kind"] == "Lease");
        of_lease
            .inspect(|it| assert_eq!(it["reason"], "LeaderElection"))
            .map(|it| it["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Renews or takes the Lease as client-go does it, by a whole new content.
    async fn renew_as_go(&self, holder: &str) {
        let now = capm3_engine::clock::micro_text(self.clock.now());
        let mut lease = self.lease().await;
        lease["spec"]["holderIdentity"] = json!(holder);
        lease["spec"]["renewTime"] = json!(now);
        self.client("go").replace(&lease_kind(), &key(), &lease).await.unwrap();
    }
}

/// A replica: its election, and a task that writes whenever it may.
struct Replica {
    elector: Elector,
    gate: WriteGate,
    writer: JoinHandle<()>,
}

impl Replica {
    /// Contends and leads until it does not any more.
    fn run(self) -> Running {
        let Self { mut elector, writer, .. } = self;
        let election = tokio::spawn(async move {
            elector.acquire().await;
            elector.keep().await
        });
        Running { election, writer }
    }
}

struct Running {
    election: JoinHandle<LeadershipLost>,
    writer: JoinHandle<()>,
}

impl Running {
    /// The whole process ends in the middle of whatever it does.
    fn kill(self) {
        self.election.abort();
        self.writer.abort();
    }
}

async fn write_for_ever(name: &'static str, executor: Executor) {
    for number in 0_u64.. {
        let key = ObjectKey::new(NAMESPACE, format!("{name}-{number}"));
        let object = json!({"metadata": {"name": key.name, "namespace": key.namespace}});
        let writes = vec![Write::Create { kind: core("ConfigMap", "configmaps"), key, object }];
        let _refused_or_done = executor.act(&Plan::<Note> { writes, ..Plan::default() }).await;
        sleep(TICK).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_second_replica_writes_only_after_the_lease_of_a_killed_leader_has_expired() {
    let cluster = Cluster::start().await;
    let first = cluster.replica("first").run();
    sleep(seconds(1)).await;
    let _second = cluster.replica("second").run();
    sleep(seconds(60)).await;
    assert!(cluster.times("first").len() > 500, "the leader writes all the time");
    assert!(cluster.times("second").is_empty());
    first.kill();
    let last = cluster.last_renewal("first");
    assert!(cluster.start.elapsed() - last <= RETRY, "it was renewed in time");
    sleep(seconds(60)).await;
    let taken = cluster.times("second")[0];
    println!("taken {:?} after the last renewal", taken - last);
    assert!(taken >= last + LEASE_TIME, "{taken:?} {last:?}");
    assert!(taken <= last + LEASE_TIME + RETRY + TICK, "{taken:?} {last:?}");
    let lease = cluster.lease().await;
    assert_eq!(lease["spec"]["holderIdentity"], "second");
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
    assert_eq!(cluster.events(), ["first became leader", "second became leader"]);
}

/// As if the process had been stopped: its election is not polled, but a write may be tried as soon as it runs again.
#[tokio::test(start_paused = true)]
async fn a_frozen_leader_never_writes_again() {
    let cluster = Cluster::start().await;
    let Replica { mut elector, gate, writer } = cluster.replica("frozen");
    elector.acquire().await;
    let mut keep = Box::pin(async move { elector.keep().await });
    assert!(timeout(seconds(30), &mut keep).await.is_err(), "it leads");
    let _second = cluster.replica("second").run();
    let last = cluster.last_renewal("frozen");
    // The writer is polled all the time, which is worse than a process that does not run at all.
    sleep(seconds(60)).await;
    let lost = keep.await;
    let expected = "Lease capm3-system/controller-leader-election-capm3 could not be renewed for 10s: this process was paused or had no CPU time";
    assert_eq!(lost.to_string(), expected);
    assert!(!gate.is_open());
    sleep(seconds(60)).await;
    let (old, new) = (cluster.times("frozen"), cluster.times("second"));
    assert!(!old.is_empty() && !new.is_empty());
    assert!(*old.last().unwrap() < last + DEADLINE, "{:?} {last:?}", old.last());
    assert!(new[0] >= last + LEASE_TIME);
    assert_eq!(cluster.lease().await["spec"]["holderIdentity"], "second");
    assert_eq!(cluster.last_renewal("frozen"), last, "it did not touch the Lease again");
    writer.abort();
}

#[tokio::test(start_paused = true)]
async fn a_clean_stop_hands_over_within_the_retry_period() {
    let cluster = Cluster::start().await;
    let Replica { mut elector, writer, .. } = cluster.replica("first");
    elector.acquire().await;
    assert!(timeout(seconds(10), elector.keep()).await.is_err());
    let _second = cluster.replica("second").run();
    assert!(timeout(seconds(10), elector.keep()).await.is_err());
    let stopped = cluster.start.elapsed();
    assert!(elector.release(seconds(5)).await);
    let released = cluster.lease().await;
    assert_eq!(released["spec"]["holderIdentity"], "");
    assert_eq!(released["spec"]["leaseDurationSeconds"], 1);
    assert_eq!(released["spec"]["renewTime"], released["spec"]["acquireTime"]);
    sleep(seconds(10)).await;
    assert!(*cluster.times("first").last().unwrap() <= stopped);
    let taken = cluster.times("second")[0];
    println!("taken {:?} after the stop", taken - stopped);
    assert!(taken <= stopped + RETRY + TICK, "{taken:?} {stopped:?}");
    assert_eq!(
        cluster.events(),
        ["first became leader", "first stopped leading", "second became leader"],
        "as client-go records them"
    );
    writer.abort();
}

/// The Lease of a manager in Go, with a clock that is a year behind.
#[tokio::test(start_paused = true)]
async fn a_lease_of_a_go_leader_is_honoured_while_it_is_renewed() {
    let cluster = Cluster::start().await;
    let lease = json!({"metadata": {"name": LEASE, "namespace": NAMESPACE}, "spec": {
        "acquireTime": "2025-01-01T10:00:00.123456Z", "holderIdentity": "go_1", "leaseDurationSeconds": 15,
        "leaseTransitions": 3, "renewTime": "2025-01-01T10:05:00.654321Z"}});
    cluster.client("go").create(&lease_kind(), NAMESPACE, lease).await.unwrap();
    let _ours = cluster.replica("ours").run();
    for _ in 0..15 {
        sleep(RETRY).await;
        cluster.renew_as_go("go_1").await;
    }
    let last = cluster.last_renewal("go");
    assert!(cluster.times("ours").is_empty());
    sleep(seconds(30)).await;
    let taken = cluster.times("ours")[0];
    assert!(taken >= last + LEASE_TIME, "{taken:?} {last:?}");
    assert!(taken <= last + LEASE_TIME + RETRY + TICK, "{taken:?} {last:?}");
    let spec = &cluster.lease().await["spec"];
    let form = regex::Regex::new(r"^2026-01-01T\d\d:\d\d:\d\d\.\d{6}Z$").unwrap();
    for field in ["acquireTime", "renewTime"] {
        assert!(form.is_match(spec[field].as_str().unwrap()), "MicroTime of Go reads no other form: {spec}");
    }
    assert_eq!(
        (spec["leaseDurationSeconds"].as_i64(), spec["leaseTransitions"].as_i64()),
        (Some(15), Some(4))
    );
    assert_eq!(spec["holderIdentity"], "ours");
}

/// A client through which requests can be stopped, and something can be done just before the next update.
#[derive(Clone, Default)]
struct Intercept {
    /// Requests whose path has this in it are never answered.
    blocked: Arc<Mutex<Option<&'static str>>>,
    before_update: Arc<Mutex<Option<Value>>>,
}

impl Intercept {
    fn client(&self, cluster: &Cluster, name: &str) -> ApiClient {
        let (intercept, server) = (self.clone(), cluster.server.clone());
        let other = cluster.client("other");
        let service = service_fn(move |request: Request<Body>| {
            let (intercept, mut server, other) = (intercept.clone(), server.clone(), other.clone());
            async move {
                let is_update = request.method() == Method::PUT;
                let patch = intercept.before_update.lock().take_if(|_| is_update);
                if let Some(patch) = patch {
                    other.merge_patch(&lease_kind(), &key(), None, &patch).await.unwrap();
                }
                if intercept.blocked.lock().is_some_and(|part| request.uri().path().contains(part)) {
                    std::future::pending::<()>().await;
                }
                server.call(request).await.map_err(BoxError::from)
            }
            .boxed()
        });
        ApiClient::new(kube::Client::new(service, "default"), name)
    }
}

#[tokio::test(start_paused = true)]
async fn who_meets_a_conflict_yields() {
    let (cluster, intercept) = (Cluster::start().await, Intercept::default());
    let lease = json!({"metadata": {"name": LEASE, "namespace": NAMESPACE}, "spec": {"holderIdentity": ""}});
    cluster.client("go").create(&lease_kind(), NAMESPACE, lease).await.unwrap();
    let other =
        json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 15, "leaseTransitions": 1}});
    *intercept.before_update.lock() = Some(other);
    let _slow = cluster.replica_over("slow", intercept.client(&cluster, "slow")).run();
    sleep(LEASE_TIME - seconds(1)).await;
    let codes: Vec<u16> = {
        let writes = cluster.writes.lock();
        writes.iter().filter(|(_, w)| w.user_agent == "slow").map(|(_, w)| w.code).collect()
    };
    assert_eq!(codes, [409], "it tried once and left the other's Lease alone");
    assert_eq!(cluster.lease().await["spec"]["holderIdentity"], "other");
}

#[tokio::test(start_paused = true)]
async fn a_leader_keeps_a_lease_that_somebody_labels_and_loses_one_that_somebody_takes() {
    let (cluster, intercept) = (Cluster::start().await, Intercept::default());
    let leader = cluster.replica_over("leader", intercept.client(&cluster, "leader")).run();
    sleep(seconds(5)).await;
    *intercept.before_update.lock() = Some(json!({"metadata": {"labels": {"team": "metal"}}}));
    sleep(seconds(30)).await;
    let lease = cluster.lease().await;
    assert_eq!(
        (&lease["spec"]["holderIdentity"], &lease["metadata"]["labels"]["team"]),
        (&json!("leader"), &json!("metal"))
    );
    assert_eq!(lease["spec"]["leaseTransitions"], 0);
    let before = cluster.times("leader").len();
    assert!(before > 300);
    *intercept.before_update.lock() = Some(json!({"spec": {"holderIdentity": "other"}}));
    let lost = timeout(2 * RETRY, leader.election).await.unwrap().unwrap();
    assert_eq!(lost, LeadershipLost::Taken { lease: key(), holder: "other".into() });
    let after = cluster.times("leader").len();
    sleep(seconds(30)).await;
    assert_eq!(cluster.times("leader").len(), after, "it writes no more");
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_writing_at_the_deadline_and_its_requests_end_before_the_lease() {
    let (cluster, intercept) = (Cluster::start().await, Intercept::default());
    let Replica { mut elector, gate, writer } =
        cluster.replica_over("leader", intercept.client(&cluster, "leader"));
    elector.acquire().await;
    assert!(timeout(seconds(9), elector.keep()).await.is_err());
    let last = cluster.last_renewal("leader");
    *intercept.blocked.lock() = Some("");
    let lost = elector.keep().await;
    let ended = cluster.start.elapsed();
    assert!(lost.to_string().contains("no answer from the API server"), "{lost}");
    assert!(ended >= last + DEADLINE && ended <= last + DEADLINE + RETRY, "{ended:?} {last:?}");
    assert_eq!(gate.in_flight(), 1, "the last write is not answered");
    assert!(gate.finish(seconds(60)).await);
    assert!(cluster.start.elapsed() < last + LEASE_TIME, "it was given up in time");
    *intercept.blocked.lock() = None;
    sleep(seconds(30)).await;
    assert!(
        *cluster.times("leader").last().unwrap() < last + RETRY,
        "nothing was sent after requests were blocked"
    );
    writer.abort();
}

/// The Lease must not go to another while a request of ours may still take effect.
#[tokio::test(start_paused = true)]
async fn a_lease_is_not_released_while_a_write_is_in_flight() {
    let (cluster, intercept) = (Cluster::start().await, Intercept::default());
    let Replica { mut elector, writer, .. } =
        cluster.replica_over("leader", intercept.client(&cluster, "leader"));
    elector.acquire().await;
    sleep(seconds(1)).await;
    *intercept.blocked.lock() = Some("/configmaps");
    sleep(seconds(1)).await;
    assert!(!elector.release(seconds(2)).await);
    assert_eq!(cluster.lease().await["spec"]["holderIdentity"], "leader");
    writer.abort();
}

/// Its holder may write until the Lease would have expired, so nobody else takes the absence for a free Lease.
#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_deletes_stays_with_its_holder() {
    let cluster = Cluster::start().await;
    let leader = cluster.replica("leader").run();
    sleep(seconds(1)).await;
    let _standby = cluster.replica("standby").run();
    sleep(seconds(5)).await;
    let acquired = cluster.lease().await["spec"]["acquireTime"].clone();
    for _ in 0..20 {
        cluster.client("test").delete(&lease_kind(), &key(), None).await.unwrap();
        sleep(Duration::from_millis(3100)).await;
        let lease = cluster.lease().await;
        assert_eq!(lease["spec"]["holderIdentity"], "leader");
        assert_eq!(
            (&lease["spec"]["acquireTime"], &lease["spec"]["leaseTransitions"]),
            (&acquired, &json!(0))
        );
    }
    assert!(cluster.times("standby").is_empty());
    leader.kill();
    cluster.client("test").delete(&lease_kind(), &key(), None).await.unwrap();
    let last = cluster.last_renewal("leader");
    sleep(seconds(30)).await;
    assert!(cluster.times("standby")[0] >= last + LEASE_TIME);
    assert_eq!(cluster.lease().await["spec"]["leaseTransitions"], 1);
}

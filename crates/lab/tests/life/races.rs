//! Machines that claim the same host at the same time.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use capm3_apiserver::ApiServer;
use capm3_lab::{
    Lab, Options,
    faults::{AnswerFuture, Call, Fault, Faults, NoFaults, Refusal},
};
use http::Request;
use http_body_util::Either;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::Service;

use crate::common::{hosts::*, *};

/// Holds the claims of hosts back until two machines have sent one, then lets all of them pass.
#[derive(Default)]
struct AtOnce {
    machines: Arc<Mutex<BTreeSet<String>>>,
    both: Arc<Notify>,
}

impl AtOnce {
    /// Longest time for which a claim is held back.
    const LONGEST: Duration = Duration::from_secs(30);
}

impl Faults for AtOnce {
    fn apply_fault(&self, _: &Call) -> Fault {
        Fault::None
    }

    fn ask(&self, server: &ApiServer, call: &Call, request: Request<Body>) -> AnswerFuture {
        let is_of_host = call.method.as_str() == "PATCH" && call.path.contains("/baremetalhosts/");
        let (mut server, machines, both) =
            (server.clone(), Arc::clone(&self.machines), Arc::clone(&self.both));
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let patch: Value = serde_json::from_slice(&body).unwrap_or_default();
            let claimant = text(&patch, "/spec/consumerRef/name");
            if is_of_host && !claimant.is_empty() {
                let passed = both.notified();
                let claimants = {
                    let mut machines = machines.lock();
                    machines.insert(claimant);
                    machines.len()
                };
                if claimants == 1 {
                    drop(tokio::time::timeout(Self::LONGEST, passed).await);
                } else {
                    both.notify_waiters();
                }
            }
            let request = Request::from_parts(head, Body::from(body));
            Ok(server.call(request).await?.map(Either::Left))
        })
    }
}

/// Two machines that claim the only free host at the same time, with two providers at work: one gets it, the other one waits,
/// and at no moment does the host pass from one to the other.
#[tokio::test(start_paused = true)]
async fn ma32_two_machines_at_once_never_take_one_host() {
    let at_once = Arc::new(AtOnce::default());
    let faults = Arc::clone(&at_once) as Arc<dyn Faults>;
    let options = Options { faults, remembered: Some(usize::MAX), ..Options::default() };
    let mut lab = Lab::start(&options).await.unwrap();
    lab.add_provider();
    lab.apply(&control_plane(1)).await.unwrap();
    rest(&lab).await;
    let mut manifests = three_racks();
    manifests.retain(|m| {
        matches!(m.kind(), "MachineDeployment" | "KubeadmConfigTemplate" | "Metal3MachineTemplate")
    });
    change(&mut manifests, "MachineDeployment", "my-cluster-workers", &json!({"spec": {"replicas": 2}}));
    let mut free: Vec<String> = lab
        .objects("BareMetalHost")
        .iter()
        .filter(|h| h.pointer("/spec/consumerRef").is_none())
        .map(|h| name(h))
        .collect();
    let only = free.pop().unwrap();
    for host in free {
        patch_host(&lab, &host, json!({"metadata": {"annotations": {"capm3.metal3.io/unhealthy": ""}}}))
            .await;
    }
    rest(&lab).await;
    at_once.machines.lock().clear();
    lab.apply(&manifests).await.unwrap();
    rest(&lab).await;
    let workers = machines(&lab, "my-cluster-workers");
    assert_eq!(workers.len(), 2);
    let claimants: Vec<String> = at_once.machines.lock().iter().cloned().collect();
    assert_eq!(claimants, workers.iter().map(|m| name(m)).collect::<Vec<_>>(), "both have claimed it");
    let hosts: Vec<String> = workers.iter().map(|m| host_of(m)).filter(|host| !host.is_empty()).collect();
    assert_eq!(hosts, std::slice::from_ref(&only), "one has it, one waits");
    let mut consumers = Vec::new();
    replay(&lab, &[BARE_METAL_HOSTS], |_, host| {
        if name(host) == only && host.pointer("/spec/consumerRef").is_some() {
            consumers.push(text(host, "/spec/consumerRef/name"));
        }
    });
    consumers.dedup();
    assert_eq!(consumers.len(), 1, "{consumers:?}");
    assert_eq!(capm3_lab::invariants::mix_ups(lab.server()), Vec::<String>::new());
}

/// Answers the first claims of hosts as if another machine had been faster each time.
#[derive(Default)]
struct LostRaces(AtomicUsize);

/// How many races are lost.
const LOST: usize = 2;

impl Faults for LostRaces {
    fn apply_fault(&self, call: &Call) -> Fault {
        let is_claim = call.method.as_str() == "PATCH" && call.path.contains("/baremetalhosts/");
        match is_claim && self.0.fetch_add(1, Ordering::SeqCst) < LOST {
            true => Fault::Refused(Refusal::Conflict),
            false => Fault::None,
        }
    }
}

/// The writes of the provider to machines and hosts until one machine is ready.
async fn writes_until_ready(faults: Arc<dyn Faults>) -> u64 {
    let lab = Lab::start(&Options { faults, ..Options::default() }).await.unwrap();
    lab.apply(&control_plane(1)).await.unwrap();
    rest(&lab).await;
    let machine = machines(&lab, "my-cluster-cp")[0].clone();
    assert_eq!(condition(&machine, "Ready").0, "True", "{machine}");
    let mut warnings = lab.objects("Event");
    warnings.retain(|event| text(event, "/type") == "Warning");
    assert!(warnings.is_empty(), "{warnings:?}");
    let requests = lab.server().requests();
    let ours = requests.iter().filter(|r| r.user_agent == "capm3" && r.verb == "patch");
    let ours =
        ours.filter(|r| r.resource.ends_with("/metal3machines") || r.resource.ends_with("/baremetalhosts"));
    ours.map(|r| r.count).sum()
}

/// A machine that loses the race for a host reconciles again at once: neither a status nor an event reports a failure.
#[tokio::test(start_paused = true)]
async fn ma33_a_lost_race_is_no_failure() {
    let races = Arc::new(LostRaces::default());
    let lost = writes_until_ready(Arc::clone(&races) as Arc<dyn Faults>).await;
    assert!(races.0.load(Ordering::SeqCst) > LOST, "the races were lost");
    let won = writes_until_ready(Arc::new(NoFaults)).await;
    assert!(won > 0);
    assert_eq!(lost, won, "what reaches the server is the same");
}

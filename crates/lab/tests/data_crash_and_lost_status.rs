//! The provider dies after every write that data, claims and addresses need, and every status is lost.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use capm3_lab::{
    Lab, Options, Settled,
    faults::{Call, Fault, Faults},
    invariants::mix_ups,
    manifests::Manifest,
    sweep::{EndState, Mask},
};
use common::{data::*, *};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// Kinds whose status the provider writes, and from which it could remember something.
async fn wipe_status(lab: &Lab) {
    for (kind, resource) in [
        ("Metal3DataTemplate", metal3("Metal3DataTemplate")),
        ("Metal3DataClaim", metal3("Metal3DataClaim")),
        ("Metal3Data", metal3("Metal3Data")),
        ("Metal3Machine", metal3("Metal3Machine")),
        ("IPPool", ipam("IPPool")),
        ("IPClaim", ipam("IPClaim")),
    ] {
        for object in lab.objects(kind) {
            let wiped = json!({"status": null});
            lab.client().merge_patch(&resource, &here(&name(&object)), Some("status"), &wiped).await.unwrap();
        }
    }
}

/// One worker with an index and an address in both documents.
fn spec() -> Value {
    json!({
        "metaData": {"indexes": [{"key": "name", "prefix": "worker-"}], "ipAddressesFromPool": [{"key": "ip", "name": "fleet"}]},
        "networkData": {"networks": {"ipv4": [{"id": "net", "link": "eno1", "ipAddressFromIPPool": "fleet"}]}}})
}

/// Every machine can have one host only: which one of equals is taken depends on uids, and these on the order of writes.
fn manifests() -> Vec<Manifest> {
    let mut manifests = workers(1, spec());
    for (host, role) in [("host-00000", "control-plane"), ("host-00001", "workers")] {
        change(&mut manifests, "BareMetalHost", host, &json!({"metadata": {"labels": {"role": role}}}));
        let selector = json!({"hostSelector": {"matchLabels": {"role": role}}});
        let patch = json!({"spec": {"template": {"spec": selector}}});
        change(&mut manifests, "Metal3MachineTemplate", role, &patch);
    }
    manifests
}

/// Every provider lives for one write: it is done, and the provider gets no answer.
#[derive(Debug, Default)]
struct OneWrite {
    armed: AtomicBool,
    dead: AtomicBool,
    deaths: AtomicU64,
    died: Notify,
}

impl Faults for OneWrite {
    fn apply_fault(&self, call: &Call) -> Fault {
        if self.dead.load(Ordering::SeqCst) {
            return Fault::NeverAsked;
        }
        // Events say what was done; they do nothing.
        if !call.is_write() || call.path.ends_with("/events") || !self.armed.load(Ordering::SeqCst) {
            return Fault::None;
        }
        self.dead.store(true, Ordering::SeqCst);
        self.deaths.fetch_add(1, Ordering::SeqCst);
        Fault::NeverAnswered
    }

    /// A provider is replaced only after its write is done.
    fn done_unanswered(&self, _: &Call) {
        self.died.notify_one();
    }
}

/// Waits for rest; a provider that died is replaced.
async fn rest_with(lab: &mut Lab, faults: &OneWrite) {
    for _ in 0..1000 {
        tokio::select! {
            biased;
            () = faults.died.notified() => {}
            settled = lab.settle(LIMIT) => {
                assert_eq!(settled, Settled::Quiet, "never came to rest");
                return;
            }
        }
        lab.stop_providers();
        faults.dead.store(false, Ordering::SeqCst);
        lab.start_provider();
    }
    panic!("a thousand providers died and the work is not done");
}

/// The end of the run, and how many providers it took; `armed`: whether they die.
async fn run(armed: bool, mask: &Mask) -> (EndState, u64) {
    let faults = Arc::new(OneWrite { armed: AtomicBool::new(armed), ..OneWrite::default() });
    let options = Options {
        faults: Arc::clone(&faults) as Arc<dyn Faults>,
        remembered: Some(usize::MAX),
        ..Options::default()
    };
    let mut lab = Lab::start(&options).await.unwrap();
    lab.apply(&manifests()).await.unwrap();
    rest_with(&mut lab, &faults).await;
    assert!(all_ready(&lab));
    lab.stop_providers();
    wipe_status(&lab).await;
    lab.start_provider();
    rest_with(&mut lab, &faults).await;
    assert!(all_ready(&lab));
    assert_eq!(mix_ups(lab.server()), Vec::<String>::new());
    (EndState::of(lab.server(), "fleet/fleet", mask), faults.deaths.load(Ordering::SeqCst))
}

/// Demonstration 8: the provider is killed after every single write, all status is wiped, and it is killed after every write
/// again; the end is the same as that of a quiet life, down to the bytes of the documents.
#[tokio::test(start_paused = true)]
async fn demonstration_8_lost_status_and_a_crash_after_every_write() {
    let mask = Mask::new().unwrap();
    let (quiet, _) = run(false, &mask).await;
    let (state, deaths) = run(true, &mask).await;
    assert!(deaths > 30, "only {deaths} providers died");
    let differences = quiet.differences(&state);
    assert!(differences.is_empty(), "{} differences, first {:#?}", differences.len(), differences.first());
}

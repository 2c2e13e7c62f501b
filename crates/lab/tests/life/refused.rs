//! Writes that the server refuses permanently, as by a webhook, a policy or missing rights: reported on the machine, and done once
//! they are allowed.

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
};
use serde_json::Value;

use crate::common::{hosts::*, *};

/// Forbids every change of a host while it is active.
#[derive(Default)]
struct Policy(AtomicBool);

impl Faults for Policy {
    fn apply_fault(&self, call: &Call) -> Fault {
        let is_meant = call.is_write() && call.path.contains("/baremetalhosts/");
        if is_meant && self.0.load(Ordering::SeqCst) {
            Fault::Refused(Refusal::Forbidden)
        } else {
            Fault::None
        }
    }
}

impl Policy {
    async fn lab(self: &Arc<Self>) -> Lab {
        let faults = Arc::clone(self) as Arc<dyn Faults>;
        let lab = Lab::start(&Options { faults, ..Options::default() }).await.unwrap();
        lab.apply(&control_plane(1)).await.unwrap();
        lab
    }

    fn forbids(&self, yes: bool) {
        self.0.store(yes, Ordering::SeqCst);
    }
}

/// Long enough for any number of tries.
async fn a_while() {
    tokio::time::sleep(Duration::from_secs(120)).await;
}

fn the_machine(lab: &Lab) -> Arc<Value> {
    machines(lab, "my-cluster-cp").remove(0)
}

/// What the machine says of the refusal: it names the host, and nothing else claims that all is well.
fn says(lab: &Lab, type_: &str, reason: &str) {
    let machine = the_machine(lab);
    assert_eq!(condition(&machine, type_), ("False".into(), reason.into()), "{machine}");
    assert_eq!(condition(&machine, "Ready").0, "False", "{machine}");
    let printed = machine.pointer("/status/conditions").unwrap().to_string();
    assert!(printed.contains("the API server refuses to patch BareMetalHost metal3/rack"), "{printed}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_refused_is_reported_and_made_once_it_is_allowed() {
    let policy = Arc::new(Policy::default());
    policy.forbids(true);
    let lab = policy.lab().await;
    a_while().await;
    says(&lab, "AssociateBareMetalHost", "WriteRefused");
    let before = text(&the_machine(&lab), "/metadata/resourceVersion");
    a_while().await;
    assert_eq!(text(&the_machine(&lab), "/metadata/resourceVersion"), before, "reported once");
    policy.forbids(false);
    a_while().await;
    rest(&lab).await;
    assert_eq!(condition(&the_machine(&lab), "Ready").0, "True");
}

#[tokio::test(start_paused = true)]
async fn a_release_and_a_pause_that_are_refused_are_reported_and_done_once_they_are_allowed() {
    let policy = Arc::new(Policy::default());
    let lab = policy.lab().await;
    rest(&lab).await;
    let paused = |lab: &Lab| {
        host(lab, &the_machine(lab))
            .pointer("/metadata/annotations/baremetalhost.metal3.io~1paused")
            .is_some()
    };
    for (pause, reason) in
        [(true, "BareMetalHostPauseAnnotationSetFailed"), (false, "BareMetalHostPauseAnnotationRemoveFailed")]
    {
        policy.forbids(true);
        pause_cluster(&lab, pause).await;
        a_while().await;
        says(&lab, "AssociateBareMetalHost", reason);
        assert_eq!(paused(&lab), !pause);
        policy.forbids(false);
        a_while().await;
        rest(&lab).await;
        assert_eq!(paused(&lab), pause);
    }
    assert_eq!(condition(&the_machine(&lab), "Ready").0, "True");
    policy.forbids(true);
    delete_cluster(&lab).await;
    a_while().await;
    says(&lab, "AssociateMetal3MachineMetaData", "WriteRefused");
    policy.forbids(false);
    a_while().await;
    rest(&lab).await;
    assert_eq!(lab.objects("Metal3Machine").len(), 0);
}

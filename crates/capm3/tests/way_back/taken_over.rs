//! There and back again: what the Go provider left, was taken over here and goes back.

use std::time::Duration;

use capm3_lab::{Lab, Options, Settled};
use capm3_provider::crd_migration::Phases;

use crate::{
    assert_accepted,
    namespace::{Namespace, VERSIONS},
    of_the_reference,
};

/// Longer than the provider waits until it reads the CRDs again.
const LATER: Duration = Duration::from_secs(700);

/// What a namespace differs in from one at rest, by name.
const STATES: [(&str, &[&str]); 4] = [
    ("running", &[]),
    ("paused", &["paused-1-cluster", "paused-2-each-machine"]),
    ("moved", &["paused-2-each-machine", "moved-1-cluster", "moved-2-each-machine"]),
    ("leftovers", &["leftovers"]),
];

async fn rest(lab: &Lab) {
    assert_eq!(lab.settle(Duration::from_secs(3600)).await, Settled::Quiet, "never came to rest");
}

/// Nothing of these namespaces uses what only this provider has, so nothing of them is refused.
#[tokio::test(start_paused = true)]
async fn what_was_taken_over_is_accepted_there_again() {
    for stored_as in VERSIONS {
        for (state, changes) in STATES {
            let namespace = Namespace::running(stored_as);
            let namespace = if changes.is_empty() { namespace } else { namespace.after(changes) };
            let options = Options { crd_migration: Some(Phases::default()), ..Options::default() };
            let lab = Lab::start_on(&options, &namespace.manifests(), stored_as).await.unwrap();
            rest(&lab).await;
            // The CRDs have been read again by then, and every object is stored in the newer version.
            tokio::time::sleep(LATER).await;
            rest(&lab).await;
            let objects = of_the_reference(&lab);
            assert!(objects.len() >= 20, "{state}: {} objects", objects.len());
            let dropped = assert_accepted(&format!("{state}, {stored_as:?}"), &objects, &[]).await;
            // Nothing is written to a paused cluster, and what is dropped is what only this provider writes.
            let is_written = dropped.iter().any(|it| it.ends_with("status.failureDomain"));
            assert_eq!(is_written, state != "paused", "{state}, {stored_as:?}: {dropped:?}");
        }
    }
}

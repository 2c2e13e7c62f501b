//! What the Go provider is known to leave behind: what can be known is cleaned, the rest is reported and stays.

use capm3_lab::report::report;

use crate::{
    changes::assert_permitted,
    common::{hosts::*, *},
    namespace::*,
    *,
};

/// Long enough for every grace, every proof and a second report.
const LONG: Duration = Duration::from_secs(7200);

/// O1, O2, O3, O5, O8, O9 and the owners of older releases, all in one namespace.
#[tokio::test(start_paused = true)]
async fn leftovers_are_cleaned_as_far_as_they_can_be_known_and_the_rest_is_reported() {
    for stored_as in VERSIONS {
        let taken = take_over(&Namespace::running(stored_as).after(&["leftovers"])).await;
        let lab = &taken.lab;
        tokio::time::sleep(LONG).await;
        assert_permitted(&by_version("leftovers", stored_as), &taken.changes());
        taken.assert_left_alone(&["node-0", "node-1", "node-2"], "provisioned");

        // Nobody knows whether a node runs on a host whose machine is not there.
        let orphan = get(lab, "BareMetalHost", "node-7");
        assert_eq!(text(&orphan, "/spec/consumerRef/name"), "worker-0");
        assert_eq!(lab.provider().unwrap().orphaned_hosts(), 1);
        let reported = events(lab, "HostOrphaned");
        let command = "`capm3 release host/node-7 -n metal3` releases it";
        assert!(matches!(reported.as_slice(), [one] if one.contains(command)), "{reported:?}");

        // The reservation is over: its Cluster is proven to be gone.
        let reported = events(lab, "BookingEnded");
        assert!(matches!(reported.as_slice(), [one] if one.starts_with("node-8: ")), "{reported:?}");
    }
}

/// O1: references to Secrets of an earlier machine stay on a free host, which nobody may write without a machine; the next
/// machine takes them off, and its node gets nothing of them.
#[tokio::test(start_paused = true)]
async fn the_next_machine_of_a_host_takes_off_what_an_earlier_one_left_there() {
    let taken = take_over(&Namespace::running(StoredAs::V1Beta2).after(&["leftovers"])).await;
    let lab = &taken.lab;
    patch_host(
        lab,
        "node-8",
        serde_json::json!({"metadata": {"annotations": {"capm3.metal3.io/unhealthy": ""}}}),
    )
    .await;
    scale_workers(lab, 3).await;
    rest(lab).await;
    let host = get(lab, "BareMetalHost", "node-9");
    let machine = text(&host, "/spec/consumerRef/name");
    assert!(machine.starts_with("my-cluster-workers-"), "{host}");
    assert_eq!(text(&host, "/spec/userData/name"), machine);
    assert_eq!(text(&host, "/spec/metaData/name"), format!("{machine}-metadata"));
    assert_eq!(text(&host, "/spec/networkData/name"), format!("{machine}-networkdata"));
    assert!(report(lab, 0).machines.iter().all(|machine| machine.ready));
    taken.assert_images_are_written_once();
    // Index 3 and its address were held by a claim of data that is gone.
    assert_eq!(text(&get(lab, "IPAddress", "my-pool-10-0-0-13"), "/spec/claim/name"), "my-data-3-my-pool");
}

/// O4: a host that is called like the data of another machine. Address claims are distinguished by their owner.
#[tokio::test(start_paused = true)]
async fn a_machine_that_hung_on_the_address_claim_of_another_gets_its_own() {
    for stored_as in VERSIONS {
        let namespace = Namespace::with_hosts(stored_as, ["node-0", "node-1", "my-data-0"]);
        let states = [
            "being-provisioned-1-image-is-written",
            "being-provisioned-2-data-is-rendered",
            "being-provisioned-3-address-is-made",
            "hung-on-a-claim-of-another",
        ];
        let taken = take_over(&namespace.after(&states)).await;
        let lab = &taken.lab;
        assert_eq!(
            text(&get(lab, "IPClaim", "my-data-0-my-pool"), "/status/address/name"),
            "my-pool-10-0-0-10"
        );
        assert_eq!(
            text(&get(lab, "IPClaim", "my-data-2-my-pool"), "/status/address/name"),
            "my-pool-10-0-0-12"
        );
        let machine = get(lab, "Metal3Machine", "worker-2");
        assert_eq!(text(&machine, "/spec/providerID"), "metal3://metal3/my-data-0/worker-2");
        assert_eq!(condition(&machine, "Ready").0, "True", "{machine}");
        taken.assert_images_are_written_once();
    }
}

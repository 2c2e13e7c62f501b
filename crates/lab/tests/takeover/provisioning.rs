//! A machine that comes up while the provider is exchanged.

use crate::{
    changes::assert_permitted,
    common::{hosts::*, *},
    namespace::*,
    *,
};

/// The steps, each further back than the one before.
const STEPS: [&str; 5] = [
    "being-provisioned-1-image-is-written",
    "being-provisioned-2-data-is-rendered",
    "being-provisioned-3-address-is-made",
    "being-provisioned-4-claim-is-made",
    "being-provisioned-5-host-is-claimed",
];

/// Names of what belongs to the machine that comes up.
const ITS: [&str; 4] = ["worker-2", "node-2", "my-data-2", "my-pool-10-0-0-12"];

/// At whatever step the Go provider was, the machine gets on with its host, index and address, and with the same bytes.
#[tokio::test(start_paused = true)]
async fn a_machine_that_comes_up_gets_on_with_its_host_index_address_and_bytes() {
    for stored_as in VERSIONS {
        let reference = take_over(&Namespace::running(stored_as)).await.lab;
        for step in 1..=STEPS.len() {
            let taken = take_over(&Namespace::running(stored_as).after(&STEPS[..step])).await;
            let (lab, what) = (&taken.lab, STEPS[step - 1]);
            let machine = get(lab, "Metal3Machine", "worker-2");
            assert_eq!(text(&machine, "/spec/providerID"), "metal3://metal3/node-2/worker-2", "{what}");
            assert_eq!(machine["status"]["initialization"]["provisioned"], true, "{what}");
            assert_eq!(condition(&machine, "Ready").0, "True", "{what}: {machine}");
            assert_eq!(text(&machine, HOST), "metal3/node-2", "{what}");
            let data = get(lab, "Metal3Data", "my-data-2");
            assert_eq!(data["spec"]["index"], 2, "{what}");
            assert_eq!(text(&data, "/spec/claim/name"), "worker-2", "{what}");
            let address = get(lab, "IPAddress", "my-pool-10-0-0-12");
            assert_eq!(text(&address, "/spec/claim/name"), "my-data-2-my-pool", "{what}");
            for (suffix, key) in [("metadata", "metaData"), ("networkdata", "networkData")] {
                let of = |lab: &Lab| secret(lab, &format!("worker-2-{suffix}"), key).unwrap();
                assert_eq!(of(lab), of(&reference), "{what}");
            }
            let images = taken.images("node-2");
            assert_eq!(images.iter().filter(|image| !image.is_null()).count(), 1, "{what}: {images:?}");
            taken.assert_images_are_written_once();
            taken.assert_left_alone(&["node-0", "node-1"], "provisioned");
            taken.assert_left_alone(&["node-9"], "available");
            assert_permitted(&by_version("running", stored_as), &taken.changes_beside(&ITS));
        }
    }
}

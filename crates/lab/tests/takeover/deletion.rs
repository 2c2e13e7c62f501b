//! A machine that goes while the provider is exchanged.

use std::collections::BTreeSet;

use capm3_lab::invariants::leaks;

use crate::{
    changes::assert_permitted,
    common::{hosts::*, *},
    namespace::*,
    *,
};

/// The steps, each further on than the one before.
const STEPS: [&str; 3] = [
    "being-deleted-1-deletion-is-asked-for",
    "being-deleted-2-host-is-cleared",
    "being-deleted-3-data-is-gone",
];

/// Names of what belongs to the machine that goes.
const ITS: [&str; 4] = ["worker-2", "node-2", "my-data-2", "my-pool-10-0-0-12"];

/// At whatever step the Go provider was, the machine goes, its host is as good as new and nothing is left.
#[tokio::test(start_paused = true)]
async fn a_machine_that_goes_leaves_a_clean_host_and_nothing_else() {
    for stored_as in VERSIONS {
        for step in 1..=STEPS.len() {
            let taken = take_over(&Namespace::running(stored_as).after(&STEPS[..step])).await;
            let (lab, what) = (&taken.lab, STEPS[step - 1]);
            for (kind, name) in [
                ("Machine", "worker-2"),
                ("Metal3Machine", "worker-2"),
                ("Metal3DataClaim", "worker-2"),
                ("Metal3Data", "my-data-2"),
                ("IPClaim", "my-data-2-my-pool"),
                ("IPAddress", "my-pool-10-0-0-12"),
                ("Secret", "worker-2-networkdata"),
            ] {
                assert!(lab.object(kind, name).is_none(), "{what}: {kind} {name}");
            }
            assert_blank(lab, "node-2");
            let bmc = get(lab, "Secret", "node-2-bmc");
            assert_eq!(text(&bmc, "/metadata/labels/cluster.x-k8s.io~1cluster-name"), "", "{what}");
            let given = BTreeSet::from([0, 1, 2, 9].map(|n| format!("node-{n}-bmc")));
            assert_eq!(leaks(&lab.server().objects(None), &given), Vec::<String>::new(), "{what}");
            assert_eq!(lab.objects("Metal3Machine").len(), 2, "{what}");
            taken.assert_images_are_written_once();
            taken.assert_left_alone(&["node-0", "node-1"], "provisioned");
            assert_permitted(&by_version("running", stored_as), &taken.changes_beside(&ITS));
        }
    }
}

//! A Cluster that is paused, and one that was moved.

use crate::{
    changes::assert_permitted,
    common::{hosts::*, *},
    namespace::*,
    *,
};

/// The annotation by which a host is paused.
const PAUSED: &str = "/metadata/annotations/baremetalhost.metal3.io~1paused";

/// Nothing of a paused Cluster is written but what is listed: the same controllers may go back to the Go provider. Once the
/// pause ends, the hosts go on where they were.
#[tokio::test(start_paused = true)]
async fn a_paused_cluster_is_left_alone_until_the_pause_ends() {
    for stored_as in VERSIONS {
        let states = ["paused-1-cluster", "paused-2-each-machine"];
        let taken = take_over(&Namespace::running(stored_as).after(&states)).await;
        assert_permitted(&by_version("paused", stored_as), &taken.changes());
        pause_cluster(&taken.lab, false).await;
        rest(&taken.lab).await;
        taken.assert_left_alone(&["node-0", "node-1", "node-2"], "provisioned");
        assert_goes_on(&taken.lab);
    }
}

/// All uids are new and all status is gone, but for what the hosts carry in an annotation.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_moved_goes_on_where_it_was() {
    for stored_as in VERSIONS {
        let states = ["paused-2-each-machine", "moved-1-cluster", "moved-2-each-machine"];
        let taken = take_over(&Namespace::running(stored_as).after(&states)).await;
        assert_goes_on(&taken.lab);
        taken.assert_images_are_written_once();
        for host in ["node-0", "node-1", "node-2"] {
            assert_eq!(taken.images(host).len(), 1, "{host}");
            assert_eq!(taken.states(host), ["provisioned"], "{host}");
            let host = get(&taken.lab, "BareMetalHost", host);
            assert_eq!(text(&host, "/status/operationHistory/provision/start"), "2025-12-01T08:31:00Z");
        }
        assert_permitted(&by_version("moved", stored_as), &taken.changes());
    }
}

/// Every machine is ready on its host with its index and address, and its host is not paused.
fn assert_goes_on(lab: &Lab) {
    for (n, machine) in ["cp-0", "worker-1", "worker-2"].into_iter().enumerate() {
        let of_machine = get(lab, "Metal3Machine", machine);
        assert_eq!(condition(&of_machine, "Ready").0, "True", "{of_machine}");
        assert_eq!(of_machine["status"]["initialization"]["provisioned"], true, "{machine}");
        assert_eq!(text(&of_machine, HOST), format!("metal3/node-{n}"));
        assert_eq!(text(&of_machine, "/status/renderedData/name"), format!("my-data-{n}"));
        let host = get(lab, "BareMetalHost", &format!("node-{n}"));
        assert_eq!(host.pointer(PAUSED), None, "{machine}");
        let claim = get(lab, "IPClaim", &format!("my-data-{n}-my-pool"));
        assert_eq!(text(&claim, "/status/address/name"), format!("my-pool-10-0-0-1{n}"));
    }
}

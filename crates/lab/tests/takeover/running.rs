//! A cluster that runs.

use std::collections::BTreeSet;

use capm3_lab::invariants::leaks;

use crate::{
    changes::assert_permitted,
    common::{hosts::*, *},
    namespace::*,
    *,
};

/// An upgrade over several releases, from one that stored v1beta1 (with the owners of its time) and from one that stored v1beta2:
/// every node keeps running on its host with its index, address and rendered data; nothing is written but what is listed.
#[tokio::test(start_paused = true)]
async fn to150_running_machines_are_taken_over_and_nothing_is_provisioned_indexed_or_rendered_again() {
    for stored_as in VERSIONS {
        let taken = take_over(&Namespace::running(stored_as)).await;
        taken.assert_left_alone(&["node-0", "node-1", "node-2"], "provisioned");
        taken.assert_left_alone(&["node-9"], "available");
        assert_permitted(&by_version("running", stored_as), &taken.changes());
    }
}

/// What was stored in the older version is stored in the newer one afterwards, and the CRDs say so.
#[tokio::test(start_paused = true)]
async fn objects_of_the_older_version_are_stored_in_the_newer_one() {
    let lab = take_over(&Namespace::running(StoredAs::V1Beta1)).await.lab;
    let own = |object: &Value| text(object, "/apiVersion").starts_with("infrastructure.cluster.x-k8s.io/");
    let mut objects = lab.server().objects(None);
    objects.retain(|object| own(object.as_ref()));
    assert!(objects.len() >= 13, "{}", objects.len());
    for object in objects {
        assert_eq!(object["apiVersion"], "infrastructure.cluster.x-k8s.io/v1beta2", "{object}");
    }
    let mut crds = lab.objects("CustomResourceDefinition");
    crds.retain(|crd| text(crd, "/spec/group") == "infrastructure.cluster.x-k8s.io");
    assert_eq!(crds.len(), 9);
    for crd in crds {
        assert_eq!(crd["status"]["storedVersions"], serde_json::json!(["v1beta2"]), "{}", name(&crd));
    }
}

/// Nothing is written while nothing happens; then the cluster grows with the next index and address, and goes without a trace.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_taken_over_rests_grows_and_goes() {
    for stored_as in VERSIONS {
        let taken = take_over(&Namespace::running(stored_as)).await;
        let lab = &taken.lab;
        let at_rest = changes::objects(lab);
        tokio::time::sleep(Duration::from_secs(4000)).await;
        assert_eq!(changes::changes(&at_rest, &changes::objects(lab)), Vec::<String>::new());

        scale_workers(lab, 3).await;
        rest(lab).await;
        let data = get(lab, "Metal3Data", "my-data-3");
        assert_eq!(
            text(&get(lab, "IPAddress", "my-pool-10-0-0-13"), "/spec/claim/name"),
            "my-data-3-my-pool"
        );
        let claim = text(&data, "/spec/claim/name");
        assert_eq!(text(&get(lab, "BareMetalHost", "node-9"), "/spec/consumerRef/name"), claim);
        taken.assert_left_alone(&["node-0", "node-1", "node-2"], "provisioned");

        delete_cluster(lab).await;
        rest(lab).await;
        for host in ["node-0", "node-1", "node-2", "node-9"] {
            assert_blank(lab, host);
        }
        let given = BTreeSet::from([0, 1, 2, 9].map(|n| format!("node-{n}-bmc")));
        assert_eq!(leaks(&lab.server().objects(None), &given), Vec::<String>::new());
        taken.assert_images_are_written_once();
    }
}

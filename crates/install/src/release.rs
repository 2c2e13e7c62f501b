//! What a clusterctl release has beside the components: which contract a version fulfils, and cluster templates.

use serde_json::{Value, json};

use crate::files::Files;

/// The oldest and the newest minor version of the Go provider, whose numbers an installation may carry when it is replaced.
const OLD: std::ops::RangeInclusive<u32> = 1..=12;
const CURRENT: [u32; 2] = [13, 14];

/// The versions and the contract of each. clusterctl upgrades only between series that are listed here.
pub fn metadata() -> Value {
    let series = |major: u32, minor: u32, contract: &str| json!({"major": major, "minor": minor, "contract": contract});
    let mut all = vec![series(0, 1, "v1beta2")];
    all.extend(CURRENT.iter().rev().map(|minor| series(1, *minor, "v1beta2")));
    all.extend(OLD.rev().map(|minor| series(1, minor, "v1beta1")));
    json!({
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3",
        "kind": "Metadata",
        "releaseSeries": all,
    })
}

/// Cluster templates, the ClusterClass and an example of the variables.
pub fn templates() -> Files {
    let files = [
        ("cluster-template.yaml", include_str!("../templates/cluster-template.yaml")),
        ("cluster-template-three-racks.yaml", include_str!("../templates/cluster-template-three-racks.yaml")),
        ("cluster-template-topology.yaml", include_str!("../templates/cluster-template-topology.yaml")),
        ("clusterclass-metal3.yaml", include_str!("../templates/clusterclass-metal3.yaml")),
        ("example_variables.rc", include_str!("../templates/example_variables.rc")),
    ];
    files.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
}

//! The example that is in the binary, so that `capm3 up` needs no files.

use capm3_engine::manifests::{Reading, parse};

const THREE_RACKS: [(&str, &str); 7] = [
    ("00-namespace.yaml", include_str!("../../../../examples/three-racks/00-namespace.yaml")),
    ("10-cluster.yaml", include_str!("../../../../examples/three-racks/10-cluster.yaml")),
    ("20-hosts.yaml", include_str!("../../../../examples/three-racks/20-hosts.yaml")),
    ("30-data-templates.yaml", include_str!("../../../../examples/three-racks/30-data-templates.yaml")),
    ("40-ip-pools.yaml", include_str!("../../../../examples/three-racks/40-ip-pools.yaml")),
    ("50-control-plane.yaml", include_str!("../../../../examples/three-racks/50-control-plane.yaml")),
    ("60-workers.yaml", include_str!("../../../../examples/three-racks/60-workers.yaml")),
];

/// The manifests of `examples/three-racks`.
pub fn three_racks() -> Reading {
    let mut all = Reading::default();
    for (file, text) in THREE_RACKS {
        let more = parse(file, text);
        all.documents.extend(more.documents);
        all.problems.extend(more.problems);
    }
    all
}

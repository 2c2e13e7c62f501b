//! How much memory a Node takes that is kept.

use capm3_api::neighbours::Node;

/// Places in the store and its indexes.
const PLACES: usize = 250;

/// A map with a few labels is as large as one with eleven.
const LABELS: usize = 560;

/// What the Node takes, with everything that is kept for it. Rather too much than too little.
pub(super) fn weigh(node: &Node) -> usize {
    let meta = &node.metadata;
    let words = [&meta.name, &meta.uid, &meta.resource_version, &node.spec.provider_id];
    let words = words.into_iter().flatten().map(String::capacity);
    let labels = meta.labels.iter().flatten().map(|(name, value)| name.capacity() + value.capacity());
    let finalizers = meta.finalizers.iter().flatten().map(|it| it.capacity() + size_of::<String>());
    size_of::<Node>() + PLACES + LABELS + words.chain(labels).chain(finalizers).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use capm3_engine::client::limits::PoolLimits;
    use serde_json::json;

    use super::*;

    fn node(bytes: usize) -> Node {
        let text = "x".repeat(bytes);
        let labels = json!({"metal3.io/uuid": text, "kubernetes.io/hostname": text, "other": text});
        let metadata = json!({"name": text, "uid": text, "resourceVersion": text, "labels": labels, "finalizers": [text]});
        serde_json::from_value(json!({"metadata": metadata, "spec": {"providerID": text}})).unwrap()
    }

    #[test]
    fn every_word_that_is_kept_counts() {
        assert_eq!(weigh(&node(100)) - weigh(&node(10)), 7 * 90);
    }

    #[test]
    fn a_cluster_of_five_thousand_nodes_fits_beside_others() {
        let pool = PoolLimits::KEPT;
        assert!(5000 * weigh(&node(40)) < pool.total / pool.divisor, "{}", weigh(&node(40)));
    }
}

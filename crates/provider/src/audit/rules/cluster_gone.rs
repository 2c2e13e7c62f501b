//! An object is of a Cluster that does not exist.

use capm3_api::{
    ipam::IpPool, metadata::MetadataExt, neighbours::Cluster, v1beta2::Metal3Machine, vocabulary::label,
};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View, beside};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C064",
    severity: Severity::Warning,
    title: "object of a Cluster that does not exist",
    why: "A machine or a pool names a Cluster that is gone. The provider waits for the Cluster and does nothing for the \
          object, not even its deletion in full. Data templates are not meant: several Clusters may share one.",
    repair: "After a restore, bring the Cluster back. Otherwise delete the object.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    let machines = view.not_deleting::<Metal3Machine>();
    let machines = machines.iter().filter_map(|machine| {
        report(
            view,
            machine.as_ref(),
            "metadata.labels[cluster.x-k8s.io/cluster-name]",
            machine.metadata.label(label::CLUSTER_NAME)?,
        )
    });
    let pools = view.not_deleting::<IpPool>();
    let pools = pools.iter().filter_map(|pool| {
        report(view, pool.as_ref(), "spec.clusterName", pool.spec.cluster_name.as_deref()?)
    });
    machines.chain(pools).collect()
}

fn report<K: Object>(view: &View<'_>, object: &K, field: &str, name: &str) -> Option<Finding> {
    let cluster = beside(object.meta(), name);
    if name.is_empty() || !view.is_gone::<Cluster>(&cluster) {
        return None;
    }
    let finding = Finding::on(object, format!("is of Cluster {cluster}, which does not exist"))
        .fact(object, field, name)
        .absent::<Cluster>(&cluster);
    Some(
        finding
            .repair(Repair::person("bring the Cluster back, or delete the object", [Step::delete(object)])),
    )
}

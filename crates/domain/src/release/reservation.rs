//! Reserves a released host for the next machine of the same owner.

use capm3_api::{
    metadata::{MetadataExt, group_of},
    neighbours::{BareMetalHost, CAPI_API_VERSION, CAPI_GROUP, Cluster, ConsumerRef},
    v1beta2::Metal3MachineTemplate,
    vocabulary::label,
};
use serde_json::{Value, json};

/// A reservation: the label that the next machine looks for, and the Cluster that holds the host meanwhile, so that others
/// see it as taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Value of the node-reuse label.
    pub label: String,
    /// Namespace of the Cluster.
    pub cluster_namespace: String,
    /// Name of the Cluster.
    pub cluster_name: String,
}

impl Reservation {
    /// The Cluster as consumer of the host.
    pub(super) fn consumer(&self) -> Value {
        json!({
            "apiVersion": CAPI_API_VERSION,
            "kind": Cluster::API.kind,
            "name": self.cluster_name,
            "namespace": self.cluster_namespace,
        })
    }
}

/// Whether a released host is reserved: the template asks for it, the Cluster stays, and the owner is known. Whatever is
/// missing means no reservation, never a release that fails.
///
/// ```
/// use capm3_domain::release::reservation;
///
/// let cluster = serde_json::from_str(r#"{"metadata": {"name": "c", "namespace": "ns"}}"#).unwrap();
/// let template = serde_json::from_str(r#"{"spec": {"nodeReuse": true}}"#).unwrap();
/// let reservation = reservation(Some(&cluster), Some(&template), Some("cp-kcp".into())).unwrap();
/// assert_eq!((reservation.label.as_str(), reservation.cluster_name.as_str()), ("cp-kcp", "c"));
/// ```
pub fn reservation(
    cluster: Option<&Cluster>,
    template: Option<&Metal3MachineTemplate>,
    reuse_label: Option<String>,
) -> Option<Reservation> {
    let cluster = cluster.filter(|cluster| !cluster.metadata.is_deleting())?;
    let wanted = template.is_some_and(|template| template.spec.node_reuse == Some(true));
    Some(Reservation {
        label: reuse_label.filter(|_| wanted)?,
        cluster_namespace: cluster.metadata.namespace_str().to_owned(),
        cluster_name: cluster.metadata.name_str().to_owned(),
    })
}

/// Whether a released host is lost to its owner: it was to be kept, and nobody can tell for whom. Worth a word, because
/// the data on it was meant to be used again.
///
/// ```
/// use capm3_domain::release::is_reservation_lost;
///
/// let cluster = serde_json::from_str(r#"{"metadata": {"name": "c", "namespace": "ns"}}"#).unwrap();
/// let template = serde_json::from_str(r#"{"spec": {"nodeReuse": true}}"#).unwrap();
/// assert!(is_reservation_lost(Some(&cluster), Some(&template), None));
/// assert!(!is_reservation_lost(Some(&cluster), Some(&template), Some("cp-kcp")));
/// ```
pub fn is_reservation_lost(
    cluster: Option<&Cluster>,
    template: Option<&Metal3MachineTemplate>,
    reuse_label: Option<&str>,
) -> bool {
    // With any label at all, is there a reservation?
    reuse_label.is_none() && reservation(cluster, template, Some(String::new())).is_some()
}

/// The merge patch that ends a reservation because its owner is gone; none if the host is not reserved. A consumer other than
/// a Cluster is left alone, whatever the label says.
///
/// ```
/// use capm3_domain::release::remove_reservation;
///
/// let host = serde_json::from_str(r#"{"metadata": {"labels": {"infrastructure.cluster.x-k8s.io/node-reuse": "md-a"}}}"#).unwrap();
/// assert!(remove_reservation(&host).is_some());
/// ```
pub fn remove_reservation(host: &BareMetalHost) -> Option<Value> {
    host.metadata.label(label::NODE_REUSE)?;
    let labels = json!({label::NODE_REUSE: null});
    match &host.spec.consumer_ref {
        None => Some(json!({"metadata": {"labels": labels}})),
        Some(consumer) if is_cluster(consumer) => {
            Some(json!({"metadata": {"labels": labels}, "spec": {"consumerRef": null}}))
        }
        Some(_) => None,
    }
}

fn is_cluster(consumer: &ConsumerRef) -> bool {
    let group = consumer.api_version.as_deref().map(group_of);
    consumer.kind.as_deref() == Some(Cluster::API.kind) && group == Some(CAPI_GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(deleting: bool) -> Cluster {
        let time = deleting.then_some("2026-01-02T03:04:05Z");
        serde_json::from_value(
            json!({"metadata": {"name": "c", "namespace": "ns", "deletionTimestamp": time}}),
        )
        .unwrap()
    }

    fn template(node_reuse: Option<bool>) -> Metal3MachineTemplate {
        serde_json::from_value(json!({"spec": {"nodeReuse": node_reuse}})).unwrap()
    }

    #[test]
    fn a_host_is_reserved_only_if_all_is_known_and_wanted() {
        let (stays, goes) = (cluster(false), cluster(true));
        let (on, off, unset) = (template(Some(true)), template(Some(false)), template(None));
        let table = [
            (Some(&stays), Some(&on), Some("md-a"), true),
            (Some(&stays), Some(&off), Some("md-a"), false),
            (Some(&stays), Some(&unset), Some("md-a"), false),
            (Some(&stays), None, Some("md-a"), false),
            (Some(&stays), Some(&on), None, false),
            (Some(&goes), Some(&on), Some("md-a"), false),
            (None, Some(&on), Some("md-a"), false),
        ];
        for (cluster, template, label, reserved) in table {
            assert_eq!(reservation(cluster, template, label.map(str::to_owned)).is_some(), reserved);
            let is_lost = is_reservation_lost(cluster, template, label);
            let is_wanted = cluster == Some(&stays) && template == Some(&on);
            assert_eq!(is_lost, is_wanted && label.is_none());
        }
    }

    #[test]
    fn a_reservation_ends_without_touching_other_consumers() {
        let host = |consumer: Value| {
            let host = json!({"metadata": {"labels": {label::NODE_REUSE: "md-a"}}, "spec": {"consumerRef": consumer}});
            remove_reservation(&serde_json::from_value(host).unwrap())
        };
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "name": "c"});
        let machine = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine", "name": "m"});
        let labels = json!({label::NODE_REUSE: null});
        assert_eq!(
            host(cluster),
            Some(json!({"metadata": {"labels": labels}, "spec": {"consumerRef": null}}))
        );
        assert_eq!(host(json!(null)), Some(json!({"metadata": {"labels": labels}})));
        assert_eq!(host(machine), None);
        assert_eq!(remove_reservation(&BareMetalHost::default()), None);
    }
}

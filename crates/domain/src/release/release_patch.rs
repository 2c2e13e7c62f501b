//! The last patch of a release: after it the host is no longer the machine's.

use capm3_api::{
    metadata::{MetadataExt, group_of},
    neighbours::BareMetalHost,
    v1beta2::{GROUP, Metal3Machine},
    vocabulary::{annotation, label},
};
use serde_json::{Map, Value, json};

use super::Reservation;

/// The merge patch that releases a host, or hands it to the Cluster that books it. Takes off what the provider put
/// there: the cluster label, its own pause, the mark that blocks a move, and owner references of older releases, which
/// would let the garbage collector delete the host together with the machine.
///
/// ```
/// use capm3_domain::release::release_patch;
///
/// let machine = serde_json::from_str(r#"{"metadata": {"name": "m", "namespace": "ns"}}"#).unwrap();
/// let host = serde_json::from_str(r#"{"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "c"}}}"#).unwrap();
/// assert_eq!(
///     release_patch(&machine, &host, Some("c"), None),
///     serde_json::json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": null}}, "spec": {"consumerRef": null}})
/// );
/// ```
pub fn release_patch(
    machine: &Metal3Machine,
    host: &BareMetalHost,
    cluster_name: Option<&str>,
    reservation: Option<&Reservation>,
) -> Value {
    let mut metadata = Map::new();
    let mut put = |member: &str, value: Map<String, Value>| {
        if !value.is_empty() {
            metadata.insert(member.to_owned(), value.into());
        }
    };
    put("labels", labels(machine, host, cluster_name, reservation));
    put("annotations", annotations(host));
    if let Some(owners) = owners_without_machines(host) {
        metadata.insert("ownerReferences".to_owned(), owners);
    }
    let consumer = reservation.map_or(Value::Null, Reservation::consumer);
    let mut patch = json!({"spec": {"consumerRef": consumer}});
    if let Some(members) = patch.as_object_mut().filter(|_| !metadata.is_empty()) {
        members.insert("metadata".to_owned(), metadata.into());
    }
    patch
}

fn labels(
    machine: &Metal3Machine,
    host: &BareMetalHost,
    cluster_name: Option<&str>,
    reservation: Option<&Reservation>,
) -> Map<String, Value> {
    let mut labels = Map::new();
    let known = cluster_name.or_else(|| machine.metadata.label(label::CLUSTER_NAME));
    let present = host.metadata.label(label::CLUSTER_NAME);
    // The host is this machine's, so with no name to compare the label is ours too.
    if present.is_some() && (known.is_none() || known == present) {
        labels.insert(label::CLUSTER_NAME.to_owned(), Value::Null);
    }
    match reservation {
        Some(reservation) => {
            labels.insert(label::NODE_REUSE.to_owned(), reservation.label.clone().into());
        }
        None if host.metadata.label(label::NODE_REUSE).is_some() => {
            labels.insert(label::NODE_REUSE.to_owned(), Value::Null);
        }
        None => {}
    }
    labels
}

fn annotations(host: &BareMetalHost) -> Map<String, Value> {
    let ours = host.metadata.annotation(annotation::HOST_PAUSED) == Some(annotation::HOST_PAUSED_BY_US);
    let blocked = host.metadata.annotation(annotation::BLOCK_MOVE).is_some();
    [(annotation::HOST_PAUSED, ours), (annotation::BLOCK_MOVE, blocked)]
        .into_iter()
        .filter(|(_, remove)| *remove)
        .map(|(key, _)| (key.to_owned(), Value::Null))
        .collect()
}

/// The owner references of a host without Metal3Machines, which older releases wrote there; none if there is nothing to
/// remove. With such an owner the garbage collector would delete the host together with the machine.
pub fn owners_without_machines(host: &BareMetalHost) -> Option<Value> {
    let owners = host.metadata.owner_references.as_ref()?;
    let kept: Vec<_> = owners
        .iter()
        .filter(|owner| owner.kind != Metal3Machine::API.kind || group_of(&owner.api_version) != GROUP)
        .collect();
    (kept.len() < owners.len()).then(|| json!(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Metal3Machine {
        serde_json::from_value(json!({"metadata": {"name": "m", "namespace": "ns"}})).unwrap()
    }

    fn host(metadata: Value) -> BareMetalHost {
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn a_bare_host_only_loses_its_consumer() {
        let patch = release_patch(&machine(), &host(json!({"name": "h"})), Some("c"), None);
        assert_eq!(patch, json!({"spec": {"consumerRef": null}}));
    }

    #[test]
    fn what_the_provider_put_there_goes_and_the_rest_stays() {
        let host = host(json!({
            "labels": {label::CLUSTER_NAME: "c", "size": "l", label::FAILURE_DOMAIN: "a"},
            "annotations": {annotation::HOST_PAUSED: annotation::HOST_PAUSED_BY_US, annotation::BLOCK_MOVE: "",
                            annotation::UNHEALTHY: ""},
            "ownerReferences": [
                {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine", "name": "m", "uid": "1"},
                {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "2"}
            ]
        }));
        assert_eq!(
            release_patch(&machine(), &host, Some("c"), None),
            json!({
                "metadata": {
                    "labels": {label::CLUSTER_NAME: null},
                    "annotations": {annotation::HOST_PAUSED: null, annotation::BLOCK_MOVE: null},
                    "ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "2"}]
                },
                "spec": {"consumerRef": null}
            })
        );
    }

    #[test]
    fn a_pause_of_the_user_and_a_label_of_another_cluster_stay() {
        let host = host(json!({
            "labels": {label::CLUSTER_NAME: "other"}, "annotations": {annotation::HOST_PAUSED: ""}
        }));
        assert_eq!(release_patch(&machine(), &host, Some("c"), None), json!({"spec": {"consumerRef": null}}));
    }

    #[test]
    fn the_cluster_label_goes_though_machine_and_cluster_are_gone() {
        let host = host(json!({"labels": {label::CLUSTER_NAME: "c"}}));
        let patch = release_patch(&machine(), &host, None, None);
        assert_eq!(patch["metadata"]["labels"], json!({label::CLUSTER_NAME: null}));
    }

    #[test]
    fn a_reserved_host_goes_to_the_cluster_with_the_label_of_its_owner() {
        let reservation =
            Reservation { label: "md-a".into(), cluster_namespace: "ns".into(), cluster_name: "c".into() };
        let patch = release_patch(&machine(), &host(json!({})), Some("c"), Some(&reservation));
        assert_eq!(
            patch,
            json!({
                "metadata": {"labels": {label::NODE_REUSE: "md-a"}},
                "spec": {"consumerRef": {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "namespace": "ns"}}
            })
        );
    }
}

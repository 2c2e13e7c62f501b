//! What one host is to one machine, without looking at other hosts.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, host_state, label},
};

use super::{Consumer, HostRequest, Rejection};

/// What one host is to one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eligibility {
    /// It is the machine's host already.
    Own,
    /// It is reserved for the machine's owner and can be taken.
    Reserved,
    /// It is reserved for the machine's owner and not ready yet; its state.
    ReservedLater(String),
    /// Anybody may take it.
    Free,
    /// The machine cannot have it.
    Rejected(Rejection),
}

/// Judges one host. What lasts (labels, reservations) is reported before what passes (errors, state), so that people read
/// the reason which would still hold after the others are gone.
///
/// ```
/// use capm3_api::{neighbours::{BareMetalHost, Machine}, v1beta2::Metal3Machine};
/// use capm3_domain::host::{HostRequest, Rejection, Eligibility, eligibility};
///
/// let (metal3_machine, machine) = (Metal3Machine::default(), Machine::default());
/// let request = HostRequest::new(&metal3_machine, &machine, None);
/// let mut host = BareMetalHost::default();
/// host.status.provisioning.state = Some("inspecting".into());
/// assert_eq!(eligibility(&request, &host), Eligibility::Rejected(Rejection::NotAvailable("inspecting".into())));
/// host.status.provisioning.state = Some("available".into());
/// assert_eq!(eligibility(&request, &host), Eligibility::Free);
/// ```
pub fn eligibility(request: &HostRequest<'_>, host: &BareMetalHost) -> Eligibility {
    if is_own(request, host) {
        return Eligibility::Own;
    }
    let rejection = mismatch(request, host).or_else(|| claimed(request, host)).or_else(|| unfit(host));
    if let Some(rejection) = rejection {
        return Eligibility::Rejected(rejection);
    }
    match (is_reserved(host), is_available(host)) {
        (true, true) => Eligibility::Reserved,
        (true, false) => Eligibility::ReservedLater(host.state().to_owned()),
        (false, true) => Eligibility::Free,
        (false, false) => Eligibility::Rejected(Rejection::NotAvailable(host.state().to_owned())),
    }
}

/// Whether some machine could take the host now, going by the host alone: fit, available, and free or reserved.
pub fn could_be_taken(host: &BareMetalHost) -> bool {
    let free = host.spec.consumer_ref.is_none() || is_reserved(host);
    free && unfit(host).is_none() && is_available(host)
}

pub(super) fn is_reserved(host: &BareMetalHost) -> bool {
    host.metadata.label(label::NODE_REUSE).is_some()
}

pub(super) fn is_available(host: &BareMetalHost) -> bool {
    matches!(host.state(), host_state::AVAILABLE | host_state::READY)
}

pub(super) fn is_own(request: &HostRequest<'_>, host: &BareMetalHost) -> bool {
    let consumer = host.spec.consumer_ref.as_ref();
    request.other_owner(host.metadata.name_str()).is_none()
        && consumer.is_some_and(|consumer| Consumer::is_machine(consumer, request.machine))
}

/// A selector that cannot be used matches nothing here; the choice reports it before any host is judged.
fn mismatch(request: &HostRequest<'_>, host: &BareMetalHost) -> Option<Rejection> {
    let Ok(selector) = &request.selector else {
        return Some(Rejection::LabelMismatch {
            requirement: "hostSelector is not valid".into(),
            found: None,
        });
    };
    let requirement = selector.mismatch(host.metadata.labels.as_ref())?;
    Some(Rejection::LabelMismatch {
        requirement: requirement.to_string(),
        found: host.metadata.label(requirement.key()).map(str::to_owned),
    })
}

/// Whether somebody else has or reserves the host. A reservation comes with the Cluster as consumer; any other consumer
/// keeps what it has, whatever the label says.
fn claimed(request: &HostRequest<'_>, host: &BareMetalHost) -> Option<Rejection> {
    if let Some(owner) = request.other_owner(host.metadata.name_str()) {
        return Some(Rejection::ConsumedBy(Consumer::machine(host.metadata.namespace_str(), owner)));
    }
    let reserved = host.metadata.label(label::NODE_REUSE);
    if let Some(reservation) = reserved
        && (reservation.is_empty() || request.reuse_label.as_deref() != Some(reservation))
    {
        return Some(Rejection::ReservedForOther(reservation.to_owned()));
    }
    let consumer = host.spec.consumer_ref.as_ref()?;
    let namespace = request.machine.metadata.namespace_str();
    let own_cluster = Consumer::is_cluster(consumer, namespace, request.cluster_name);
    (reserved.is_none() || !own_cluster).then(|| Rejection::ConsumedBy(consumer.into()))
}

pub(super) fn unfit(host: &BareMetalHost) -> Option<Rejection> {
    let annotated = |key: &str| host.metadata.annotation(key).is_some();
    let operational = host.status.operational_status.as_deref().unwrap_or_default();
    if host.metadata.is_deleting() {
        return Some(Rejection::Deleting);
    }
    if let Some(message) = error_of(host) {
        return Some(Rejection::InError(message));
    }
    let tests = [
        (annotated(annotation::HOST_PAUSED), Rejection::Paused),
        (annotated(annotation::UNHEALTHY), Rejection::Unhealthy(annotation::UNHEALTHY)),
        (annotated(annotation::UNHEALTHY_OLD), Rejection::Unhealthy(annotation::UNHEALTHY_OLD)),
        (annotated(annotation::HOST_DETACHED) || operational == "detached", Rejection::Detached),
        (operational == "servicing", Rejection::Servicing),
        (
            host.spec.externally_provisioned || host.state() == host_state::EXTERNALLY_PROVISIONED,
            Rejection::ExternallyProvisioned,
        ),
        (has_image(host), Rejection::ForeignImage),
    ];
    let found = tests.into_iter().find(|(applies, _)| *applies);
    found.map(|(_, rejection)| rejection)
}

/// The error of a host: a message, or the operational status. A type of error alone may be left from the past.
fn error_of(host: &BareMetalHost) -> Option<String> {
    let message = host.status.error_message.as_deref().unwrap_or_default();
    if !message.is_empty() {
        return Some(message.to_owned());
    }
    let in_error = host.status.operational_status.as_deref() == Some("error");
    let kind = host.status.error_type.as_deref().filter(|kind| !kind.is_empty());
    in_error.then(|| kind.unwrap_or("no message").to_owned())
}

/// Whether something is to be put on the disk.
pub fn has_image(host: &BareMetalHost) -> bool {
    let filled = |text: &Option<Box<str>>| text.as_ref().is_some_and(|text| !text.is_empty());
    let image = host.spec.image.as_ref().is_some_and(|image| filled(&image.url));
    let deploy = host.spec.custom_deploy.as_ref();
    image || deploy.is_some_and(|deploy| filled(&deploy.method))
}

#[cfg(test)]
mod tests {
    use capm3_api::{neighbours::Machine, v1beta2::Metal3Machine};

    use super::*;

    fn judged(host: serde_json::Value) -> Eligibility {
        let machine: Metal3Machine =
            serde_json::from_value(serde_json::json!({"metadata": {"name": "m", "namespace": "ns"}}))
                .unwrap();
        let capi: Machine =
            serde_json::from_value(serde_json::json!({"spec": {"clusterName": "c1"}})).unwrap();
        let request = HostRequest::new(&machine, &capi, Some("cp-kcp".into()));
        eligibility(&request, &serde_json::from_value(host).unwrap())
    }

    fn with(mut host: serde_json::Value, state: &str) -> serde_json::Value {
        host["status"]["provisioning"] = serde_json::json!({"state": state});
        host
    }

    #[test]
    fn every_reason_to_leave_a_host_alone_is_named() {
        let note = |key: &str| serde_json::json!({"metadata": {"annotations": {key: ""}}});
        let table = [
            (
                serde_json::json!({"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z"}}),
                Rejection::Deleting,
            ),
            (serde_json::json!({"status": {"errorMessage": "boom"}}), Rejection::InError("boom".into())),
            (
                serde_json::json!({"status": {"operationalStatus": "error", "errorType": "power management error"}}),
                Rejection::InError("power management error".into()),
            ),
            (note("baremetalhost.metal3.io/paused"), Rejection::Paused),
            (note("capm3.metal3.io/unhealthy"), Rejection::Unhealthy(annotation::UNHEALTHY)),
            (note("capi.metal3.io/unhealthy"), Rejection::Unhealthy(annotation::UNHEALTHY_OLD)),
            (note("baremetalhost.metal3.io/detached"), Rejection::Detached),
            (serde_json::json!({"status": {"operationalStatus": "detached"}}), Rejection::Detached),
            (serde_json::json!({"status": {"operationalStatus": "servicing"}}), Rejection::Servicing),
            (serde_json::json!({"spec": {"externallyProvisioned": true}}), Rejection::ExternallyProvisioned),
            (serde_json::json!({"spec": {"image": {"url": "http://x/y"}}}), Rejection::ForeignImage),
            (serde_json::json!({"spec": {"customDeploy": {"method": "install"}}}), Rejection::ForeignImage),
            (
                serde_json::json!({"metadata": {"labels": {label::NODE_REUSE: "cp-other"}}}),
                Rejection::ReservedForOther("cp-other".into()),
            ),
            (
                serde_json::json!({"metadata": {"labels": {label::NODE_REUSE: ""}}}),
                Rejection::ReservedForOther(String::new()),
            ),
        ];
        for (host, rejection) in table {
            let host = with(host, "available");
            assert_eq!(judged(host.clone()), Eligibility::Rejected(rejection), "{host}");
        }
    }

    #[test]
    fn a_type_of_error_alone_does_not_count() {
        let host =
            serde_json::json!({"status": {"errorType": "power management error", "operationalStatus": "OK"}});
        assert_eq!(judged(with(host, "ready")), Eligibility::Free);
    }

    #[test]
    fn a_reserved_host_belongs_to_nobody_or_to_the_own_cluster() {
        let reserved = |consumer: serde_json::Value| {
            with(
                serde_json::json!({
                    "metadata": {"labels": {label::NODE_REUSE: "cp-kcp"}},
                    "spec": {"consumerRef": consumer}
                }),
                "available",
            )
        };
        let consumer = |api: &str, kind: &str, name: &str| serde_json::json!({"apiVersion": api, "kind": kind, "name": name, "namespace": "ns"});
        let cluster = "cluster.x-k8s.io/v1beta1";
        assert_eq!(judged(reserved(serde_json::Value::Null)), Eligibility::Reserved);
        assert_eq!(judged(reserved(consumer(cluster, "Cluster", "c1"))), Eligibility::Reserved);
        for (api, kind, name) in [
            (cluster, "Cluster", "c2"),
            ("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Machine", "other"),
        ] {
            let found = judged(reserved(consumer(api, kind, name)));
            assert!(
                matches!(found, Eligibility::Rejected(Rejection::ConsumedBy(_))),
                "{kind} {name}: {found:?}"
            );
        }
    }

    #[test]
    fn a_host_that_another_machine_knows_as_its_own_is_rejected_whomever_it_names() {
        let of_others = [("h".to_owned(), "w".to_owned())].into();
        let machine: Metal3Machine =
            serde_json::from_value(serde_json::json!({"metadata": {"name": "m", "namespace": "ns"}}))
                .unwrap();
        let capi = Machine::default();
        let request = HostRequest::new(&machine, &capi, None).sparing(&of_others);
        let own = super::super::consumer_ref(&machine);
        for consumer in [None, Some(own)] {
            for (name, is_rejected) in [("h", true), ("other", false)] {
                let host = serde_json::json!({"metadata": {"name": name, "namespace": "ns"},
                    "spec": {"consumerRef": consumer}});
                let found = eligibility(&request, &serde_json::from_value(with(host, "available")).unwrap());
                let rejected = Eligibility::Rejected(Rejection::ConsumedBy(Consumer::machine("ns", "w")));
                assert_eq!(found == rejected, is_rejected, "{name} {consumer:?}: {found:?}");
            }
        }
    }

    #[test]
    fn a_cluster_that_consumes_a_host_without_reservation_keeps_it() {
        let host = serde_json::json!({"spec": {"consumerRef": {
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c1", "namespace": "ns"}}});
        let found = judged(with(host, "available"));
        assert!(matches!(found, Eligibility::Rejected(Rejection::ConsumedBy(_))));
    }

    #[test]
    fn the_own_host_is_own_in_any_condition() {
        let host = serde_json::json!({
            "metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z", "annotations": {"baremetalhost.metal3.io/paused": ""}},
            "spec": {"consumerRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                     "kind": "Metal3Machine", "name": "m", "namespace": "ns"}},
            "status": {"errorMessage": "boom"}
        });
        assert_eq!(judged(with(host, "provisioned")), Eligibility::Own);
    }
}

//! Which host a machine knows as its own, and whether a host that lost its consumer reference still is.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    reference::SecretRef,
    v1beta2::Metal3Machine,
    vocabulary::{META_DATA_SUFFIX, NETWORK_DATA_SUFFIX, label},
};

use super::{
    Bond, HostAnnotationError, annotated_host, bond, eligibility::has_image, unrecorded_host::in_use,
};
use crate::provider_id::SomeProviderId;

/// Name of the host that the machine knows as its own: the one that its provider ID names, else the recorded one. The ID
/// was settled with the Node and is never changed; the record is an annotation that anybody may edit.
///
/// ```
/// use capm3_domain::host::known_host;
///
/// let machine = serde_json::from_str(r#"{"metadata": {"name": "m", "namespace": "ns"},
///     "spec": {"providerID": "metal3://ns/node-7/m"}}"#).unwrap();
/// assert_eq!(known_host(&machine), Ok(Some("node-7".to_owned())));
/// ```
pub fn known_host(machine: &Metal3Machine) -> Result<Option<String>, HostAnnotationError> {
    match provider_id(machine) {
        Some(SomeProviderId::Current(id)) if is_its_own(machine, &id) => Ok(Some(id.host().to_owned())),
        _ => annotated_host(machine).map(|name| name.map(str::to_owned)),
    }
}

/// Uid of the host that the machine's provider ID names, if the ID is of the older form.
pub fn known_host_uid(machine: &Metal3Machine) -> Option<String> {
    match provider_id(machine) {
        Some(SomeProviderId::Legacy { host_uid }) => Some(host_uid),
        _ => None,
    }
}

/// Whether the machine's provider ID is of this host.
pub(super) fn is_identified(machine: &Metal3Machine, host: &BareMetalHost) -> bool {
    match provider_id(machine) {
        Some(SomeProviderId::Current(id)) => {
            is_its_own(machine, &id) && id.host() == host.metadata.name_str()
        }
        Some(SomeProviderId::Legacy { host_uid }) => host_uid == host.metadata.uid_str(),
        _ => false,
    }
}

/// Whether the machine has a provider ID of its own that names a host.
pub(super) fn is_identified_by_name(machine: &Metal3Machine) -> bool {
    matches!(provider_id(machine), Some(SomeProviderId::Current(id)) if is_its_own(machine, &id))
}

/// Whether the user data on a host is what the machine has recorded as its own.
pub fn has_user_data_of(machine: &Metal3Machine, host: &BareMetalHost) -> bool {
    let own = machine.status.user_data.as_ref().map(SecretRef::name_str).filter(|name| !name.is_empty());
    own.is_some() && own == host.spec.user_data.as_ref().map(SecretRef::name_str)
}

/// Whether a host that nobody consumes carries what this machine has put there, so that it may be claimed again, or
/// wiped and given back: the machine knows it as its own, no Secret on it is of somebody else, and the Node came up on
/// it, or a Secret on it is the machine's, or there is none and the image is.
pub fn is_left_of(machine: &Metal3Machine, host: &BareMetalHost) -> bool {
    let (spec, status) = (&host.spec, &machine.status);
    let identified = is_identified(machine, host);
    let recorded = annotated_host(machine).is_ok_and(|name| name == Some(host.metadata.name_str()));
    if spec.consumer_ref.is_some() || !has_image(host) || !(identified || recorded) {
        return false;
    }
    let is = |on_host: &Option<SecretRef>, own: &str| {
        on_host.as_ref().is_some_and(|secret| secret.name_str() == own && !own.is_empty())
    };
    let users = status.user_data.as_ref().map(SecretRef::name_str);
    match (&spec.user_data, users) {
        (Some(_), Some(own)) => is(&spec.user_data, own),
        (None, _) if has_image_of(machine, host) => true,
        _ => {
            let of_data = |on_host, given: &Option<SecretRef>, suffix: &str| {
                let made = format!("{}{suffix}", machine.metadata.name_str());
                is(on_host, given.as_ref().map_or(made.as_str(), SecretRef::name_str))
            };
            identified
                || of_data(&spec.meta_data, &status.meta_data, META_DATA_SUFFIX)
                || of_data(&spec.network_data, &status.network_data, NETWORK_DATA_SUFFIX)
        }
    }
}

/// Whether a host that nobody consumes and that has no image any more is still being cleaned of what this machine had
/// there, or carries the label of its cluster yet: it lost the reference before the machine has released it.
pub fn is_on_its_way_back(machine: &Metal3Machine, host: &BareMetalHost) -> bool {
    let cluster = machine.metadata.label(label::CLUSTER_NAME);
    let labelled = cluster.is_some() && host.metadata.label(label::CLUSTER_NAME) == cluster;
    host.spec.consumer_ref.is_none()
        && !has_image(host)
        && (in_use(host) || labelled)
        && bond(machine, host) > Bond::None
}

fn has_image_of(machine: &Metal3Machine, host: &BareMetalHost) -> bool {
    let image = host.spec.image.as_ref().and_then(|image| image.url.as_deref());
    let deploy = host.spec.custom_deploy.as_ref().and_then(|deploy| deploy.method.as_deref());
    image == machine.spec.image.as_ref().map(|image| image.url.as_str())
        && deploy == machine.spec.custom_deploy.as_ref().map(|deploy| deploy.method.as_str())
}

fn provider_id(machine: &Metal3Machine) -> Option<SomeProviderId> {
    machine.spec.provider_id.as_deref().and_then(|id| id.parse().ok())
}

fn is_its_own(machine: &Metal3Machine, id: &crate::provider_id::ProviderId) -> bool {
    let metadata = &machine.metadata;
    (id.namespace(), id.machine()) == (metadata.namespace_str(), metadata.name_str())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn machine(annotation: Option<&str>, id: Option<&str>, status: Value) -> Metal3Machine {
        let annotations = annotation.map(|value| json!({"metal3.io/BareMetalHost": value}));
        serde_json::from_value(json!({
            "metadata": {"name": "m", "namespace": "ns", "annotations": annotations},
            "spec": {"providerID": id, "image": {"url": "http://i"}}, "status": status}))
        .unwrap()
    }

    #[test]
    fn the_provider_id_of_the_machine_itself_goes_before_the_record() {
        for (annotation, id, expected) in [
            (None, None, None),
            (Some("ns/a"), None, Some("a")),
            (None, Some("metal3://ns/b/m"), Some("b")),
            (Some("ns/a"), Some("metal3://ns/b/m"), Some("b")),
            (Some("ns/a"), Some("metal3://ns/b/other"), Some("a")),
            (Some("ns/a"), Some("metal3://elsewhere/b/m"), Some("a")),
            (Some("ns/a"), Some("metal3://uid"), Some("a")),
            (Some("ns/a"), Some("aws://zone/b/m"), Some("a")),
        ] {
            let found = known_host(&machine(annotation, id, json!({})));
            assert_eq!(found, Ok(expected.map(str::to_owned)), "{annotation:?} {id:?}");
        }
        assert_eq!(known_host_uid(&machine(None, Some("metal3://uid"), json!({}))), Some("uid".to_owned()));
        assert!(known_host(&machine(Some("a/b/c"), None, json!({}))).is_err());
    }

    #[test]
    fn a_host_that_lost_its_consumer_during_the_release_is_released_by_its_machine() {
        let mut known = machine(Some("ns/h"), None, json!({}));
        known.metadata.labels = Some([(label::CLUSTER_NAME.to_owned(), "c".to_owned())].into());
        let stranger = machine(Some("ns/other"), None, json!({}));
        let consumed = json!({"consumerRef": {"kind": "Metal3Machine", "name": "other"}});
        for (what, machine, spec, state, cluster, expected) in [
            ("being cleaned", &known, json!({}), "deprovisioning", "", true),
            ("labelled", &known, json!({}), "available", "c", true),
            ("free", &known, json!({}), "available", "", false),
            ("labelled by another cluster", &known, json!({}), "available", "other", false),
            ("not known", &stranger, json!({}), "deprovisioning", "c", false),
            ("consumed", &known, consumed, "deprovisioning", "c", false),
            ("filled", &known, json!({"image": {"url": "http://i"}}), "provisioned", "c", false),
        ] {
            let host = json!({"metadata": {"name": "h", "namespace": "ns", "labels": {label::CLUSTER_NAME: cluster}},
                "spec": spec, "status": {"provisioning": {"state": state}}});
            assert_eq!(
                is_on_its_way_back(machine, &serde_json::from_value(host).unwrap()),
                expected,
                "{what}"
            );
        }
    }

    #[test]
    fn a_host_without_consumer_is_ours_only_if_what_is_on_it_is() {
        let recorded = |status: Value| machine(Some("ns/h"), None, status);
        let identified = |status: Value| machine(None, Some("metal3://ns/h/m"), status);
        let boot = || json!({"userData": {"name": "boot"}});
        let image = || json!({"image": {"url": "http://i"}});
        let with_user = |name: &str| json!({"image": {"url": "http://i"}, "userData": {"name": name}});
        let with_data = json!({"image": {"url": "http://other"}, "userData": {"name": "x"},
            "networkData": {"name": "m-networkdata"}});
        let consumed = json!({"image": {"url": "http://i"}, "userData": {"name": "boot"},
            "consumerRef": {"kind": "Metal3Machine", "name": "other"}});
        for (what, machine, spec, expected) in [
            ("our user data", recorded(boot()), with_user("boot"), true),
            ("user data of another", recorded(boot()), with_user("x"), false),
            ("user data of another under our ID", identified(boot()), with_user("x"), false),
            ("unknown user data", recorded(json!({})), with_user("x"), false),
            ("unknown user data under our ID", identified(json!({})), with_user("x"), true),
            ("network data that was made for us", recorded(json!({})), with_data, true),
            ("our image and no Secret", recorded(boot()), image(), true),
            ("another image", recorded(boot()), json!({"image": {"url": "http://other"}}), false),
            ("nothing on it", recorded(boot()), json!({}), false),
            ("not our host", machine(Some("ns/a"), None, boot()), with_user("boot"), false),
            ("consumed", recorded(boot()), consumed, false),
        ] {
            let host = json!({"metadata": {"name": "h", "namespace": "ns"}, "spec": spec});
            let host: BareMetalHost = serde_json::from_value(host).unwrap();
            assert_eq!(is_left_of(&machine, &host), expected, "{what}");
        }
    }
}

//! What a machine writes on its host: the claim, and later image, data and power.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    reference::SecretRef,
    v1beta2::Metal3Machine,
    vocabulary::{annotation, host_state, label},
};
use capm3_domain::{host::consumer_ref, pause::lacks_block, release::owners_without_machines};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::metal3machine::host_data::{HostData, references};

/// Why the spec of a host cannot be written.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HostSpecError {
    /// There is nothing to put on the host.
    #[error("neither spec.image.url nor spec.customDeploy.method is set: nothing to put on host {host}")]
    NothingToDeploy {
        /// The host.
        host: String,
    },
    /// A Secret of another namespace.
    #[error(
        "cross-namespace secret reference is not allowed for {field} on host {host}: namespace {found} is not {expected}"
    )]
    ForeignNamespace {
        /// Which reference.
        field: &'static str,
        /// The host.
        host: String,
        /// The namespace found.
        found: String,
        /// The namespace allowed.
        expected: String,
    },
}

/// Takes the host for the machine.
pub fn claim(host: &mut BareMetalHost, machine: &Metal3Machine, cluster_name: &str) {
    host.spec.consumer_ref = Some(consumer_ref(machine));
    // The power of a provisioned host, which is claimed again, is its operator's.
    if host.state() != host_state::PROVISIONED {
        host.spec.online = true;
    }
    let labels = host.metadata.labels.get_or_insert_default();
    labels.insert(label::CLUSTER_NAME.to_owned(), cluster_name.to_owned());
    labels.remove(label::NODE_REUSE);
    if host.metadata.annotation(annotation::HOST_PAUSED).is_none() {
        let annotations = host.metadata.annotations.get_or_insert_default();
        annotations.insert(annotation::BLOCK_MOVE.to_owned(), String::new());
    }
}

/// Whether nothing was put on the host yet.
pub(crate) fn is_blank(host: &BareMetalHost) -> bool {
    host.spec.image.is_none() && host.spec.custom_deploy.is_none()
}

/// Where the machine's host annotation must point.
pub fn host_annotation(host: &BareMetalHost) -> (String, String) {
    let value = format!("{}/{}", host.metadata.namespace_str(), host.metadata.name_str());
    (annotation::HOST.to_owned(), value)
}

/// The merge patch of a host's spec that gives it image, data and power; `None` when nothing is to be written. The
/// image is written once: a host that has one is never provisioned again under a running node. Data that a user has put on
/// the host stays where the machine brings none.
pub fn provision_patch(
    host: &BareMetalHost,
    machine: &Metal3Machine,
    data: &HostData,
) -> Result<Option<Value>, HostSpecError> {
    let mut spec = Map::new();
    if let (true, Some(user_data)) = (is_blank(host), &machine.status.user_data) {
        put_payload(&mut spec, host, machine)?;
        put_secret(&mut spec, "userData", host, Some(user_data))?;
        put_secret(&mut spec, "metaData", host, machine.status.meta_data.as_ref())?;
        put_secret(&mut spec, "networkData", host, machine.status.network_data.as_ref())?;
        // What an earlier machine left there would reach the node of this machine.
        for (field, stale) in references(host) {
            if stale.is_some() && !spec.contains_key(field) && !data.of_users.contains(field) {
                spec.insert(field.to_owned(), Value::Null);
            }
        }
    }
    if let Some(mode) = &machine.spec.automated_cleaning_mode
        && host.spec.automated_cleaning_mode.as_deref() != Some(mode.as_str())
    {
        spec.insert("automatedCleaningMode".to_owned(), json!(mode));
    }
    // The power of a provisioned host is its operator's.
    if !host.spec.online && host.state() != host_state::PROVISIONED {
        spec.insert("online".to_owned(), json!(true));
    }
    let mut patch = Map::new();
    for (member, value) in [("metadata", metadata_in_line(host, machine)), ("spec", spec)] {
        if !value.is_empty() {
            patch.insert(member.to_owned(), value.into());
        }
    }
    Ok((!patch.is_empty()).then(|| patch.into()))
}

/// Marks that the host of a machine carries, and those of older releases that it must not carry.
fn metadata_in_line(host: &BareMetalHost, machine: &Metal3Machine) -> Map<String, Value> {
    let mut metadata = Map::new();
    if lacks_block(host) {
        metadata.insert("annotations".to_owned(), json!({annotation::BLOCK_MOVE: ""}));
    }
    let cluster = machine.metadata.label(label::CLUSTER_NAME);
    if cluster.is_some() && host.metadata.label(label::CLUSTER_NAME).is_none() {
        metadata.insert("labels".to_owned(), json!({label::CLUSTER_NAME: cluster}));
    }
    if let Some(owners) = owners_without_machines(host) {
        metadata.insert("ownerReferences".to_owned(), owners);
    }
    metadata
}

fn put_payload(
    spec: &mut Map<String, Value>,
    host: &BareMetalHost,
    machine: &Metal3Machine,
) -> Result<(), HostSpecError> {
    let image = machine.spec.image.as_ref().filter(|image| !image.url.is_empty());
    let deploy = machine.spec.custom_deploy.as_ref().filter(|deploy| !deploy.method.is_empty());
    if image.is_none() && deploy.is_none() {
        return Err(HostSpecError::NothingToDeploy { host: host.metadata.name_str().to_owned() });
    }
    if let Some(image) = image {
        let mut value = json!({"url": image.url, "checksum": image.checksum.clone().unwrap_or_default()});
        if let Some(map) = value.as_object_mut() {
            // An empty format is refused by the host's schema, so it is left out.
            for (key, part) in [("checksumType", &image.checksum_type), ("format", &image.disk_format)] {
                if let Some(part) = part.as_ref().filter(|p| !p.is_empty()) {
                    map.insert(key.to_owned(), json!(part));
                }
            }
        }
        spec.insert("image".to_owned(), value);
    }
    if let Some(deploy) = deploy {
        spec.insert("customDeploy".to_owned(), json!({"method": deploy.method}));
    }
    Ok(())
}

fn put_secret(
    spec: &mut Map<String, Value>,
    field: &'static str,
    host: &BareMetalHost,
    secret: Option<&SecretRef>,
) -> Result<(), HostSpecError> {
    let Some(secret) = secret else { return Ok(()) };
    let home = host.metadata.namespace_str();
    let namespace = secret.namespace.as_deref().filter(|n| !n.is_empty()).unwrap_or(home);
    if namespace != home {
        return Err(HostSpecError::ForeignNamespace {
            field,
            host: host.metadata.name_str().to_owned(),
            found: namespace.to_owned(),
            expected: home.to_owned(),
        });
    }
    spec.insert(field.to_owned(), json!({"name": secret.name, "namespace": namespace}));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(spec: Value, state: &str) -> BareMetalHost {
        serde_json::from_value(json!({"metadata": {"namespace": "n", "name": "h",
                "annotations": {"clusterctl.cluster.x-k8s.io/block-move": ""}}, "spec": spec,
            "status": {"provisioning": {"state": state}}}))
        .unwrap()
    }

    fn machine(extra: Value) -> Metal3Machine {
        let mut value = json!({"metadata": {"namespace": "n", "name": "m"},
            "spec": {"image": {"url": "http://i", "checksum": "c", "checksumType": "sha256"}},
            "status": {"userData": {"name": "u"}, "networkData": {"name": "net", "namespace": "n"}}});
        json_patch::merge(&mut value, &extra);
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_blank_host_gets_image_data_and_power_and_no_empty_format() {
        let patch = provision_patch(&host(json!({}), "available"), &machine(json!({})), &HostData::default())
            .unwrap()
            .unwrap();
        assert_eq!(
            patch,
            json!({"spec": {"image": {"url": "http://i", "checksum": "c", "checksumType": "sha256"},
                "userData": {"name": "u", "namespace": "n"}, "networkData": {"name": "net", "namespace": "n"},
                "online": true}})
        );
    }

    #[test]
    fn an_image_is_written_once_and_the_power_of_a_provisioned_host_is_not_ours() {
        let provisioned = host(json!({"image": {"url": "old"}, "online": false}), "provisioned");
        assert_eq!(provision_patch(&provisioned, &machine(json!({})), &HostData::default()), Ok(None));
    }

    #[test]
    fn a_claim_powers_a_host_on_unless_it_is_provisioned() {
        for (state, online) in [("available", true), ("provisioning", true), ("provisioned", false)] {
            let mut taken = host(json!({"online": false}), state);
            claim(&mut taken, &machine(json!({})), "c");
            assert_eq!(taken.spec.online, online, "{state}");
        }
    }

    /// A reference that the machine does not use is taken off the host when the host is written, also one that an
    /// earlier machine left there; one of the user stays where the machine brings none.
    #[test]
    fn s47_a_reference_of_an_earlier_user_is_taken_off() {
        let stale = host(json!({"metaData": {"name": "old"}, "networkData": {"name": "old"}}), "available");
        let own = HostData { of_users: ["metaData", "networkData"].into(), ..HostData::default() };
        let kept = provision_patch(&stale, &machine(json!({})), &own).unwrap().unwrap();
        assert!(!kept["spec"].as_object().unwrap().contains_key("metaData"), "{kept}");
        assert_eq!(kept["spec"]["networkData"]["name"], "net", "the machine brings its own");
        let patch = provision_patch(&stale, &machine(json!({})), &HostData::default()).unwrap().unwrap();
        assert_eq!(patch["spec"]["metaData"], Value::Null);
        assert!(patch["spec"].as_object().unwrap().contains_key("metaData"), "removed, not left alone");
        assert_eq!(patch["spec"]["networkData"]["name"], "net");
    }

    #[test]
    fn the_host_of_a_machine_is_held_back_from_a_move_and_loses_owners_of_older_releases() {
        let mut old = host(json!({"image": {"url": "i"}, "online": true}), "provisioned");
        old.metadata.annotations = None;
        old.metadata.owner_references = serde_json::from_value(json!([
            {"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha5", "kind": "Metal3Machine", "name": "m", "uid": "1"},
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "2"}]))
        .unwrap();
        let patch = provision_patch(&old, &machine(json!({})), &HostData::default()).unwrap().unwrap();
        assert_eq!(patch["metadata"]["annotations"], json!({"clusterctl.cluster.x-k8s.io/block-move": ""}));
        assert_eq!(patch["metadata"]["ownerReferences"][0]["kind"], "ConfigMap");
        assert_eq!(patch["metadata"]["ownerReferences"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn nothing_to_deploy_and_foreign_secrets_are_refused_by_name() {
        let blank = host(json!({}), "available");
        let nothing =
            provision_patch(&blank, &machine(json!({"spec": {"image": null}})), &HostData::default());
        assert_eq!(nothing, Err(HostSpecError::NothingToDeploy { host: "h".into() }));
        let foreign = machine(json!({"status": {"networkData": {"name": "x", "namespace": "other"}}}));
        let text = provision_patch(&blank, &foreign, &HostData::default()).unwrap_err().to_string();
        assert!(text.contains("networkData on host h: namespace other is not n"), "{text}");
    }
}

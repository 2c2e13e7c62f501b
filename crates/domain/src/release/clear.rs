//! What is taken off a host so that its operator deprovisions it.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    reference::SecretRef,
    v1beta2::Metal3Machine,
    vocabulary::{META_DATA_SUFFIX, NETWORK_DATA_SUFFIX},
};
use serde_json::{Map, Value, json};

use crate::{host::has_image, pause::end_own_pause};

/// The merge patch that takes image, deploy step and data off the host and sets its power; none if all is done.
///
/// A pause of our own goes with them: under it the operator would never deprovision the host. Whether the machine itself
/// may go, or is paused, the caller has asked before.
///
/// User data always came with the image. Metadata and network data are taken off if the machine has put them there. After
/// a move its status is gone; then the name of the Secret tells, which is that of the machine. What a user has put on the
/// host stays.
pub fn clear(machine: &Metal3Machine, host: &BareMetalHost, fast_track: bool) -> Option<Value> {
    let spec = &host.spec;
    let owns_meta = owns(
        machine,
        host,
        spec.meta_data.as_ref(),
        [&machine.spec.meta_data, &machine.status.meta_data],
        META_DATA_SUFFIX,
    );
    let owns_network = owns(
        machine,
        host,
        spec.network_data.as_ref(),
        [&machine.spec.network_data, &machine.status.network_data],
        NETWORK_DATA_SUFFIX,
    );
    let members = [
        ("image", spec.image.is_some()),
        ("customDeploy", spec.custom_deploy.is_some()),
        ("userData", spec.user_data.is_some()),
        ("metaData", owns_meta),
        ("networkData", owns_network),
    ];
    let mut patch: Map<String, Value> = members
        .into_iter()
        .filter(|(_, present)| *present)
        .map(|(member, _)| (member.to_owned(), Value::Null))
        .collect();
    let online = online_at_release(host, fast_track);
    if spec.online != online {
        patch.insert("online".to_owned(), online.into());
    }
    let mut members = Map::new();
    if let Some(annotations) = end_own_pause(host) {
        members.insert("metadata".to_owned(), json!({ "annotations": annotations }));
    }
    if !patch.is_empty() {
        members.insert("spec".to_owned(), patch.into());
    }
    (!members.is_empty()).then(|| members.into())
}

/// Whether the host has a reference that the machine has put there. A machine that brings data replaces what is on the
/// host together with the image, so on a host with an image it is the machine's whatever its name.
fn owns(
    machine: &Metal3Machine,
    host: &BareMetalHost,
    on_host: Option<&SecretRef>,
    given: [&Option<SecretRef>; 2],
    suffix: &str,
) -> bool {
    let Some(on_host) = on_host else {
        return false;
    };
    let made_for_it = on_host.name_str() == format!("{}{suffix}", machine.metadata.name_str());
    let mut given = given.into_iter().flatten();
    made_for_it || given.any(|given| has_image(host) || given.name_str() == on_host.name_str())
}

/// Whether a released host stays powered on.
///
/// | power-off disabled | fast track | cleaning | online |
/// |---|---|---|---|
/// | yes | any | any | yes |
/// | no | yes | not `disabled` | yes |
/// | no | yes | `disabled` | no |
/// | no | no | any | no |
///
/// ```
/// use capm3_api::neighbours::BareMetalHost;
/// use capm3_domain::release::online_at_release;
///
/// assert!(!online_at_release(&BareMetalHost::default(), false));
/// assert!(online_at_release(&BareMetalHost::default(), true));
/// ```
pub fn online_at_release(host: &BareMetalHost, fast_track: bool) -> bool {
    let cleaned = host.spec.automated_cleaning_mode.as_deref() != Some("disabled");
    host.spec.disable_power_off || (fast_track && cleaned)
}

#[cfg(test)]
mod tests {
    use capm3_api::vocabulary::annotation;

    use super::*;

    fn host(spec: Value) -> BareMetalHost {
        serde_json::from_value(json!({ "spec": spec })).unwrap()
    }

    fn machine(spec: Value, status: Value) -> Metal3Machine {
        serde_json::from_value(json!({"metadata": {"name": "m"}, "spec": spec, "status": status})).unwrap()
    }

    #[test]
    fn the_power_of_a_released_host_follows_the_table() {
        // power-off disabled, fast track, cleaning mode, online
        let table = [
            (true, true, "metadata", true),
            (true, false, "disabled", true),
            (false, true, "metadata", true),
            (false, true, "", true),
            (false, true, "disabled", false),
            (false, false, "metadata", false),
            (false, false, "disabled", false),
        ];
        for (disabled, fast_track, cleaning, online) in table {
            let cleaning = (!cleaning.is_empty()).then_some(cleaning);
            let host = host(json!({"disablePowerOff": disabled, "automatedCleaningMode": cleaning}));
            assert_eq!(online_at_release(&host, fast_track), online, "{disabled} {fast_track} {cleaning:?}");
        }
    }

    #[test]
    fn everything_of_the_machine_is_taken_off_without_asking_its_status() {
        let host = host(json!({
            "image": {"url": "x"}, "customDeploy": {"method": "d"}, "online": true,
            "userData": {"name": "boot"}, "metaData": {"name": "m-metadata"}, "networkData": {"name": "m-networkdata"}
        }));
        let all = json!({"spec": {"image": null, "customDeploy": null, "userData": null,
                                  "metaData": null, "networkData": null, "online": false}});
        assert_eq!(clear(&machine(json!({}), json!({})), &host, false), Some(all));
    }

    /// Own metadata and network data of a host stay there when a machine that brought none gives the host back.
    #[test]
    fn s189_data_is_taken_off_if_the_machine_has_put_it_there_and_that_of_a_user_stays() {
        let data = json!({"metaData": {"name": "x"}, "networkData": {"name": "y"}});
        let (meta, network) = (json!({"metaData": null}), json!({"networkData": null}));
        let both = json!({"metaData": null, "networkData": null});
        let table = [
            (json!({}), json!({}), None),
            (json!({"metaData": {"name": "x"}}), json!({}), Some(meta.clone())),
            (json!({"networkData": {"name": "y"}}), json!({}), Some(network)),
            (json!({"dataTemplate": {"name": "dt"}}), json!({"renderedData": {"name": "dt-0"}}), None),
            (json!({}), json!({"metaData": {"name": "x"}}), Some(meta)),
            (json!({}), json!({"metaData": {"name": "x"}, "networkData": {"name": "y"}}), Some(both)),
        ];
        for (spec, status, expected) in table {
            let patch = clear(&machine(spec, status), &host(data.clone()), false);
            assert_eq!(patch, expected.map(|spec| json!({ "spec": spec })));
        }
        let other = machine(json!({}), json!({"metaData": {"name": "other"}}));
        assert_eq!(clear(&other, &host(data.clone()), false), None, "nothing was put on the host yet");
        let mut with_image = data;
        with_image["image"] = json!({"url": "i"});
        let patch = clear(&other, &host(with_image), false).unwrap();
        assert_eq!(patch, json!({"spec": {"image": null, "metaData": null}}), "the machine replaced it");
    }

    #[test]
    fn our_own_pause_goes_first_and_that_of_a_user_stays() {
        let paused = |mark: &str| {
            let host = json!({"metadata": {"annotations": {annotation::HOST_PAUSED: mark}}});
            clear(&machine(json!({}), json!({})), &serde_json::from_value(host).unwrap(), false)
        };
        let woken = json!({annotation::HOST_PAUSED: null, annotation::BLOCK_MOVE: ""});
        assert_eq!(
            paused(annotation::HOST_PAUSED_BY_US),
            Some(json!({"metadata": {"annotations": woken}})),
            "and the block on moving is back until the host is released"
        );
        assert_eq!(paused("mine"), None);
    }

    #[test]
    fn a_clear_host_needs_no_patch() {
        let machine = machine(json!({"dataTemplate": {"name": "dt"}}), json!({}));
        assert_eq!(clear(&machine, &host(json!({})), false), None);
        assert_eq!(clear(&machine, &host(json!({"online": true})), true), None);
    }
}

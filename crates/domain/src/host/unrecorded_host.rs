//! A host in use that the machine which it names has no record of.

use capm3_api::{
    conditions::is_true,
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    v1beta2::Metal3Machine,
    vocabulary::{condition, host_state},
};

use super::{
    annotated_host,
    eligibility::has_image,
    recorded_host::{has_user_data_of, is_identified},
};

/// Whether a host that names this machine is in use and the machine has no record of it. A machine writes its record
/// before it puts anything on a host, so such a host was used by an earlier machine of that name, or the machine comes from
/// a backup that is older than its claim. Nobody can tell which: such a host is neither used nor cleared.
///
/// ```
/// use capm3_domain::host::is_in_use_unrecorded;
///
/// let host = serde_json::from_str(r#"{"metadata": {"name": "h"}, "spec": {"image": {"url": "http://i"}}}"#).unwrap();
/// let machine = serde_json::from_str(r#"{"metadata": {"name": "m"}}"#).unwrap();
/// assert!(is_in_use_unrecorded(&machine, &host));
/// ```
pub fn is_in_use_unrecorded(machine: &Metal3Machine, host: &BareMetalHost) -> bool {
    in_use(host) && !is_known(machine, host)
}

pub(super) fn in_use(host: &BareMetalHost) -> bool {
    let states = [host_state::PROVISIONING, host_state::PROVISIONED, host_state::DEPROVISIONING];
    has_image(host) || states.contains(&host.state())
}

/// Record, provider ID or status: a machine that was made again has none of them, a moved one has the first two. The
/// condition is false during a pause or while the machine holds; the user data that it has named stays.
fn is_known(machine: &Metal3Machine, host: &BareMetalHost) -> bool {
    let name = host.metadata.name_str();
    let recorded = annotated_host(machine).is_ok_and(|recorded| recorded == Some(name));
    recorded
        || is_identified(machine, host)
        || has_user_data_of(machine, host)
        || is_true(&machine.status.conditions, condition::ASSOCIATE_HOST)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn judged(machine: Value, host: Value) -> bool {
        let mut object = json!({"metadata": {"name": "h", "namespace": "ns", "uid": "u"}});
        for (key, value) in host.as_object().unwrap() {
            object[key] = value.clone();
        }
        is_in_use_unrecorded(
            &serde_json::from_value(machine).unwrap(),
            &serde_json::from_value(object).unwrap(),
        )
    }

    #[test]
    fn a_host_in_use_is_unrecorded_if_nothing_on_the_machine_names_it() {
        let used = json!({"spec": {"image": {"url": "http://i"}}});
        let cleaning = json!({"status": {"provisioning": {"state": "deprovisioning"}}});
        let filled = json!({"spec": {"image": {"url": "http://i"}, "userData": {"name": "boot"}}});
        let with_user_data = |name: &str| json!({"status": {"userData": {"name": name}}});
        assert!(
            !judged(with_user_data("boot"), filled.clone()),
            "whatever the conditions say during a pause"
        );
        assert!(judged(with_user_data("other"), filled));
        let fresh = json!({"status": {"provisioning": {"state": "available"}}});
        let new = json!({"metadata": {"name": "m"}});
        assert!(judged(new.clone(), used.clone()));
        assert!(judged(new.clone(), cleaning));
        assert!(!judged(new, fresh), "claimed a moment ago, nothing on it yet");
        for known in [
            json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": "ns/h"}}}),
            json!({"metadata": {"name": "m", "namespace": "ns"}, "spec": {"providerID": "metal3://ns/h/m"}}),
            json!({"spec": {"providerID": "metal3://u"}}),
            json!({"status": {"conditions": [{"type": "AssociateBareMetalHost", "status": "True",
                "reason": "x", "lastTransitionTime": "t", "message": ""}]}}),
        ] {
            assert!(!judged(known.clone(), used.clone()), "{known}");
        }
    }
}

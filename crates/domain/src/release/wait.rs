//! Until when a host is the operator's business.

use std::fmt;

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::host_state};

use crate::host::{self, Blocker};

/// What a release waits for, with what may keep the operator from getting there. Prints as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostWait {
    /// Name of the host.
    pub host: String,
    /// Its state.
    pub state: String,
    /// What stands in the way: an error, a pause, a detachment.
    pub blocker: Option<String>,
}

impl fmt::Display for HostWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waiting for host {} to be deprovisioned, now {}", self.host, self.state)?;
        match &self.blocker {
            Some(blocker) => write!(f, "; {blocker}"),
            None => Ok(()),
        }
    }
}

/// What the release of a cleared host waits for; none if it can be released.
pub fn wait(host: &BareMetalHost) -> Option<HostWait> {
    must_wait(host).then(|| HostWait {
        host: host.metadata.name_str().to_owned(),
        state: host.state().to_owned(),
        blocker: blocker(host),
    })
}

/// Whether a cleared host is still being worked on. An unknown state counts as work: releasing too early would hand a
/// disk with data to the next machine.
///
/// ```
/// use capm3_api::neighbours::BareMetalHost;
/// use capm3_domain::release::must_wait;
///
/// let mut host = BareMetalHost::default();
/// assert!(!must_wait(&host));
/// host.status.provisioning.state = Some("deprovisioning".into());
/// assert!(must_wait(&host));
/// ```
pub fn must_wait(host: &BareMetalHost) -> bool {
    match host.state() {
        "" | "unmanaged" | "registering" | "match profile" | "inspecting" => false,
        host_state::READY | host_state::AVAILABLE => false,
        host_state::EXTERNALLY_PROVISIONED => host.status.powered_on.unwrap_or(false),
        _ => true,
    }
}

/// An operator releases hosts that are externally provisioned, too.
fn blocker(host: &BareMetalHost) -> Option<String> {
    let found = host::blocker(host).filter(|found| *found != Blocker::ExternallyProvisioned);
    found.map(|found| found.to_string())
}

#[cfg(test)]
mod tests {
    use capm3_api::vocabulary::annotation;
    use serde_json::json;

    use super::*;

    fn host(state: &str, more: serde_json::Value) -> BareMetalHost {
        let mut host = json!({"metadata": {"name": "h"}, "status": {}});
        for part in ["metadata", "status"] {
            for (key, value) in more[part].as_object().into_iter().flatten() {
                host[part][key] = value.clone();
            }
        }
        host["status"]["provisioning"] = json!({"state": state});
        serde_json::from_value(host).unwrap()
    }

    #[test]
    fn a_host_is_released_only_in_states_without_data_on_its_disk() {
        for state in ["", "unmanaged", "registering", "match profile", "inspecting", "ready", "available"] {
            assert!(!must_wait(&host(state, json!({}))), "{state}");
        }
        for state in [
            "preparing",
            "provisioning",
            "provisioned",
            "deprovisioning",
            "powering off before delete",
            "deleting",
            "whatever",
        ] {
            assert!(must_wait(&host(state, json!({}))), "{state}");
        }
    }

    #[test]
    fn an_externally_provisioned_host_is_awaited_while_it_is_on() {
        for (powered_on, expected) in [(json!(true), true), (json!(false), false), (json!(null), false)] {
            let host = host("externally provisioned", json!({"status": {"poweredOn": powered_on}}));
            assert_eq!(must_wait(&host), expected);
        }
    }

    #[test]
    fn the_wait_says_what_stands_in_the_way() {
        let notes = |key: &str| json!({"metadata": {"annotations": {key: ""}}});
        let table = [
            (json!({}), ""),
            (json!({"status": {"errorMessage": "boom"}}), "; the host reports: boom"),
            (
                notes(annotation::HOST_PAUSED),
                "; the host is paused by annotation baremetalhost.metal3.io/paused",
            ),
            (notes(annotation::HOST_DETACHED), "; the host is detached from its operator"),
        ];
        for (more, hint) in table {
            let text = wait(&host("deprovisioning", more)).unwrap().to_string();
            assert_eq!(text, format!("waiting for host h to be deprovisioned, now deprovisioning{hint}"));
        }
    }
}

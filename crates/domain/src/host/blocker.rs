//! What keeps the operator of a host from working on it.

use std::fmt;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, host_state},
};

/// What keeps the operator of a host from working on it. Prints as a sentence about the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// It reports an error.
    Error(String),
    /// Somebody paused it.
    Paused,
    /// It is detached.
    Detached,
    /// What is on its disk is somebody else's: no image is put there.
    ExternallyProvisioned,
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => write!(f, "the host reports: {error}"),
            Self::Paused => write!(f, "the host is paused by annotation {}", annotation::HOST_PAUSED),
            Self::Detached => f.write_str("the host is detached from its operator"),
            Self::ExternallyProvisioned => {
                f.write_str("the host is externally provisioned, so its operator puts no image on it")
            }
        }
    }
}

/// What keeps the operator from working on a host, if anything does.
///
/// ```
/// use capm3_domain::host::blocker;
///
/// let host = serde_json::from_str(r#"{"status": {"errorMessage": "no power"}}"#).unwrap();
/// assert_eq!(blocker(&host).unwrap().to_string(), "the host reports: no power");
/// ```
pub fn blocker(host: &BareMetalHost) -> Option<Blocker> {
    let error = host.status.error_message.as_deref().filter(|text| !text.is_empty());
    if let Some(error) = error {
        return Some(Blocker::Error(error.to_owned()));
    }
    let annotated = |key: &str| host.metadata.annotation(key).is_some();
    if annotated(annotation::HOST_PAUSED) {
        return Some(Blocker::Paused);
    }
    if annotated(annotation::HOST_DETACHED) || host.status.operational_status.as_deref() == Some("detached") {
        return Some(Blocker::Detached);
    }
    let is_external = host.spec.externally_provisioned || host.state() == host_state::EXTERNALLY_PROVISIONED;
    is_external.then_some(Blocker::ExternallyProvisioned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_keeps_the_operator_away_is_named_and_errors_go_first() {
        let note = |key: &str| json!({"metadata": {"annotations": {key: ""}}});
        let external = Some(Blocker::ExternallyProvisioned);
        for (host, expected) in [
            (json!({}), None),
            (json!({"status": {"provisioning": {"state": "provisioning"}}}), None),
            (json!({"status": {"errorMessage": ""}}), None),
            (json!({"status": {"errorMessage": "boom"}}), Some(Blocker::Error("boom".into()))),
            (
                json!({"metadata": {"annotations": {annotation::HOST_PAUSED: ""}}, "status": {"errorMessage": "boom"}}),
                Some(Blocker::Error("boom".into())),
            ),
            (note(annotation::HOST_PAUSED), Some(Blocker::Paused)),
            (note(annotation::HOST_DETACHED), Some(Blocker::Detached)),
            (json!({"status": {"operationalStatus": "detached"}}), Some(Blocker::Detached)),
            (json!({"spec": {"externallyProvisioned": true}}), external.clone()),
            (json!({"status": {"provisioning": {"state": "externally provisioned"}}}), external),
        ] {
            let read: BareMetalHost = serde_json::from_value(host.clone()).unwrap();
            assert_eq!(blocker(&read), expected, "{host}");
        }
    }
}

//! The provider ID: written in one form, read in two.

use std::{convert::Infallible, fmt, str::FromStr};

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::Metal3Machine,
    vocabulary::{PROVIDER_ID_PREFIX, annotation},
};

/// `metal3://<namespace>/<host>/<Metal3Machine>`, the only form that is written.
///
/// ```
/// use capm3_domain::provider_id::{ProviderId, SomeProviderId};
///
/// let id = ProviderId::new("ns", "node-7", "m");
/// assert_eq!(id.to_string(), "metal3://ns/node-7/m");
/// assert_eq!("metal3://ns/node-7/m".parse(), Ok(SomeProviderId::Current(id)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProviderId {
    namespace: String,
    host: String,
    machine: String,
}

impl ProviderId {
    /// The ID of a machine on a host of the same namespace.
    pub fn new(namespace: impl Into<String>, host: impl Into<String>, machine: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), host: host.into(), machine: machine.into() }
    }

    /// Namespace of host and machine.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Name of the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Name of the Metal3Machine.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Whether both name the same host, for whichever machine.
    pub fn same_host(&self, other: &Self) -> bool {
        (&self.namespace, &self.host) == (&other.namespace, &other.host)
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, host, machine } = self;
        write!(f, "{PROVIDER_ID_PREFIX}{namespace}/{host}/{machine}")
    }
}

/// A provider ID as found on a Node or machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SomeProviderId {
    /// The form in use.
    Current(ProviderId),
    /// `metal3://<uid of the host>`: read on what is old, never written.
    Legacy {
        /// Uid of the host.
        host_uid: String,
    },
    /// Of another provider, or of no form we know.
    Foreign(String),
}

impl SomeProviderId {
    /// Whether the ID is of this host.
    pub fn is_of_host(&self, expected: &ProviderId, host_uid: &str) -> bool {
        match self {
            Self::Current(id) => id.same_host(expected),
            Self::Legacy { host_uid: uid } => !host_uid.is_empty() && uid == host_uid,
            Self::Foreign(_) => false,
        }
    }
}

impl FromStr for SomeProviderId {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let foreign = || Self::Foreign(text.to_owned());
        let Some(rest) = text.strip_prefix(PROVIDER_ID_PREFIX) else {
            return Ok(foreign());
        };
        let parts: Vec<&str> = rest.split('/').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Ok(foreign());
        }
        Ok(match parts.as_slice() {
            [uid] => Self::Legacy { host_uid: (*uid).to_owned() },
            [namespace, host, machine] => Self::Current(ProviderId::new(*namespace, *host, *machine)),
            _ => foreign(),
        })
    }
}

impl fmt::Display for SomeProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Current(id) => id.fmt(f),
            Self::Legacy { host_uid } => write!(f, "{PROVIDER_ID_PREFIX}{host_uid}"),
            Self::Foreign(text) => f.write_str(text),
        }
    }
}

/// Why the expected ID of a machine is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the host of Metal3Machine {machine} is not known: annotation metal3.io/BareMetalHost is \"{annotation}\", expected \"{namespace}/<host>\""
)]
pub struct IdError {
    /// Name of the machine.
    pub machine: String,
    /// Its namespace.
    pub namespace: String,
    /// The annotation as written.
    pub annotation: String,
}

/// The ID that machine and Node must have, from the machine's record of its host. The host's namespace must be the
/// machine's own.
///
/// ```
/// use capm3_domain::provider_id::expected_id;
///
/// let machine = serde_json::from_str(r#"{"metadata": {"name": "m", "namespace": "ns",
///     "annotations": {"metal3.io/BareMetalHost": "ns/node-7"}}}"#).unwrap();
/// assert_eq!(expected_id(&machine).unwrap().to_string(), "metal3://ns/node-7/m");
/// ```
pub fn expected_id(machine: &Metal3Machine) -> Result<ProviderId, IdError> {
    let text = machine.metadata.annotation(annotation::HOST).unwrap_or_default();
    let namespace = machine.metadata.namespace_str();
    let mut parts = text.split('/');
    match (parts.next(), parts.next()) {
        (Some(first), Some(host)) if first == namespace && !host.is_empty() => {
            Ok(ProviderId::new(namespace, host, machine.metadata.name_str()))
        }
        _ => Err(IdError {
            machine: machine.metadata.name_str().to_owned(),
            namespace: namespace.to_owned(),
            annotation: text.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn machine(host: Option<&str>) -> Metal3Machine {
        let annotations = host.map(|host| serde_json::json!({annotation::HOST: host}));
        serde_json::from_value(
            serde_json::json!({"metadata": {"name": "m", "namespace": "ns", "annotations": annotations}}),
        )
        .unwrap()
    }

    #[test]
    fn the_expected_id_comes_from_the_annotation_alone() {
        let table = [
            (Some("ns/node-7"), Some("metal3://ns/node-7/m")),
            (Some("ns/node-7/x"), Some("metal3://ns/node-7/m")),
            (Some("ns/"), None),
            (Some("node-7"), None),
            (Some("other/node-7"), None),
            (Some(""), None),
            (None, None),
        ];
        for (annotation, expected) in table {
            let found = expected_id(&machine(annotation)).ok().map(|id| id.to_string());
            assert_eq!(found.as_deref(), expected, "{annotation:?}");
        }
    }

    #[test]
    fn the_error_says_what_is_there_and_what_is_expected() {
        let text = expected_id(&machine(Some("other/h"))).unwrap_err().to_string();
        assert!(text.contains("\"other/h\"") && text.contains("\"ns/<host>\""), "{text}");
    }

    #[test]
    fn ids_of_any_form_are_read_and_print_as_they_were() {
        let legacy = SomeProviderId::Legacy { host_uid: "4f3a".into() };
        let foreign = |text: &str| SomeProviderId::Foreign(text.into());
        let table = [
            ("metal3://4f3a", legacy),
            ("metal3://", foreign("metal3://")),
            ("metal3://ns//m", foreign("metal3://ns//m")),
            ("metal3://ns/h", foreign("metal3://ns/h")),
            ("metal3://a/b/c/d", foreign("metal3://a/b/c/d")),
            ("aws:///eu/i-1", foreign("aws:///eu/i-1")),
            ("", foreign("")),
        ];
        for (text, expected) in table {
            let read: SomeProviderId = text.parse().unwrap();
            assert_eq!(read, expected);
            assert_eq!(read.to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(namespace in "[a-z0-9-]{1,20}", host in "[a-z0-9.-]{1,20}", machine in "[a-z0-9.-]{1,20}") {
            let id = ProviderId::new(namespace, host, machine);
            prop_assert_eq!(id.to_string().parse(), Ok(SomeProviderId::Current(id)));
        }
    }
}

//! Whose a host is.

use std::fmt;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, ConsumerRef},
    v1beta2::{API_VERSION, GROUP, Metal3Machine},
};
use kube::core::ObjectMeta;

/// Who uses a host, as far as people need to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// Kind, empty if the reference has none.
    pub kind: String,
    /// Namespace, empty if the reference has none.
    pub namespace: String,
    /// Name, empty if the reference has none.
    pub name: String,
}

impl From<&ConsumerRef> for Consumer {
    fn from(reference: &ConsumerRef) -> Self {
        let text = |member: &Option<String>| member.clone().unwrap_or_default();
        Self {
            kind: text(&reference.kind),
            namespace: text(&reference.namespace),
            name: text(&reference.name),
        }
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

impl Consumer {
    /// The machine of that name.
    pub fn machine(namespace: &str, name: &str) -> Self {
        Self {
            kind: Metal3Machine::API.kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Whether a host's consumer is this machine: kind, group, namespace and name are equal, in any API version.
    ///
    /// ```
    /// use capm3_api::{neighbours::ConsumerRef, v1beta2::Metal3Machine};
    /// use capm3_domain::host::Consumer;
    ///
    /// let mut machine = Metal3Machine::default();
    /// machine.metadata.name = Some("m".into());
    /// machine.metadata.namespace = Some("ns".into());
    /// let reference = ConsumerRef {
    ///     api_version: Some("infrastructure.cluster.x-k8s.io/v1alpha4".into()),
    ///     kind: Some("Metal3Machine".into()),
    ///     name: Some("m".into()),
    ///     namespace: Some("ns".into()),
    /// };
    /// assert!(Consumer::is_machine(&reference, &machine));
    /// ```
    pub fn is_machine(reference: &ConsumerRef, machine: &Metal3Machine) -> bool {
        names(reference, GROUP, Metal3Machine::API.kind, &machine.metadata)
    }

    /// Whether a host's consumer is this Cluster, which books hosts between two machines.
    pub fn is_cluster(reference: &ConsumerRef, namespace: &str, name: &str) -> bool {
        let cluster = ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        };
        names(reference, CAPI_GROUP, "Cluster", &cluster)
    }
}

/// Whose a host is, seen from a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// It is the machine's.
    Ours,
    /// It is nobody's.
    Nobody,
    /// It belongs to somebody else and is never taken away.
    Other(Consumer),
}

/// Whose a host is. A machine that finds its host consumed by another object holds still and says whose they are.
///
/// ```
/// use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3Machine};
/// use capm3_domain::host::{Ownership, ownership};
///
/// assert_eq!(ownership(&Metal3Machine::default(), &BareMetalHost::default()), Ownership::Nobody);
/// ```
pub fn ownership(machine: &Metal3Machine, host: &BareMetalHost) -> Ownership {
    match &host.spec.consumer_ref {
        None => Ownership::Nobody,
        Some(reference) if Consumer::is_machine(reference, machine) => Ownership::Ours,
        Some(reference) => Ownership::Other(reference.into()),
    }
}

/// The reference that makes a host the machine's.
pub fn consumer_ref(machine: &Metal3Machine) -> ConsumerRef {
    ConsumerRef {
        // A constant: what was read may carry an older version, or none.
        api_version: Some(API_VERSION.to_owned()),
        kind: Some(Metal3Machine::API.kind.to_owned()),
        name: machine.metadata.name.clone(),
        namespace: machine.metadata.namespace.clone(),
    }
}

fn names(reference: &ConsumerRef, group: &str, kind: &str, object: &ObjectMeta) -> bool {
    let is = |member: &Option<String>, text: &str| member.as_deref() == Some(text);
    let in_group = reference.api_version.as_deref().and_then(group_of) == Some(group);
    // An object without a name must not meet a reference without one.
    let named = !object.name_str().is_empty();
    named
        && in_group
        && is(&reference.kind, kind)
        && is(&reference.name, object.name_str())
        && is(&reference.namespace, object.namespace_str())
}

/// The group of an `apiVersion`, none if it is not `version` or `group/version`.
pub(super) fn group_of(api_version: &str) -> Option<&str> {
    match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [_] => Some(""),
        [group, _] => Some(group),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_machine_is_the_consumer() {
        let mut machine = Metal3Machine::default();
        machine.metadata.name = Some("m".into());
        machine.metadata.namespace = Some("ns".into());
        let own = "infrastructure.cluster.x-k8s.io/v1beta1";
        let table = [
            (own, "Metal3Machine", "ns", "m", true),
            (own, "Metal3Machine", "ns", "m1", false),
            (own, "Metal3Machine", "other", "m", false),
            (own, "Metal3Machine", "", "m", false),
            (own, "Machine", "ns", "m", false),
            ("cluster.x-k8s.io/v1beta2", "Metal3Machine", "ns", "m", false),
            ("a/b/c", "Metal3Machine", "ns", "m", false),
            ("v1", "Metal3Machine", "ns", "m", false),
        ];
        for (api_version, kind, namespace, name, expected) in table {
            let reference = ConsumerRef {
                api_version: Some(api_version.into()),
                kind: Some(kind.into()),
                name: Some(name.into()),
                namespace: Some(namespace.into()),
            };
            assert_eq!(Consumer::is_machine(&reference, &machine), expected, "{reference:?}");
        }
        assert!(!Consumer::is_machine(&ConsumerRef::default(), &Metal3Machine::default()));
    }
}

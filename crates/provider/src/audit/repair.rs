//! How a contradiction is repaired: by whom, and by which writes.
//!
//! A write is data, with the version of the object that was judged. The same data is shown as a kubectl command and sent to
//! the API server, so that what a person reads is what is done.

use capm3_engine::{Object, ObjectKey, ResourceKind};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Value, json};

/// Who repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// `capm3 audit --fix`: no host in use is touched and nothing is lost.
    Fix,
    /// A person runs the command that is printed, because a host is in use.
    Command,
    /// A person must decide first.
    #[default]
    Person,
}

/// What to do about a contradiction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Repair {
    /// Who does it.
    pub by: By,
    /// What is done and what it leads to.
    pub text: String,
    /// The steps. Where a person decides, each is one way out.
    pub steps: Vec<Step>,
}

impl Repair {
    /// `--fix` does it.
    pub(super) fn fix(text: impl Into<String>, steps: impl Into<Vec<Step>>) -> Self {
        Self { by: By::Fix, text: text.into(), steps: steps.into() }
    }

    /// A person runs these commands.
    pub(super) fn command(text: impl Into<String>, steps: impl Into<Vec<Step>>) -> Self {
        Self { by: By::Command, text: text.into(), steps: steps.into() }
    }

    /// A person decides between these ways out.
    pub(super) fn person(text: impl Into<String>, steps: impl Into<Vec<Step>>) -> Self {
        Self { by: By::Person, text: text.into(), steps: steps.into() }
    }
}

/// The object that a step writes, as it was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its kind.
    pub kind: ResourceKind,
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Option<String>,
    /// Its resourceVersion.
    pub version: Option<String>,
}

impl Target {
    fn of<K: Object>(object: &K) -> Self {
        let meta = object.meta();
        Self {
            kind: ResourceKind::of::<K>(),
            key: object.key(),
            uid: meta.uid.clone(),
            version: meta.resource_version.clone(),
        }
    }
}

/// One step of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A merge patch.
    Patch {
        /// Of which object.
        target: Target,
        /// Whether it is about the status.
        status: bool,
        /// The patch, without the guard.
        patch: Value,
    },
    /// A deletion.
    Delete(Target),
    /// A command that does more than one write.
    Run(String),
}

impl Step {
    /// A patch of an object.
    pub(super) fn patch<K: Object>(object: &K, patch: Value) -> Self {
        Self::Patch { target: Target::of(object), status: false, patch }
    }

    /// A patch of the status of an object.
    pub(super) fn patch_status<K: Object>(object: &K, status: Value) -> Self {
        Self::Patch { target: Target::of(object), status: true, patch: json!({ "status": status }) }
    }

    /// An annotation less.
    pub(super) fn unannotate<K: Object>(object: &K, annotation: &str) -> Self {
        Self::patch(object, json!({"metadata": {"annotations": {annotation: null}}}))
    }

    /// The deletion of an object.
    pub(super) fn delete<K: Object>(object: &K) -> Self {
        Self::Delete(Target::of(object))
    }

    /// `capm3 explain` of an object.
    pub(super) fn explain(kind: &str, key: &ObjectKey) -> Self {
        Self::Run(format!("capm3 explain {kind}/{} -n {}", key.name, key.namespace))
    }

    /// The command that does it.
    pub fn command(&self) -> String {
        match self {
            Self::Patch { target, status, patch } => {
                let part = if *status { " --subresource=status" } else { "" };
                let patch = patch.to_string().replace('\'', r"'\''");
                format!("kubectl patch {}{part} --type=merge -p '{patch}'", resource(target))
            }
            Self::Delete(target) => format!("kubectl delete {}", resource(target)),
            Self::Run(command) => command.clone(),
        }
    }

    /// The object that it writes, if it is one write.
    pub fn target(&self) -> Option<&Target> {
        match self {
            Self::Patch { target, .. } | Self::Delete(target) => Some(target),
            Self::Run(_) => None,
        }
    }
}

/// An object as kubectl is report of it. Two groups have IPAddresses, so those of addresses are named with their group.
fn resource(Target { kind, key, .. }: &Target) -> String {
    let singular = kind.kind.to_lowercase();
    let resource = if kind.group.contains("ipam") { format!("{singular}.{}", kind.group) } else { singular };
    match key.namespace.as_str() {
        "" => format!("{resource} {}", key.name),
        namespace => format!("{resource} {} -n {namespace}", key.name),
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut step = serializer.serialize_struct("Step", 3)?;
        step.serialize_field("command", &self.command())?;
        match self.target().and_then(|target| target.version.as_deref()) {
            Some(version) => step.serialize_field("resourceVersion", version)?,
            None => step.skip_field("resourceVersion")?,
        }
        match self {
            Self::Patch { patch, .. } => step.serialize_field("patch", patch)?,
            _ => step.skip_field("patch")?,
        }
        step.end()
    }
}

#[cfg(test)]
mod tests {
    use capm3_api::{ipam::IpAddress, neighbours::BareMetalHost};

    use super::*;

    #[test]
    fn a_step_is_shown_as_the_command_that_does_it() {
        let host: BareMetalHost = serde_json::from_value(
            json!({"metadata": {"name": "h", "namespace": "ns", "resourceVersion": "7"}}),
        )
        .unwrap();
        let address: IpAddress =
            serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "ns"}})).unwrap();
        let quoted = Step::patch(&host, json!({"metadata": {"labels": {"a": "it's"}}}));
        let table = [
            (
                Step::unannotate(&host, "x"),
                r#"kubectl patch baremetalhost h -n ns --type=merge -p '{"metadata":{"annotations":{"x":null}}}'"#,
            ),
            (
                quoted,
                r#"kubectl patch baremetalhost h -n ns --type=merge -p '{"metadata":{"labels":{"a":"it'\''s"}}}'"#,
            ),
            (
                Step::patch_status(&host, json!({"a": 1})),
                r#"kubectl patch baremetalhost h -n ns --subresource=status --type=merge -p '{"status":{"a":1}}'"#,
            ),
            (Step::delete(&address), "kubectl delete ipaddress.ipam.metal3.io a -n ns"),
            (Step::explain("host", &host.key()), "capm3 explain host/h -n ns"),
        ];
        for (step, expected) in table {
            assert_eq!(step.command(), expected);
        }
        let shown = serde_json::to_value(Step::unannotate(&host, "x")).unwrap();
        assert_eq!(shown["resourceVersion"], "7");
    }
}

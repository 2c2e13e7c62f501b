//! What an audit finds: a contradiction, the facts that show it, and how it is repaired.
//!
//! Plain data, made by the rules. Nothing here reads or writes a cluster.

use capm3_engine::{Object, ObjectKey, ResourceKind};
use serde::{Serialize, Serializer};

use super::repair::Repair;

/// How bad a contradiction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// A host, an index or an address is lost, or is used twice.
    Error,
    /// Something is left over or will not end by itself.
    Warning,
    /// Somebody should know.
    Info,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// An object that a finding speaks of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// Its kind.
    pub kind: ResourceKind,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl Subject {
    /// The object itself.
    pub fn of<K: Object>(object: &K) -> Self {
        Self { kind: ResourceKind::of::<K>(), key: object.key() }
    }

    /// An object of a kind by its key.
    pub fn named<K: Object>(key: &ObjectKey) -> Self {
        Self { kind: ResourceKind::of::<K>(), key: key.clone() }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.kind, self.key)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubjectView<'a> {
    api_version: String,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { kind, key } = self;
        let view = SubjectView {
            api_version: kind.api_version(),
            kind: &kind.kind,
            namespace: &key.namespace,
            name: &key.name,
        };
        view.serialize(serializer)
    }
}

/// One fact of the evidence: what a field of an object says, or that the object is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The object.
    pub object: Subject,
    /// Path of the field; none where the object itself is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What it says; none where the object does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// A contradiction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Code of the rule.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The object that it is about.
    pub object: Subject,
    /// What contradicts what; continues a sentence that begins with the object.
    pub message: String,
    /// The facts.
    pub evidence: Vec<Fact>,
    /// What to do.
    pub repair: Repair,
    /// Whether it is known that none of its objects changed lately.
    pub settled: bool,
}

impl Finding {
    /// A finding without evidence yet; the rule's code and severity are set by the audit.
    pub(super) fn on<K: Object>(object: &K, message: impl Into<String>) -> Self {
        Self {
            code: "",
            severity: Severity::Info,
            object: Subject::of(object),
            message: message.into(),
            evidence: Vec::new(),
            repair: Repair::default(),
            settled: false,
        }
    }

    /// What a field of an object says.
    #[must_use]
    pub(super) fn fact<K: Object>(self, object: &K, field: &str, value: impl ToString) -> Self {
        self.with_fact(Fact {
            object: Subject::of(object),
            field: Some(field.to_owned()),
            value: Some(value.to_string()),
        })
    }

    /// An object that is there and matters as a whole.
    #[must_use]
    pub(super) fn there<K: Object>(self, object: &K) -> Self {
        self.with_fact(Fact { object: Subject::of(object), field: None, value: Some("exists".to_owned()) })
    }

    /// An object that is not there.
    #[must_use]
    pub(super) fn absent<K: Object>(self, key: &ObjectKey) -> Self {
        self.with_fact(Fact { object: Subject::named::<K>(key), field: None, value: None })
    }

    fn with_fact(mut self, fact: Fact) -> Self {
        self.evidence.push(fact);
        self
    }

    /// How it is repaired.
    #[must_use]
    pub(super) fn repair(self, repair: Repair) -> Self {
        Self { repair, ..self }
    }

    /// The objects that do not exist, as far as the audit could see.
    pub fn absences(&self) -> impl Iterator<Item = &Subject> {
        self.evidence.iter().filter(|fact| fact.value.is_none()).map(|fact| &fact.object)
    }

    /// The objects that exist and that it rests on, its own first.
    pub fn rests_on(&self) -> impl Iterator<Item = &Subject> {
        let there = self.evidence.iter().filter(|fact| fact.value.is_some()).map(|fact| &fact.object);
        std::iter::once(&self.object).chain(there)
    }
}

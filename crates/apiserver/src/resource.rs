//! What the server knows about one kind of object: names, scope, versions, and the rules its updates follow.

use std::{fmt, sync::Arc};

use crate::{schema::Schema, selector::SelectableField, status::Subject, table::Column};

/// `group/plural`, the identity of a resource within a cluster; core is the empty group.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ResourceKey(Arc<str>);

impl ResourceKey {
    pub(crate) fn new(group: &str, plural: &str) -> Self {
        Self(format!("{group}/{plural}").into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where the server treats a kind in a special way; ordinary kinds are `Plain`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    Plain,
    Namespace,
    Secret,
    ConfigMap,
    Pod,
    Crd,
    /// Kept status on create, because a kubelet registers its node together with its status.
    Node,
    /// A question that is answered and not kept.
    Review,
    /// An instance of a CRD.
    Custom,
}

/// One kind of object, in all its versions.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) key: ResourceKey,
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) special: Special,
    /// Whether a PUT without a resource version overwrites whatever is stored.
    pub(crate) unconditional_update: bool,
    /// Whether `metadata.generation` is kept.
    pub(crate) has_generation: bool,
    pub(crate) versions: Vec<Arc<Version>>,
    /// The version in which objects are stored.
    pub(crate) storage: Arc<Version>,
}

/// One served version of a kind.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    /// `group/version`, or `v1` for core.
    pub(crate) api_version: String,
    pub(crate) served: bool,
    /// The warning for every caller of a deprecated version.
    pub(crate) deprecation: Option<String>,
    pub(crate) has_status: bool,
    pub(crate) selectable: Vec<SelectableField>,
    /// Absent for built-in kinds, whose content is not checked.
    pub(crate) schema: Option<Schema>,
    /// What a table of these objects shows.
    pub(crate) columns: Vec<Column>,
    /// Where the scale subresource finds its numbers; absent for kinds that do not scale.
    pub(crate) scale: Option<ScalePaths>,
}

/// Where replicas and selector stand in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    pub(crate) selector: Option<Vec<String>>,
}

impl Resource {
    /// What an error about one object of this resource names.
    pub(crate) fn subject(&self, name: &str) -> Box<Subject> {
        Box::new(Subject::new(&self.group, &self.plural, name))
    }

    /// The same by kind, as validation errors do.
    pub(crate) fn kind_subject(&self, name: &str) -> Box<Subject> {
        Box::new(Subject::new(&self.group, &self.kind, name))
    }

    /// A served version by name.
    pub(crate) fn version(&self, name: &str) -> Option<Arc<Version>> {
        self.versions.iter().find(|version| version.served && version.name == name).cloned()
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.special == Special::Custom
    }
}

/// `group/version`, or the bare version for core.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

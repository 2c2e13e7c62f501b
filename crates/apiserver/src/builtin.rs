//! The built-in kinds: a table of names and rules. Their content is not checked against a schema.

use std::sync::Arc;

use crate::{
    resource::{Resource, ResourceKey, Special, Version, api_version},
    selector::SelectableField,
    table,
};

struct Builtin {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_name: &'static str,
    /// Whether `get all` shows it.
    in_all: bool,
    namespaced: bool,
    has_status: bool,
    special: Special,
    selectable: &'static [&'static str],
}

const CORE: Builtin = Builtin {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    short_name: "",
    in_all: false,
    namespaced: true,
    has_status: false,
    special: Special::Plain,
    selectable: &[],
};

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const KINDS: [Builtin; 19] = [
    Builtin {
        kind: "Namespace",
        plural: "namespaces",
        short_name: "ns",
        namespaced: false,
        has_status: true,
        special: Special::Namespace,
        selectable: &["status.phase"],
        ..CORE
    },
    Builtin { kind: "Secret", plural: "secrets", special: Special::Secret, selectable: &["type"], ..CORE },
    Builtin {
        kind: "ConfigMap",
        plural: "configmaps",
        short_name: "cm",
        special: Special::ConfigMap,
        ..CORE
    },
    Builtin { kind: "Event", plural: "events", short_name: "ev", selectable: EVENT_FIELDS, ..CORE },
    Builtin {
        kind: "Node",
        plural: "nodes",
        short_name: "no",
        namespaced: false,
        has_status: true,
        special: Special::Node,
        selectable: &["spec.unschedulable"],
        ..CORE
    },
    Builtin {
        kind: "Pod",
        plural: "pods",
        short_name: "po",
        in_all: true,
        has_status: true,
        special: Special::Pod,
        selectable: &["spec.nodeName", "status.phase"],
        ..CORE
    },
    Builtin { kind: "Service", plural: "services", short_name: "svc", has_status: true, ..CORE },
    Builtin { kind: "ServiceAccount", plural: "serviceaccounts", short_name: "sa", ..CORE },
    // For `kubectl describe namespace`, which says that there are none; nothing here enforces one.
    Builtin {
        kind: "ResourceQuota",
        plural: "resourcequotas",
        short_name: "quota",
        has_status: true,
        ..CORE
    },
    Builtin { kind: "LimitRange", plural: "limitranges", short_name: "limits", ..CORE },
    Builtin { group: "coordination.k8s.io", kind: "Lease", plural: "leases", ..CORE },
    Builtin {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        plural: "volumeattachments",
        namespaced: false,
        has_status: true,
        ..CORE
    },
    Builtin {
        group: "events.k8s.io",
        kind: "Event",
        plural: "events",
        selectable: &["reason", "type"],
        ..CORE
    },
    Builtin {
        group: CRD_GROUP,
        kind: "CustomResourceDefinition",
        plural: CRD_PLURAL,
        short_name: "crd",
        namespaced: false,
        has_status: true,
        special: Special::Crd,
        ..CORE
    },
    Builtin { kind: "TokenReview", plural: "tokenreviews", ..review("authentication.k8s.io") },
    Builtin { kind: "SubjectAccessReview", plural: "subjectaccessreviews", ..review("authorization.k8s.io") },
    Builtin { kind: "SelfSubjectReview", plural: "selfsubjectreviews", ..review("authentication.k8s.io") },
    Builtin {
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        ..review("authorization.k8s.io")
    },
    Builtin {
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        ..review("authorization.k8s.io")
    },
];

const fn review(group: &'static str) -> Builtin {
    Builtin { group, namespaced: false, special: Special::Review, ..CORE }
}

/// Group of `CustomResourceDefinition`.
pub(crate) const CRD_GROUP: &str = "apiextensions.k8s.io";
/// Plural of `CustomResourceDefinition`.
pub(crate) const CRD_PLURAL: &str = "customresourcedefinitions";

/// Every built-in resource.
pub(crate) fn resources() -> impl Iterator<Item = Resource> {
    KINDS.iter().map(resource)
}

fn resource(kind: &Builtin) -> Resource {
    let version = Arc::new(Version {
        name: kind.version.to_owned(),
        api_version: api_version(kind.group, kind.version),
        served: true,
        deprecation: None,
        has_status: kind.has_status,
        selectable: kind.selectable.iter().map(|path| SelectableField::new(path)).collect(),
        schema: None,
        columns: table::builtin_columns(kind.group, kind.kind),
        scale: None,
    });
    Resource {
        key: ResourceKey::new(kind.group, kind.plural),
        group: kind.group.to_owned(),
        plural: kind.plural.to_owned(),
        singular: kind.kind.to_lowercase(),
        kind: kind.kind.to_owned(),
        list_kind: format!("{}List", kind.kind),
        short_names: [kind.short_name]
            .into_iter()
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        categories: kind.in_all.then(|| "all".to_owned()).into_iter().collect(),
        namespaced: kind.namespaced,
        special: kind.special,
        unconditional_update: !matches!(kind.plural, "leases" | CRD_PLURAL),
        has_generation: matches!(kind.special, Special::Crd | Special::Pod),
        versions: vec![Arc::clone(&version)],
        storage: version,
    }
}

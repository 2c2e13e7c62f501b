//! Schemas of the built-in kinds: what people look up, in short. Parts that this server does not look into are open.

use serde_json::{Map, Value, json};

use super::types::{Field, full_name, object};

/// What a built-in kind consists of, besides type and metadata.
struct Kind {
    description: &'static str,
    fields: &'static [Field],
}

/// A type that kinds refer to.
type Part = (&'static str, &'static str, &'static [Field]);

const PARTS: &[Part] = &[
    (
        "ObjectReference",
        "Points to another object.",
        &[
            ("apiVersion", "string", "Group and version."),
            ("kind", "string", "Kind."),
            ("namespace", "string", "Namespace."),
            ("name", "string", "Name."),
            ("uid", "string", "Uid."),
            ("resourceVersion", "string", "The version that was meant."),
            ("fieldPath", "string", "A part of the object."),
        ],
    ),
    (
        "Condition",
        "One aspect of the state of an object.",
        &[
            ("type", "string", "Which aspect."),
            ("status", "string", "True, False or Unknown."),
            ("reason", "string", "Why, as one word."),
            ("message", "string", "Why, in words."),
            ("lastTransitionTime", "time", "When the status changed."),
            ("lastHeartbeatTime", "time", "When the status was last confirmed."),
        ],
    ),
    (
        "Taint",
        "Keeps pods away that do not tolerate it.",
        &[
            ("key", "string", "What is tolerated or not."),
            ("value", "string", "The value of the key."),
            ("effect", "string", "NoSchedule, PreferNoSchedule or NoExecute."),
            ("timeAdded", "time", "When the taint was added."),
        ],
    ),
    (
        "NodeAddress",
        "Where a node can be reached.",
        &[
            ("type", "string", "InternalIP, ExternalIP, Hostname and others."),
            ("address", "string", "The address."),
        ],
    ),
    (
        "NodeSpec",
        "How a node is meant to be.",
        &[
            ("providerID", "string", "The machine behind the node, in the words of its provider."),
            ("unschedulable", "boolean", "Whether new pods stay away."),
            ("taints", "[]&Taint", "What keeps pods away."),
            ("podCIDR", "string", "Addresses for pods."),
            ("podCIDRs", "[]string", "Addresses for pods, one range for each family."),
        ],
    ),
    (
        "NodeStatus",
        "How a node is.",
        &[
            ("addresses", "[]&NodeAddress", "Where it can be reached."),
            ("conditions", "[]&Condition", "What is known about its health."),
            ("capacity", "map", "What it has."),
            ("allocatable", "map", "What it can give to pods."),
            ("nodeInfo", "object", "Identity and versions."),
            ("phase", "string", "No longer filled in."),
            ("images", "[]object", "Container images that are there."),
        ],
    ),
    (
        "NamespaceSpec",
        "How a namespace is meant to be.",
        &[("finalizers", "[]string", "What must be done before it is gone.")],
    ),
    (
        "NamespaceStatus",
        "How a namespace is.",
        &[
            ("phase", "string", "Active or Terminating."),
            ("conditions", "[]&Condition", "What is known about it."),
        ],
    ),
    (
        "EventSource",
        "Who reports.",
        &[("component", "string", "The program."), ("host", "string", "The machine.")],
    ),
];

/// The schema of a kind. Types it refers to are added to `schemas`.
pub(super) fn schema(group: &str, kind: &str, schemas: &mut Map<String, Value>) -> Value {
    for (name, description, fields) in PARTS {
        schemas.entry(full_name(name)).or_insert_with(|| object(description, fields));
    }
    match describe(group, kind) {
        Some(known) => object(known.description, known.fields),
        None => {
            let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            json!({"type": "object", "description": format!("{kind} as in Kubernetes; this server does not look into it."),
                "properties": {"spec": open, "status": open}})
        }
    }
}

/// The fields a kind may have besides type and metadata; `None` if this is not known.
pub(crate) fn known_fields(group: &str, kind: &str) -> Option<Vec<&'static str>> {
    describe(group, kind).map(|kind| kind.fields.iter().map(|(name, _, _)| *name).collect())
}

fn describe(group: &str, kind: &str) -> Option<Kind> {
    let (description, fields): (&str, &[Field]) = match (group, kind) {
        ("", "Namespace") => (
            "A space for names.",
            &[
                ("spec", "&NamespaceSpec", "How it is meant to be."),
                ("status", "&NamespaceStatus", "How it is."),
            ],
        ),
        ("", "Secret") => (
            "Secret holds secret data of a certain type. The total bytes of the values in the Data field must be \
             less than MaxSecretSize bytes.",
            SECRET,
        ),
        ("", "ConfigMap") => ("ConfigMap holds configuration data for pods to consume.", CONFIG_MAP),
        ("", "Node") => (
            "A machine that runs pods.",
            &[("spec", "&NodeSpec", "How it is meant to be."), ("status", "&NodeStatus", "How it is.")],
        ),
        ("", "ServiceAccount") => (
            "An identity for programs.",
            &[
                ("secrets", "[]&ObjectReference", "Secrets it may use."),
                ("imagePullSecrets", "[]&ObjectReference", "Secrets for pulling images."),
                ("automountServiceAccountToken", "boolean", "Whether pods get a token."),
            ],
        ),
        ("", "Event") => ("Something that happened to an object.", EVENT),
        ("events.k8s.io", "Event") => ("Something that happened to an object.", NEW_EVENT),
        ("coordination.k8s.io", "Lease") => (
            "Something only one can hold at a time.",
            &[("spec", "object", "Who holds it, since when and for how long.")],
        ),
        ("authentication.k8s.io", "SelfSubjectReview") => {
            ("Who is asking?", &[("status", "object", "The user, as the server knows it.")])
        }
        ("authentication.k8s.io", "TokenReview") => (
            "Whose token is this?",
            &[("spec", "object", "The token."), ("status", "object", "The user, as the server knows it.")],
        ),
        ("authorization.k8s.io", "SubjectAccessReview") => (
            "May a user do this?",
            &[
                ("spec", "object", "The user, and what it is about: a resource or a path."),
                ("status", "object", "Whether it is allowed."),
            ],
        ),
        ("authorization.k8s.io", "SelfSubjectAccessReview") => (
            "May the one who asks do this?",
            &[
                ("spec", "object", "What it is about: a resource or a path."),
                ("status", "object", "Whether it is allowed."),
            ],
        ),
        ("authorization.k8s.io", "SelfSubjectRulesReview") => (
            "What may the one who asks do?",
            &[
                ("spec", "object", "The namespace it is about."),
                ("status", "object", "The rules that allow something."),
            ],
        ),
        _ => return None,
    };
    Some(Kind { description, fields })
}

const EVENT: &[Field] = &[
    ("involvedObject", "&ObjectReference", "What it happened to."),
    ("related", "&ObjectReference", "Another object that has to do with it."),
    ("type", "string", "Normal or Warning."),
    ("reason", "string", "What happened, as one word."),
    ("message", "string", "What happened, in words."),
    ("action", "string", "What was done about it."),
    ("source", "&EventSource", "Who reports."),
    ("firstTimestamp", "time", "When it happened first."),
    ("lastTimestamp", "time", "When it happened last."),
    ("count", "integer", "How often it happened."),
    ("eventTime", "time", "When it happened."),
    ("series", "object", "How many times the event was repeated."),
    ("reportingComponent", "string", "The controller that reports."),
    ("reportingInstance", "string", "Which of its instances."),
];

// People look these two up most, so they find the words of Kubernetes.
const SECRET: &[Field] = &[
    (
        "data",
        "map",
        "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The \
         serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly \
         non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
    ),
    (
        "stringData",
        "map",
        "stringData allows specifying non-binary secret data in string form. It is provided as a write-only input \
         field for convenience. All keys and values are merged into the data field on write, overwriting any \
         existing values. The stringData field is never output when reading from the API.",
    ),
    (
        "type",
        "string",
        "Used to facilitate programmatic handling of secret data. More info: \
         https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
    ),
    (
        "immutable",
        "boolean",
        "Immutable, if set to true, ensures that data stored in the Secret cannot be updated (only object metadata \
         can be modified). If not set to true, the field can be modified at any time. Defaulted to nil.",
    ),
];

const CONFIG_MAP: &[Field] = &[
    (
        "data",
        "map",
        "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. \
         Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap \
         with the keys in the BinaryData field, this is enforced during validation process.",
    ),
    (
        "binaryData",
        "map",
        "BinaryData contains the binary data. Each key must consist of alphanumeric characters, '-', '_' or '.'. \
         BinaryData can contain byte sequences that are not in the UTF-8 range. The keys stored in BinaryData must not \
         overlap with the ones in the Data field, this is enforced during validation process. Using this field will \
         require 1.10+ apiserver and kubelet.",
    ),
    (
        "immutable",
        "boolean",
        "Immutable, if set to true, ensures that data stored in the ConfigMap cannot be updated (only object metadata \
         can be modified). If not set to true, the field can be modified at any time. Defaulted to nil.",
    ),
];

const NEW_EVENT: &[Field] = &[
    ("regarding", "&ObjectReference", "What it happened to."),
    ("related", "&ObjectReference", "Another object that has to do with it."),
    ("type", "string", "Normal or Warning."),
    ("reason", "string", "What happened, as one word."),
    ("note", "string", "What happened, in words."),
    ("action", "string", "What was done about it."),
    ("eventTime", "time", "When it happened."),
    ("series", "object", "How many times the event was repeated."),
    ("reportingController", "string", "The controller that reports."),
    ("reportingInstance", "string", "Which of its instances."),
    ("deprecatedSource", "&EventSource", "Who reports, in the older form."),
    ("deprecatedFirstTimestamp", "time", "When it happened first."),
    ("deprecatedLastTimestamp", "time", "When it happened last."),
    ("deprecatedCount", "integer", "How often it happened."),
];

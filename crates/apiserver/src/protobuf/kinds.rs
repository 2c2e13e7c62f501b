//! The messages that are read in binary form: field numbers as Kubernetes publishes them, names as in JSON.

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Type {
    Text,
    /// Shown in base64.
    Bytes,
    Number,
    Flag,
    Time,
    Message(&'static Message),
    /// From text to this.
    Map(&'static Type),
}

/// One field of a message.
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) name: &'static str,
    pub(super) kind: Type,
    pub(super) repeated: bool,
}

/// The fields of a message.
pub(super) struct Message(pub(super) &'static [Field]);

const fn one(number: u64, name: &'static str, kind: Type) -> Field {
    Field { number, name, kind, repeated: false }
}

const fn many(number: u64, name: &'static str, kind: Type) -> Field {
    Field { number, name, kind, repeated: true }
}

const TEXTS: Type = Type::Map(&Type::Text);
const BLOBS: Type = Type::Map(&Type::Bytes);

/// The message of a kind, if it is read in binary form.
pub(super) fn find(api_version: &str, kind: &str) -> Option<&'static Message> {
    match (api_version, kind) {
        ("v1", "Namespace") => Some(&NAMESPACE),
        ("v1", "Secret") => Some(&SECRET),
        ("v1", "ConfigMap") => Some(&CONFIG_MAP),
        ("v1", "ServiceAccount") => Some(&SERVICE_ACCOUNT),
        ("authentication.k8s.io/v1", "SelfSubjectReview") => Some(&SELF_SUBJECT_REVIEW),
        ("authorization.k8s.io/v1", "SelfSubjectAccessReview") => Some(&SELF_SUBJECT_ACCESS_REVIEW),
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview") => Some(&SELF_SUBJECT_RULES_REVIEW),
        (_, "DeleteOptions") => Some(&DELETE_OPTIONS),
        _ => None,
    }
}

pub(super) static TYPE_META: Message =
    Message(&[one(1, "apiVersion", Type::Text), one(2, "kind", Type::Text)]);

pub(super) static TIME: Message = Message(&[one(1, "seconds", Type::Number)]);

static OBJECT_META: Message = Message(&[
    one(1, "name", Type::Text),
    one(2, "generateName", Type::Text),
    one(3, "namespace", Type::Text),
    one(5, "uid", Type::Text),
    one(6, "resourceVersion", Type::Text),
    one(7, "generation", Type::Number),
    one(8, "creationTimestamp", Type::Time),
    one(9, "deletionTimestamp", Type::Time),
    one(10, "deletionGracePeriodSeconds", Type::Number),
    one(11, "labels", TEXTS),
    one(12, "annotations", TEXTS),
    many(13, "ownerReferences", Type::Message(&OWNER_REFERENCE)),
    many(14, "finalizers", Type::Text),
]);

static OWNER_REFERENCE: Message = Message(&[
    one(1, "kind", Type::Text),
    one(3, "name", Type::Text),
    one(4, "uid", Type::Text),
    one(5, "apiVersion", Type::Text),
    one(6, "controller", Type::Flag),
    one(7, "blockOwnerDeletion", Type::Flag),
]);

static NAMESPACE: Message = Message(&[one(1, "metadata", Type::Message(&OBJECT_META))]);

static SECRET: Message = Message(&[
    one(1, "metadata", Type::Message(&OBJECT_META)),
    one(2, "data", BLOBS),
    one(3, "type", Type::Text),
    one(4, "stringData", TEXTS),
    one(5, "immutable", Type::Flag),
]);

static CONFIG_MAP: Message = Message(&[
    one(1, "metadata", Type::Message(&OBJECT_META)),
    one(2, "data", TEXTS),
    one(3, "binaryData", BLOBS),
    one(4, "immutable", Type::Flag),
]);

static SERVICE_ACCOUNT: Message = Message(&[
    one(1, "metadata", Type::Message(&OBJECT_META)),
    many(2, "secrets", Type::Message(&OBJECT_REFERENCE)),
    many(3, "imagePullSecrets", Type::Message(&LOCAL_REFERENCE)),
    one(4, "automountServiceAccountToken", Type::Flag),
]);

static OBJECT_REFERENCE: Message = Message(&[
    one(1, "kind", Type::Text),
    one(2, "namespace", Type::Text),
    one(3, "name", Type::Text),
    one(4, "uid", Type::Text),
    one(5, "apiVersion", Type::Text),
    one(6, "resourceVersion", Type::Text),
    one(7, "fieldPath", Type::Text),
]);

static LOCAL_REFERENCE: Message = Message(&[one(1, "name", Type::Text)]);

static SELF_SUBJECT_REVIEW: Message = Message(&[one(1, "metadata", Type::Message(&OBJECT_META))]);

static SELF_SUBJECT_ACCESS_REVIEW: Message = Message(&[
    one(1, "metadata", Type::Message(&OBJECT_META)),
    one(2, "spec", Type::Message(&ACCESS_REVIEW_SPEC)),
]);

static ACCESS_REVIEW_SPEC: Message = Message(&[
    one(1, "resourceAttributes", Type::Message(&RESOURCE_ATTRIBUTES)),
    one(2, "nonResourceAttributes", Type::Message(&NON_RESOURCE_ATTRIBUTES)),
]);

static RESOURCE_ATTRIBUTES: Message = Message(&[
    one(1, "namespace", Type::Text),
    one(2, "verb", Type::Text),
    one(3, "group", Type::Text),
    one(4, "version", Type::Text),
    one(5, "resource", Type::Text),
    one(6, "subresource", Type::Text),
    one(7, "name", Type::Text),
]);

static NON_RESOURCE_ATTRIBUTES: Message = Message(&[one(1, "path", Type::Text), one(2, "verb", Type::Text)]);

static SELF_SUBJECT_RULES_REVIEW: Message = Message(&[
    one(1, "metadata", Type::Message(&OBJECT_META)),
    one(2, "spec", Type::Message(&RULES_REVIEW_SPEC)),
]);

static RULES_REVIEW_SPEC: Message = Message(&[one(1, "namespace", Type::Text)]);

static DELETE_OPTIONS: Message = Message(&[
    one(1, "gracePeriodSeconds", Type::Number),
    one(2, "preconditions", Type::Message(&PRECONDITIONS)),
    one(3, "orphanDependents", Type::Flag),
    one(4, "propagationPolicy", Type::Text),
    many(5, "dryRun", Type::Text),
]);

static PRECONDITIONS: Message = Message(&[one(1, "uid", Type::Text), one(2, "resourceVersion", Type::Text)]);

//! What an answer looks like while a fault lasts: pure functions over the server's JSON.

use capm3_engine::ResourceKind;
use http::StatusCode;
use serde_json::{Value, json};

use super::{AnswerFault, target::Asked};

/// An answer with a whole body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: StatusCode,
    pub(super) body: String,
}

/// What an unserved path answers.
pub(super) fn not_found_text() -> Reply {
    Reply { code: StatusCode::NOT_FOUND, body: "404 page not found\n".to_owned() }
}

fn status(code: StatusCode, reason: &str, message: &str, details: &Value) -> Reply {
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason,
        "message": message, "details": details, "code": code.as_u16()});
    Reply { code, body: body.to_string() }
}

/// The answer that is given without asking the server; `None` where the server is asked.
pub(super) fn refusal(fault: AnswerFault, kind: &ResourceKind, asked: Asked, version: &str) -> Option<Reply> {
    let of_objects = matches!(asked, Asked::List | Asked::Watch | Asked::Get | Asked::Write);
    match fault {
        AnswerFault::NotFoundText if of_objects => Some(not_found_text()),
        AnswerFault::NotFoundOther if of_objects => {
            let details = json!({"name": "elsewhere", "kind": "configmaps"});
            Some(status(StatusCode::NOT_FOUND, "NotFound", "configmaps \"elsewhere\" not found", &details))
        }
        AnswerFault::Forbidden if of_objects => {
            let resource = format!("{}.{}", kind.plural, kind.group);
            let message = format!("{resource} is forbidden: the lab took the right away");
            let details = json!({"group": kind.group, "kind": kind.plural});
            Some(status(StatusCode::FORBIDDEN, "Forbidden", &message, &details))
        }
        AnswerFault::NotServed if of_objects && version == kind.version => Some(not_found_text()),
        AnswerFault::CrdGone if of_objects => Some(not_found_text()),
        AnswerFault::CrdGone if asked == Asked::Definition => {
            let name = format!("{}.{}", kind.plural, kind.group);
            let message = format!("customresourcedefinitions.apiextensions.k8s.io \"{name}\" not found");
            let details =
                json!({"name": name, "group": "apiextensions.k8s.io", "kind": "customresourcedefinitions"});
            Some(status(StatusCode::NOT_FOUND, "NotFound", &message, &details))
        }
        _ => None,
    }
}

/// Whether the server's answer is rewritten.
pub(super) fn rewrites(fault: AnswerFault, asked: Asked) -> bool {
    match fault {
        AnswerFault::EmptyList | AnswerFault::PartialList => asked == Asked::List,
        AnswerFault::Unreadable => matches!(asked, Asked::List | Asked::Get),
        AnswerFault::NotServed | AnswerFault::CrdGone => {
            use Asked::{AllResources, Definition, Definitions, Resources};
            matches!(asked, Resources | AllResources | Definition | Definitions)
        }
        _ => false,
    }
}

/// The server's answer as the fault shows it. `is_victim` says which object cannot be read.
pub(super) fn rewrite(
    fault: AnswerFault,
    kind: &ResourceKind,
    (asked, version): (Asked, &str),
    body: &mut Value,
    is_victim: impl Fn(&Value) -> bool,
) -> Option<Reply> {
    match (fault, asked) {
        (AnswerFault::EmptyList, _) => empty(body),
        (AnswerFault::PartialList, _) => thin(body),
        (AnswerFault::Unreadable, Asked::List) => {
            items(body).filter(|item| is_victim(item)).for_each(spoil);
        }
        (AnswerFault::Unreadable, _) if is_victim(body) => spoil(body),
        (AnswerFault::NotServed, Asked::Resources) if version != kind.version => {}
        (AnswerFault::NotServed | AnswerFault::CrdGone, Asked::Resources) => {
            let left = drop_resource(body, kind);
            return (!left).then(not_found_text);
        }
        (AnswerFault::NotServed | AnswerFault::CrdGone, Asked::AllResources) => {
            let version = (fault == AnswerFault::NotServed).then_some(kind.version.as_str());
            drop_everywhere(body, kind, version);
        }
        (AnswerFault::NotServed, Asked::Definition) => unserve(body, kind),
        (AnswerFault::NotServed | AnswerFault::CrdGone, Asked::Definitions) => {
            let name = format!("{}.{}", kind.plural, kind.group);
            let is_it = |item: &Value| item.pointer("/metadata/name").is_some_and(|it| *it == *name);
            if fault == AnswerFault::NotServed {
                items(body).filter(|item| is_it(item)).for_each(|item| unserve(item, kind));
            } else if let Some(list) = body.get_mut("items").and_then(Value::as_array_mut) {
                list.retain(|item| !is_it(item));
            }
        }
        _ => {}
    }
    None
}

fn items(body: &mut Value) -> impl Iterator<Item = &mut Value> {
    body.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten()
}

/// A list of nothing, whole on its first page.
fn empty(body: &mut Value) {
    if let Some(list) = body.get_mut("items") {
        *list = json!([]);
    }
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|member, _| member == "resourceVersion");
    }
}

/// Without the first object, the third one and so on: a kind with one object loses it.
fn thin(body: &mut Value) {
    if let Some(list) = body.get_mut("items").and_then(Value::as_array_mut) {
        let mut at = 0_usize;
        list.retain(|_| {
            at += 1;
            at.is_multiple_of(2)
        });
    }
}

/// Puts a value of the wrong type into an object: into its spec, or into its metadata if it has no spec.
pub(super) fn spoil(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec") {
        *spec = json!("not an object");
    } else if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("labels".to_owned(), json!(7));
    }
}

/// Takes a kind out of the resources of a version; whether any are left.
fn drop_resource(body: &mut Value, kind: &ResourceKind) -> bool {
    let Some(resources) = body.get_mut("resources").and_then(Value::as_array_mut) else { return true };
    let is_of_kind = |name: &str| name.split('/').next() == Some(&kind.plural);
    resources.retain(|resource| !resource.get("name").and_then(Value::as_str).is_some_and(is_of_kind));
    !resources.is_empty()
}

/// Takes a kind out of aggregated discovery, in one version or in all. The short form names no resources.
fn drop_everywhere(body: &mut Value, kind: &ResourceKind, version: Option<&str>) {
    let of_group = |group: &&mut Value| group.pointer("/metadata/name").is_some_and(|it| *it == *kind.group);
    for group in items(body).filter(of_group) {
        let versions = group.get_mut("versions").and_then(Value::as_array_mut);
        for served in versions.into_iter().flatten() {
            if version.is_some_and(|version| served.get("version").is_none_or(|it| *it != *version)) {
                continue;
            }
            if let Some(resources) = served.get_mut("resources").and_then(Value::as_array_mut) {
                resources.retain(|it| it.get("resource").is_none_or(|name| *name != *kind.plural));
            }
        }
    }
}

/// Says in a definition that the version is not served.
fn unserve(definition: &mut Value, kind: &ResourceKind) {
    let versions = definition.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in
        versions.into_iter().flatten().filter(|it| it.get("name").is_some_and(|n| *n == *kind.version))
    {
        if let Some(fields) = version.as_object_mut() {
            fields.insert("served".to_owned(), json!(false));
        }
    }
}

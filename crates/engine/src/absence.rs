//! Proof that an object is gone. An absence by itself proves nothing: a version that is not served, a load balancer, a
//! restore or a definition being deleted look alike.
//!
//! Takes an object that the cache does not show, asks the server, and gives a [`Verdict`]. Every decision that takes
//! something away because of an absence asks here; whatever is not proven is kept. What the server shows enters the cache.

use std::{fmt, time::Duration};

use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Caches, ObjectKey, ResourceKind,
    client::{ApiClient, ApiError, Detail},
};

/// How long the copy of a kind must have been synced without an outage before an absence in it counts.
pub const HEALTHY_FOR: Duration = Duration::from_secs(60);

/// What became of an object that the cache does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is gone, and the cache knows that.
    Gone,
    /// It is there.
    Present,
    /// It cannot be known.
    Unknown(Doubt),
}

/// Why an absence is not proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// The kind is not watched without an outage for long enough; so long it takes at least.
    NotSynced(Duration),
    /// The server does not list the kind under its version.
    NotServed,
    /// The definition of the kind is not there.
    NoDefinition,
    /// The definition of the kind is being deleted, and all its objects with it.
    DefinitionDeleting,
    /// The definition of the kind is not established.
    DefinitionNotEstablished,
    /// The namespace is not there.
    NoNamespace,
    /// The server denies the object and lists it.
    Listed,
    /// The server says of another object that it is not there.
    OtherSubject,
    /// The object is there, but the cache does not show it: it cannot be parsed, or a watch has reported its end.
    NotCached,
}

impl Doubt {
    /// When asking again may help.
    pub fn retry_after(&self) -> Duration {
        match self {
            Self::NotSynced(left) => (*left).max(Duration::from_secs(1)),
            _ => HEALTHY_FOR,
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSynced(_) => "the watch of its kind has been stable for less than a minute",
            Self::NotServed => "the API server does not serve its kind under this version",
            Self::NoDefinition => "the CustomResourceDefinition of its kind is not installed",
            Self::DefinitionDeleting => "the CustomResourceDefinition of its kind is being deleted",
            Self::DefinitionNotEstablished => "the CustomResourceDefinition of its kind is not established",
            Self::NoNamespace => "its namespace is not found",
            Self::Listed => "the API server does not find it by name but lists it",
            Self::OtherSubject => "the answer of the API server is about another object",
            Self::NotCached => "it exists, but the cache does not contain it",
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OnlyMetadata {
    metadata: ObjectMeta,
}

/// Proves the absence of one object.
pub async fn prove_absent(
    client: &ApiClient,
    caches: &Caches,
    kind: &ResourceKind,
    key: &ObjectKey,
) -> Result<Verdict, ApiError> {
    if caches.is_known_absent(kind, key) {
        return Ok(Verdict::Gone);
    }
    or_unknown(ask_for_one(client, caches, kind, key).await)
}

/// A 404 that is not about the very object proves nothing.
fn or_unknown(verdict: Result<Verdict, ApiError>) -> Result<Verdict, ApiError> {
    match verdict {
        Err(ApiError::NotServed { .. }) => Ok(Verdict::Unknown(Doubt::NotServed)),
        Err(ApiError::NotFound { .. }) => Ok(Verdict::Unknown(Doubt::OtherSubject)),
        verdict => verdict,
    }
}

async fn ask_for_one(
    client: &ApiClient,
    caches: &Caches,
    kind: &ResourceKind,
    key: &ObjectKey,
) -> Result<Verdict, ApiError> {
    if let Some(found) = client.get::<Value>(kind, key).await? {
        return Ok(if take_in(caches, kind, key, found) {
            Verdict::Present
        } else {
            Verdict::Unknown(Doubt::NotCached)
        });
    }
    if let Some(doubt) = doubt_about(client, caches, kind, &key.namespace).await? {
        return Ok(Verdict::Unknown(doubt));
    }
    let mut token: Option<String> = None;
    loop {
        let page = client.list_page::<OnlyMetadata>(kind, &key.namespace, Detail::Metadata, token.as_deref());
        let page = page.await?;
        if page.items.iter().any(|item| item.metadata.name.as_deref() == Some(key.name.as_str())) {
            return Ok(Verdict::Unknown(Doubt::Listed));
        }
        token = page.metadata.continue_;
        if token.is_none() {
            caches.forget(kind, key, caches.version(kind, key));
            caches.proved_absent(kind, key);
            return Ok(Verdict::Gone);
        }
    }
}

/// Proves that no object of a kind in a namespace is one of those that `is_wanted` tells. Every object of the list
/// enters the cache, so that the next observation shows what was found.
pub async fn prove_none(
    client: &ApiClient,
    caches: &Caches,
    kind: &ResourceKind,
    namespace: &str,
    is_wanted: impl Fn(&Value) -> bool,
) -> Result<Verdict, ApiError> {
    let asked = async {
        if let Some(doubt) = doubt_about(client, caches, kind, namespace).await? {
            return Ok(Verdict::Unknown(doubt));
        }
        let mut verdict = Verdict::Gone;
        let mut token: Option<String> = None;
        loop {
            let page = client.list_page::<Value>(kind, namespace, Detail::Whole, token.as_deref()).await?;
            for object in page.items {
                let is_wanted = is_wanted(&object);
                let is_cached = take_in_item(caches, kind, namespace, object);
                match (is_wanted, is_cached) {
                    (true, false) => verdict = Verdict::Unknown(Doubt::NotCached),
                    (true, true) if verdict == Verdict::Gone => verdict = Verdict::Present,
                    _ => {}
                }
            }
            token = page.metadata.continue_;
            if token.is_none() {
                return Ok(verdict);
            }
        }
    };
    or_unknown(asked.await)
}

/// Takes an item of a list into the cache; whether the cache shows it then.
fn take_in_item(caches: &Caches, kind: &ResourceKind, namespace: &str, mut item: Value) -> bool {
    // Items of a list carry no kind; the cache does not need it either.
    if let Some(item) = item.as_object_mut() {
        item.remove("kind");
    }
    let name = item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let key = ObjectKey::new(namespace, name);
    take_in(caches, kind, &key, item)
}

/// Takes an object into the cache of its kind, if there is one; whether the cache shows it then.
fn take_in(caches: &Caches, kind: &ResourceKind, key: &ObjectKey, object: Value) -> bool {
    caches.feed(kind, &object);
    caches.health_of(kind).is_none() || caches.version(kind, key) > 0
}

/// Why answers of the server about a kind in a namespace prove nothing at present.
async fn doubt_about(
    client: &ApiClient,
    caches: &Caches,
    kind: &ResourceKind,
    namespace: &str,
) -> Result<Option<Doubt>, ApiError> {
    if let Some(doubt) = caches.health_of(kind).and_then(|health| unsynced(health.synced_for())) {
        return Ok(Some(doubt));
    }
    if !is_listed(&discovered(client, kind).await?, kind) {
        return Ok(Some(Doubt::NotServed));
    }
    if let Some(doubt) = doubt_about_definition(client, kind).await? {
        return Ok(Some(doubt));
    }
    let key = ObjectKey::new("", namespace);
    let is_there = namespace.is_empty()
        || client
            .get_with::<OnlyMetadata>(&ResourceKind::namespaces(), &key, Detail::Metadata)
            .await?
            .is_some();
    Ok((!is_there).then_some(Doubt::NoNamespace))
}

/// Whether the definition of a kind, if it is a custom one, lets an absence count.
async fn doubt_about_definition(client: &ApiClient, kind: &ResourceKind) -> Result<Option<Doubt>, ApiError> {
    if kind.is_built_in() {
        return Ok(None);
    }
    let definition = client.get::<Value>(&ResourceKind::definitions(), &kind.definition_key()).await?;
    Ok(judge_definition(definition.as_ref()))
}

/// Whether the definition of a kind is being deleted. Then all its objects are marked as deleted, though nobody wants
/// what they stand for to be taken apart.
pub async fn is_definition_deleting(client: &ApiClient, kind: &ResourceKind) -> Result<bool, ApiError> {
    let (definitions, key) = (ResourceKind::definitions(), kind.definition_key());
    let definition = client.get_with::<OnlyMetadata>(&definitions, &key, Detail::Metadata).await?;
    // An object of a kind without definition is being deleted with it.
    Ok(definition.is_none_or(|definition| definition.metadata.deletion_timestamp.is_some()))
}

fn unsynced(synced_for: Option<Duration>) -> Option<Doubt> {
    let left = HEALTHY_FOR.saturating_sub(synced_for.unwrap_or_default());
    (!left.is_zero()).then_some(Doubt::NotSynced(left))
}

/// The resources of the kind's group and version; none if the server does not serve them.
async fn discovered(client: &ApiClient, kind: &ResourceKind) -> Result<Value, ApiError> {
    match client.discover::<Value>(kind).await {
        Err(ApiError::NotServed { .. } | ApiError::NotFound { .. }) => Ok(Value::Null),
        answer => answer,
    }
}

fn is_listed(discovered: &Value, kind: &ResourceKind) -> bool {
    let resources = discovered.pointer("/resources").and_then(Value::as_array);
    let is_it = |resource: &Value| resource.pointer("/name").is_some_and(|name| *name == kind.plural);
    resources.into_iter().flatten().any(is_it)
}

fn judge_definition(definition: Option<&Value>) -> Option<Doubt> {
    let Some(definition) = definition else { return Some(Doubt::NoDefinition) };
    if definition.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return Some(Doubt::DefinitionDeleting);
    }
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    let is_established = |condition: &Value| {
        condition.pointer("/type").is_some_and(|type_| type_ == "Established")
            && condition.pointer("/status").is_some_and(|status| status == "True")
    };
    let is_established = conditions.into_iter().flatten().any(is_established);
    (!is_established).then_some(Doubt::DefinitionNotEstablished)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_lets_an_absence_count_only_while_it_is_established_and_stays() {
        let established =
            json!([{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]);
        let table = [
            (None, Some(Doubt::NoDefinition)),
            (Some(json!({"status": {"conditions": established}})), None),
            (
                Some(
                    json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"conditions": established}}),
                ),
                Some(Doubt::DefinitionDeleting),
            ),
            (
                Some(json!({"status": {"conditions": [{"type": "Established", "status": "False"}]}})),
                Some(Doubt::DefinitionNotEstablished),
            ),
            (Some(json!({})), Some(Doubt::DefinitionNotEstablished)),
        ];
        for (definition, expected) in table {
            assert_eq!(judge_definition(definition.as_ref()), expected, "{definition:?}");
        }
    }

    #[test]
    fn a_kind_counts_as_served_only_if_discovery_names_it() {
        let kind =
            ResourceKind { group: "g".into(), version: "v1".into(), kind: "K".into(), plural: "ks".into() };
        let table = [
            (json!({"resources": [{"name": "others"}, {"name": "ks"}]}), true),
            (json!({"resources": [{"name": "ks/status"}]}), false),
            (json!({"resources": []}), false),
            (Value::Null, false),
        ];
        for (discovered, expected) in table {
            assert_eq!(is_listed(&discovered, &kind), expected, "{discovered}");
        }
    }

    #[test]
    fn a_copy_must_have_been_synced_for_a_minute() {
        let table =
            [(None, Some(60)), (Some(0), Some(60)), (Some(59), Some(1)), (Some(60), None), (Some(600), None)];
        for (synced, left) in table {
            let doubt = unsynced(synced.map(Duration::from_secs));
            assert_eq!(doubt, left.map(|left| Doubt::NotSynced(Duration::from_secs(left))), "{synced:?}");
        }
    }
}

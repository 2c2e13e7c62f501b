//! Lists: which objects, as of which revision, in which pages. Reads only.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::{
    meta::str_at,
    request::Query,
    resource::Version,
    selector::{FieldSelector, LabelSelector},
    status::{ApiError, ApiResult},
    store::{object::Stored, table::Table},
};

/// Which objects of a resource a caller wants to see.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// `None` for all namespaces.
    pub(crate) namespace: Option<Arc<str>>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Filter {
    pub(crate) fn new(namespace: Option<Arc<str>>, query: &Query, version: &Version) -> ApiResult<Self> {
        let refused = |error: crate::selector::SelectorError| ApiError::bad_request(error.to_string());
        let labels = LabelSelector::parse(&query.label_selector).map_err(refused)?;
        let fields = FieldSelector::parse(&query.field_selector, &version.selectable).map_err(refused)?;
        Ok(Self { namespace, labels, fields })
    }

    /// Whether an object of the right namespace is wanted.
    pub(crate) fn selects(&self, object: &Stored) -> bool {
        if self.labels.is_empty() && self.fields.is_empty() {
            return true;
        }
        let object = if self.fields.need_body() { object.value() } else { object.metadata_value() };
        self.labels.matches(&object) && self.fields.matches(&object)
    }

    /// The wanted objects in key order.
    pub(crate) fn objects<'t>(&'t self, table: &'t Table) -> Vec<Arc<Stored>> {
        if let (Some(namespace), Some(name)) = (self.namespace.as_deref(), self.fields.exact_name()) {
            return table
                .objects
                .get(namespace, name)
                .filter(|it| self.selects(it))
                .cloned()
                .into_iter()
                .collect();
        }
        let wanted =
            table.objects.iter(self.namespace.as_deref()).filter(|(_, _, object)| self.selects(object));
        wanted.map(|(_, _, object)| Arc::clone(object)).collect()
    }
}

/// One page of a list.
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Stored>>,
    /// The `metadata` of the list.
    pub(crate) metadata: Value,
}

/// Where the next page starts, and of which revision it is.
#[derive(Debug, PartialEq, Eq)]
struct Token {
    revision: u64,
    namespace: String,
    name: String,
}

impl Token {
    fn encode(&self) -> String {
        BASE64_URL_SAFE_NO_PAD
            .encode(json!({"rv": self.revision, "ns": self.namespace, "after": self.name}).to_string())
    }

    fn decode(text: &str) -> ApiResult<Self> {
        let decoded = BASE64_URL_SAFE_NO_PAD
            .decode(text)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let token = decoded.and_then(|token| {
            let revision = token.get("rv")?.as_u64()?;
            Some(Self {
                revision,
                namespace: str_at(&token, "ns").to_owned(),
                name: str_at(&token, "after").to_owned(),
            })
        });
        token.ok_or_else(|| ApiError::bad_request("continue key is not valid"))
    }
}

/// Lists what `filter` wants, at most `query.limit` objects, as of the revision the caller is bound to.
pub(crate) fn list(table: &Table, current: u64, filter: &Filter, query: &Query) -> ApiResult<Page> {
    let token =
        (!query.continue_token.is_empty()).then(|| Token::decode(&query.continue_token)).transpose()?;
    let revision = match &token {
        Some(token) => token.revision,
        None => asked_revision(query, current)?,
    };
    let mut objects =
        if revision == current { filter.objects(table) } else { as_of(table, revision, filter)? };
    if let Some(token) = &token {
        let seen = objects.partition_point(|object| key(object) <= (&token.namespace, &token.name));
        objects.drain(..seen);
    }
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if let Some(limit) = query.limit.filter(|limit| *limit < objects.len()) {
        let remaining = objects.len() - limit;
        objects.truncate(limit);
        if let (Some(last), Some(fields)) = (objects.last(), metadata.as_object_mut()) {
            let (namespace, name) = key(last);
            let next = Token { revision, namespace: namespace.to_owned(), name: name.to_owned() };
            fields.insert("continue".to_owned(), json!(next.encode()));
            if query.label_selector.is_empty() && query.field_selector.is_empty() {
                fields.insert("remainingItemCount".to_owned(), json!(remaining));
            }
        }
    }
    Ok(Page { objects, metadata })
}

fn key(object: &Stored) -> (&str, &str) {
    (&object.head.namespace, &object.head.name)
}

/// Lists are always up to date, which satisfies "any" and "not older than"; only "exact" looks back.
fn asked_revision(query: &Query, current: u64) -> ApiResult<u64> {
    let asked = parse_revision(&query.resource_version)?;
    if asked > current {
        return Err(ApiError::TooLargeResourceVersion { asked, current });
    }
    Ok(if query.resource_version_match == "Exact" && asked > 0 { asked } else { current })
}

/// A revision in a query; absent means 0.
pub(crate) fn parse_revision(text: &str) -> ApiResult<u64> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        ApiError::bad_request(format!(
            "resourceVersion: Invalid value: {text:?}: must be an unsigned integer"
        ))
    })
}

/// The objects as they were, by undoing what the log says happened since.
fn as_of(table: &Table, revision: u64, filter: &Filter) -> ApiResult<Vec<Arc<Stored>>> {
    let expired = || {
        ApiError::Expired(
            "The provided continue parameter is too old to display a consistent list result. You must start a new list \
             without the continue parameter."
                .to_owned(),
        )
    };
    let events =
        table.log.after(revision).and_then(|position| table.log.since(position)).ok_or_else(expired)?;
    let mut objects: BTreeMap<(String, String), Arc<Stored>> = BTreeMap::new();
    let owned = |object: &Stored| {
        let (namespace, name) = key(object);
        (namespace.to_owned(), name.to_owned())
    };
    for (_, _, object) in table.objects.iter(filter.namespace.as_deref()) {
        objects.insert(owned(object), Arc::clone(object));
    }
    let events: Vec<_> = events.collect();
    for event in events.into_iter().rev() {
        match &event.previous {
            Some(previous) => objects.insert(owned(previous), Arc::clone(previous)),
            None => objects.remove(&owned(&event.object)),
        };
    }
    let wanted = |object: &Arc<Stored>| {
        filter.namespace.as_deref().is_none_or(|namespace| key(object).0 == namespace)
            && filter.selects(object)
    };
    Ok(objects.into_values().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_the_way_to_the_client_and_back() {
        let token = Token { revision: 7, namespace: "n".into(), name: "x".into() };
        assert_eq!(Token::decode(&token.encode()), Ok(token));
        assert!(Token::decode("???").is_err());
    }
}

//! Structural schemas of CRDs, compiled once per CRD version.
//!
//! `compile` reads the OpenAPI text, `normalise` prunes and defaults an object in one walk, `validate` judges it.
//! Normalising and validating are two walks because mutating admission runs between them.

mod compile;
mod format;
mod normalise;
pub(crate) mod path;
mod pattern;
mod rules;
mod unique;
mod validate;

use std::collections::BTreeMap;

use serde_json::Value;

pub(crate) use self::compile::compile;
use self::{format::Format, pattern::Pattern};
use crate::field::FieldError;

/// A compiled schema node.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    kind: Option<Kind>,
    nullable: bool,
    int_or_string: bool,
    preserve_unknown: bool,
    embedded: bool,
    properties: BTreeMap<String, Schema>,
    additional: Additional,
    items: Option<Box<Schema>>,
    default: Option<Value>,
    list: ListKind,
    rules: Rules,
}

/// The JSON types a schema can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// What a schema says about fields that are not in `properties`.
#[derive(Debug, Default)]
enum Additional {
    #[default]
    Unspecified,
    Any,
    Schema(Box<Schema>),
}

/// How the items of a list are distinguished.
#[derive(Debug, Default, PartialEq, Eq)]
enum ListKind {
    #[default]
    Atomic,
    Set,
    Map(Vec<String>),
}

/// Value checks of one node.
#[derive(Debug, Default)]
struct Rules {
    required: Vec<String>,
    allowed: Option<Vec<Value>>,
    pattern: Option<Pattern>,
    format: Option<Format>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    minimum: Option<Bound>,
    maximum: Option<Bound>,
    multiple_of: Option<f64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    not: Option<Box<Schema>>,
}

/// A limit for numbers.
#[derive(Clone, Copy, Debug)]
struct Bound {
    limit: f64,
    exclusive: bool,
}

impl Schema {
    /// Drops fields the schema does not know and nulls it does not allow, and fills in defaults.
    pub(crate) fn normalise(&self, object: &mut Value) {
        normalise::normalise(self, object, None);
    }

    /// Does the same and gives the paths of the unknown fields.
    pub(crate) fn normalise_strictly(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        normalise::normalise(self, object, Some(&mut unknown));
        unknown
    }

    /// Everything that is wrong with a whole object, or with what an update changed of `old`. `metadata` is judged
    /// elsewhere.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        validate::validate(self, object, old)
    }
}

/// The fields every Kubernetes object has; a schema never prunes them from the root or an embedded object.
fn is_type_or_object_meta(field: &str) -> bool {
    matches!(field, "apiVersion" | "kind" | "metadata")
}

//! Lists whose items must differ, and are compared with those of before: sets by value, maps by their keys.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{ListKind, Schema, path::Path};
use crate::field::{FieldError, show};

impl Schema {
    pub(super) fn check_unique(&self, items: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
        if self.list == ListKind::Atomic {
            return;
        }
        // An ordered set of texts: lists may be long, and comparing every pair would not stay cheap.
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            if !seen.insert(self.identity(item)) {
                errors.push(FieldError::duplicate(path.index(index).text(), &self.show_identity(item)));
            }
        }
    }

    /// Text that is equal for items that count as the same.
    pub(super) fn identity(&self, item: &Value) -> String {
        let mut identity = String::new();
        match &self.list {
            ListKind::Map(keys) => keys.iter().for_each(|key| canonical(item.get(key), &mut identity)),
            ListKind::Set | ListKind::Atomic => canonical(Some(item), &mut identity),
        }
        identity
    }

    /// The items of an old list by identity, to compare with new ones; items of other lists than maps have none.
    pub(super) fn by_identity<'o>(&self, old: Option<&'o Value>) -> BTreeMap<String, &'o Value> {
        let items = old.and_then(Value::as_array).filter(|_| matches!(self.list, ListKind::Map(_)));
        // The first of equal items counts, so it comes last.
        items.into_iter().flatten().rev().map(|item| (self.identity(item), item)).collect()
    }

    fn show_identity(&self, item: &Value) -> String {
        let ListKind::Map(keys) = &self.list else {
            return show(item);
        };
        let present = |key: &String| item.get(key).map(|value| (key.clone(), value.clone()));
        show(&Value::Object(keys.iter().filter_map(present).collect()))
    }
}

/// Appends text that is equal for equal values, whatever the order of their fields.
fn canonical(value: Option<&Value>, text: &mut String) {
    match value {
        None => text.push('?'),
        Some(Value::String(string)) => {
            // The length first, so that neighbours cannot run together.
            text.push_str(&string.len().to_string());
            text.push('"');
            text.push_str(string);
        }
        Some(Value::Object(fields)) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            text.push('{');
            for name in names {
                canonical(Some(&Value::String(name.clone())), text);
                canonical(fields.get(name), text);
            }
            text.push('}');
        }
        Some(Value::Array(items)) => {
            text.push('[');
            items.iter().for_each(|item| canonical(Some(item), text));
            text.push(']');
        }
        Some(scalar) => {
            text.push('#');
            text.push_str(&scalar.to_string());
            text.push(',');
        }
    }
}

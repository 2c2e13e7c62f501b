//! Server-side printing: takes objects and the columns of their kind, gives the rows of a `Table`. Formats only; what
//! is listed is decided elsewhere.

mod age;
mod builtin;
mod jsonpath;
mod node;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::jsonpath::JsonPath;
use crate::meta::{self, str_at};

pub(crate) use self::builtin::columns as builtin_columns;

/// The version of the `Table` kind.
const META_API: &str = "meta.k8s.io/v1";

/// How much of an object goes with its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Include {
    None,
    #[default]
    Metadata,
    Object,
}

/// One column.
#[derive(Debug)]
pub(crate) struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    /// Above 0 only wide output shows it.
    priority: i64,
    cell: Cell,
}

type Print = fn(&Value, Timestamp) -> Value;

/// Where the text of a column comes from.
#[derive(Debug)]
enum Cell {
    /// As a definition describes it; `None` if its path cannot be read, which shows as an empty cell.
    Path(Option<JsonPath>),
    /// As the server knows built-in kinds.
    Print(Print),
}

impl Column {
    fn built_in(name: &str, kind: &str, priority: i64, print: Print) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: String::new(),
            priority,
            cell: Cell::Print(print),
        }
    }

    fn name() -> Self {
        Self {
            format: "name".to_owned(),
            description: "The name of the object, unique within its namespace and kind.".to_owned(),
            ..Self::built_in("Name", "string", 0, |object, _| json!(meta::name(object)))
        }
    }

    fn age() -> Self {
        Self::built_in("Age", "string", 0, |object, now| {
            json!(age::since(meta::text(object, "creationTimestamp"), now))
        })
    }

    fn described(column: &Value) -> Self {
        let text = |field: &str| str_at(column, field).to_owned();
        Self {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description: text("description"),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            cell: Cell::Path(JsonPath::parse(str_at(column, "jsonPath"))),
        }
    }

    fn definition(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "format": self.format, "description": self.description,
            "priority": self.priority})
    }

    fn print(&self, object: &Value, now: Timestamp) -> Value {
        match &self.cell {
            Cell::Print(print) => print(object, now),
            Cell::Path(path) => {
                let found = path.as_ref().and_then(|path| path.first(object));
                found.map_or(Value::Null, |found| self.cell_of(found, now))
            }
        }
    }

    /// A value in the type its column promises; what does not fit stays empty.
    fn cell_of(&self, value: &Value, now: Timestamp) -> Value {
        match (self.kind.as_str(), value) {
            ("integer", Value::Number(number)) => {
                let whole = number.as_i64().or_else(|| number.as_f64().map(|it| it as i64));
                json!(whole)
            }
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) | ("string", Value::String(_)) => {
                value.clone()
            }
            ("date", Value::String(text)) => json!(age::since(text, now)),
            ("string", Value::Null) => Value::Null,
            ("string", other) => json!(other.to_string()),
            _ => Value::Null,
        }
    }
}

/// The columns of a custom resource: its name, and what the definition says, or its age.
pub(crate) fn custom_columns(version: &Value) -> Vec<Column> {
    let described =
        version.get("additionalPrinterColumns").and_then(Value::as_array).filter(|it| !it.is_empty());
    let mut columns = vec![Column::name()];
    match described {
        Some(described) => columns.extend(described.iter().map(Column::described)),
        None => columns.push(Column::age()),
    }
    columns
}

/// A whole table. Definitions are left out where the reader has them already.
pub(crate) fn table(metadata: &Value, columns: Option<&[Column]>, rows: Vec<Value>) -> Value {
    let definitions: Vec<Value> = columns.unwrap_or_default().iter().map(Column::definition).collect();
    json!({"kind": "Table", "apiVersion": META_API, "metadata": metadata, "columnDefinitions": definitions, "rows": rows})
}

/// One object as a row.
pub(crate) fn row(columns: &[Column], object: Value, include: Include, now: Timestamp) -> Value {
    let cells: Vec<Value> = columns.iter().map(|column| column.print(&object, now)).collect();
    let shown = match include {
        Include::None => Value::Null,
        Include::Object => object,
        Include::Metadata => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": META_API, "metadata": meta::of(&object)})
        }
    };
    json!({"cells": cells, "object": shown})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    #[test]
    fn a_cell_has_the_type_its_column_promises() {
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-02T03:03:05Z"},
            "spec": {"n": 3, "f": 2.5, "b": true, "s": "x", "list": ["a", 1], "when": "2026-01-02T02:04:05Z"}});
        let table = [
            ("integer", ".spec.n", json!(3)),
            ("integer", ".spec.f", json!(2)),
            ("number", ".spec.f", json!(2.5)),
            ("boolean", ".spec.b", json!(true)),
            ("string", ".spec.b", json!("true")),
            ("string", ".spec.n", json!("3")),
            ("string", ".spec.list", json!("[\"a\",1]")),
            ("string", ".spec.none", Value::Null),
            ("date", ".spec.when", json!("60m")),
            ("date", ".spec.s", json!("<invalid>")),
            ("boolean", ".spec.s", Value::Null),
            ("string", ".spec[", Value::Null),
        ];
        for (kind, path, expected) in table {
            let column = Column::described(&json!({"name": "C", "type": kind, "jsonPath": path}));
            assert_eq!(column.print(&object, now()), expected, "{kind} {path}");
        }
    }

    #[test]
    fn a_definition_without_columns_shows_name_and_age() {
        let columns = custom_columns(&json!({}));
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-02T03:03:05Z"}});
        let row = row(&columns, object, Include::Metadata, now());
        assert_eq!(row["cells"], json!(["a", "60s"]));
        assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    }
}

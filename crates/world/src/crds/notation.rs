//! Reads schemas in a short notation: one member per line, indented below its parent.
//!
//! ```text
//! column {"name": "Phase", ...}      a printer column
//! spec! object {"minProperties": 1}  a member; `!` means required; the braces hold further words of the schema
//!   labels map                       a map; its child `*` describes the values
//!     * string
//!   taints array                     a list; its child `*` describes the items
//! ```
//!
//! `any` is a member without a type. A line that cannot be read is left out; a test counts the lines.

use serde_json::{Map, Value, json};

/// What a text in the notation says.
pub(super) struct Parsed {
    pub(super) columns: Value,
    pub(super) schema: Value,
}

/// One line.
struct Member<'a> {
    depth: usize,
    name: &'a str,
    required: bool,
    type_: &'a str,
    words: Map<String, Value>,
}

pub(super) fn parse(text: &str) -> Parsed {
    let mut columns = Vec::new();
    let mut members = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("column ") {
            Some(column) => columns.extend(serde_json::from_str::<Value>(column)),
            None => members.extend(member(line)),
        }
    }
    let mut lines = members.into_iter().peekable();
    let root = Member { depth: 0, name: "", required: false, type_: "object", words: Map::new() };
    let schema = node(&root, 0, &mut lines);
    Parsed { columns: Value::Array(columns), schema }
}

fn member(line: &str) -> Option<Member<'_>> {
    let text = line.trim_start();
    let depth = (line.len() - text.len()) / 2;
    let (name, rest) = text.split_once(' ')?;
    let (type_, words) = match rest.split_once(' ') {
        Some((type_, words)) => (type_, serde_json::from_str(words).ok()?),
        None => (rest, Map::new()),
    };
    let required = name.ends_with('!');
    Some(Member { depth, name: name.trim_end_matches('!'), required, type_, words })
}

/// The schema of a member from its own line and the deeper lines that follow.
fn node<'a>(
    this: &Member<'a>,
    depth: usize,
    lines: &mut std::iter::Peekable<impl Iterator<Item = Member<'a>>>,
) -> Value {
    let mut schema = Map::new();
    match this.type_ {
        "any" => {}
        "map" => drop(schema.insert("type".to_owned(), json!("object"))),
        type_ => drop(schema.insert("type".to_owned(), json!(type_))),
    }
    schema.extend(this.words.clone());
    let (mut properties, mut required) = (Map::new(), Vec::new());
    while let Some(child) = lines.next_if(|next| next.depth >= depth) {
        let value = node(&child, depth + 1, lines);
        match (child.name, this.type_) {
            ("*", "map") => drop(schema.insert("additionalProperties".to_owned(), value)),
            ("*", _) => drop(schema.insert("items".to_owned(), value)),
            (name, _) => {
                if child.required {
                    required.push(json!(name));
                }
                properties.insert(name.to_owned(), value);
            }
        }
    }
    if !properties.is_empty() {
        schema.insert("properties".to_owned(), Value::Object(properties));
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    Value::Object(schema)
}

/// How many members a schema has, at all depths.
#[cfg(test)]
pub(super) fn count(schema: &Value) -> usize {
    let named = schema["properties"].as_object().into_iter().flat_map(Map::values);
    let nested = [&schema["items"], &schema["additionalProperties"]];
    named.chain(nested.into_iter().filter(|n| n.is_object())).map(|child| 1 + count(child)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_makes_a_tree() {
        let parsed = parse(
            "column {\"name\":\"A\"}\nspec! object\n  labels map\n    * string\n  items array {\"maxItems\":2}\n    * object\n      id! integer\nstatus object\n",
        );
        assert_eq!(parsed.columns, json!([{"name": "A"}]));
        assert_eq!(
            parsed.schema,
            json!({"type": "object", "required": ["spec"], "properties": {
                "spec": {"type": "object", "properties": {
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "items": {"type": "array", "maxItems": 2, "items": {"type": "object",
                        "properties": {"id": {"type": "integer"}}, "required": ["id"]}}}},
                "status": {"type": "object"}}})
        );
    }
}

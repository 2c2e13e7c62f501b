//! Writes JSON values as YAML, byte for byte as Go programs of the Kubernetes world do.
//!
//! Takes a [`Value`], gives block-style text with sorted keys and one line feed at the end. Consumers read the text
//! back with YAML 1.1 readers, so every string that such a reader would take for something else is quoted. Must not
//! know what the document means. Rendering twice must give equal bytes, whatever the order of members.

mod number;
mod order;
mod resolve;
mod shape;
mod timestamp;
mod writer;

use serde_json::{Map, Value};
use shape::Shape;
use writer::Writer;

/// Longest key, in bytes, that is written in front of its colon.
const LONGEST_SIMPLE_KEY: usize = 128;

/// The value as a YAML document.
pub fn to_yaml(value: &Value) -> String {
    let mut writer = Writer::default();
    node(&mut writer, value, Place::Document);
    writer.finish()
}

/// Where a node stands; decides how far its lines are indented.
#[derive(Clone, Copy)]
enum Place {
    Document,
    /// Value in a mapping whose keys stand in this column.
    Member(usize),
    /// Item of a list whose dashes stand in this column.
    Item(usize),
}

impl Place {
    fn column_of_mapping(self) -> usize {
        match self {
            Self::Document => 0,
            Self::Member(column) | Self::Item(column) => column + 2,
        }
    }

    /// A list behind `key:` is not indented, any other nested list is.
    fn column_of_list(self, behind_a_key: bool) -> usize {
        match self {
            Self::Document => 0,
            Self::Member(column) if behind_a_key => column,
            Self::Member(column) | Self::Item(column) => column + 2,
        }
    }

    fn column_of_continuation(self) -> usize {
        match self {
            Self::Document => 2,
            Self::Member(column) | Self::Item(column) => column + 2,
        }
    }
}

fn node(writer: &mut Writer, value: &Value, place: Place) {
    let continuation = place.column_of_continuation();
    match value {
        Value::Object(members) if members.is_empty() => writer.word("{}"),
        Value::Object(members) => mapping(writer, members, place.column_of_mapping()),
        Value::Array(items) if items.is_empty() => writer.word("[]"),
        Value::Array(items) => list(writer, items, place.column_of_list(!writer.at_indentation())),
        Value::String(text) => string(writer, text, continuation),
        Value::Number(number) => writer.word(&number::text(number)),
        Value::Bool(true) => writer.word("true"),
        Value::Bool(false) => writer.word("false"),
        Value::Null => writer.word("null"),
    }
}

fn list(writer: &mut Writer, items: &[Value], column: usize) {
    for item in items {
        writer.indent(column);
        writer.indicator("-");
        node(writer, item, Place::Item(column));
    }
}

fn mapping(writer: &mut Writer, members: &Map<String, Value>, column: usize) {
    for (key, value) in order::sorted(members) {
        writer.indent(column);
        if is_simple_key(key) {
            simple_key(writer, key);
            writer.colon();
        } else {
            writer.indicator("?");
            string(writer, key, column + 2);
            writer.indent(column);
            writer.indicator(":");
        }
        node(writer, value, Place::Member(column));
    }
}

fn is_simple_key(key: &str) -> bool {
    key.len() <= LONGEST_SIMPLE_KEY && !Shape::of(key).multiline
}

/// A key on its own line is never folded and never a block. `<<` would be taken for a merge.
fn simple_key(writer: &mut Writer, key: &str) {
    let shape = Shape::of(key);
    if key == "<<" || !resolve::reads_as_string(key) || !shape.single_quoted {
        writer.double_quoted(key, None);
    } else if shape.plain {
        writer.plain(key, None);
    } else {
        writer.single_quoted(key, None);
    }
}

fn string(writer: &mut Writer, text: &str, column: usize) {
    let shape = Shape::of(text);
    if text.contains('\n') {
        if shape.block {
            writer.literal(text, column);
        } else {
            writer.double_quoted(text, Some(column));
        }
    } else if !resolve::reads_as_string(text) {
        writer.double_quoted(text, Some(column));
    } else if shape.plain {
        writer.plain(text, Some(column));
    } else if shape.single_quoted {
        writer.single_quoted(text, Some(column));
    } else {
        writer.double_quoted(text, Some(column));
    }
}

#[cfg(test)]
mod tests;

//! A YAML value together with the lines of its fields, as the parser hands them over.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use super::place::{FieldPlace, Inside};

/// A value, and what is where in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Node {
    /// The value.
    pub value: Value,
    /// Its lines.
    pub place: FieldPlace,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

/// Line at which the user wrote a node: for an alias that of the alias.
pub(super) fn line<T>(spanned: &Spanned<T>) -> usize {
    usize::try_from(spanned.referenced.line()).unwrap_or_default()
}

struct NodeVisitor;

fn leaf<E>(value: impl Into<Value>) -> Result<Node, E> {
    Ok(Node { value: value.into(), place: FieldPlace::default() })
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        leaf(value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        leaf(value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        leaf(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        let number = Number::from_f64(value);
        leaf(number.ok_or_else(|| E::custom("not a number that JSON can hold"))?)
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        leaf(value)
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        leaf(value)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        leaf(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        leaf(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let (mut values, mut places) = (Vec::new(), Vec::new());
        while let Some(item) = access.next_element::<Spanned<Node>>()? {
            places.push(FieldPlace { line: line(&item), inside: item.value.place.inside });
            values.push(item.value.value);
        }
        Ok(Node { value: Value::Array(values), place: FieldPlace { line: 0, inside: Inside::Items(places) } })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let (mut values, mut places) = (Map::new(), Vec::new());
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let member = access.next_value::<Node>()?;
            places.push((key.value.clone(), FieldPlace { line: line(&key), inside: member.place.inside }));
            values.insert(key.value, member.value);
        }
        Ok(Node {
            value: Value::Object(values),
            place: FieldPlace { line: 0, inside: Inside::Members(places) },
        })
    }
}

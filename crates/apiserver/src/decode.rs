//! Takes a body, gives its value and the fields that were written twice. Judges nothing else.

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{
    negotiate::Format,
    protobuf::{self, Refusal},
    schema::path::Path,
    status::ApiError,
};

/// A body that was read.
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// Paths of fields that were given more than once; the last one counts.
    pub(crate) duplicates: Vec<String>,
}

/// Why a body was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// What the parser says.
    Malformed(String),
    /// This kind is not read in this format.
    Unsupported,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed(text) => f.write_str(text),
            Self::Unsupported => f.write_str("this kind is not read in this format"),
        }
    }
}

impl From<DecodeError> for ApiError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::Malformed(text) => Self::BadRequest(text),
            DecodeError::Unsupported => Self::UnsupportedMediaType(BODY_TYPES),
        }
    }
}

/// The media types every kind can be sent in.
pub(crate) const BODY_TYPES: &str = "application/json, application/yaml";

/// Reads a body.
///
/// # Errors
/// See [`DecodeError`].
pub(crate) fn decode(body: &[u8], format: Format) -> Result<Decoded, DecodeError> {
    match format {
        Format::Json => json(body).map_err(DecodeError::Malformed),
        Format::Protobuf => protobuf::decode(body).map(plain).map_err(|refusal| match refusal {
            Refusal::UnknownKind => DecodeError::Unsupported,
            Refusal::Malformed => DecodeError::Malformed("the binary body is broken".to_owned()),
        }),
        // The YAML reader refuses a field that is written twice.
        Format::Yaml => serde_saphyr::from_slice(body)
            .map(plain)
            .map_err(|error| DecodeError::Malformed(error.to_string())),
    }
}

fn plain(value: Value) -> Decoded {
    Decoded { value, duplicates: Vec::new() }
}

fn json(body: &[u8]) -> Result<Decoded, String> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let root = Node { path: Path::Root, duplicates: &mut duplicates };
    let value = root.deserialize(&mut reader).and_then(|value| {
        reader.end()?;
        Ok(value)
    });
    value.map(|value| Decoded { value, duplicates }).map_err(|error| error.to_string())
}

/// The place of a value that is about to be read.
struct Node<'a> {
    path: Path<'a>,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let node = Node { path: self.path.index(list.len()), duplicates: &mut *self.duplicates };
            let Some(item) = items.next_element_seed(node)? else {
                return Ok(Value::Array(list));
            };
            list.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = self.path.field(&key);
            let node = Node { path, duplicates: &mut *self.duplicates };
            let value = entries.next_value_seed(node)?;
            if fields.contains_key(&key) {
                self.duplicates.push(path.text());
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn fields_written_twice_are_named_and_the_last_one_counts() {
        let body = br#"{"a": 1, "b": [{"c": 1, "c": 2}], "a": {"d": null}}"#;
        let decoded = decode(body, Format::Json).unwrap();
        assert_eq!(decoded.duplicates, ["b[0].c", "a"]);
        assert_eq!(decoded.value, json!({"a": {"d": null}, "b": [{"c": 2}]}));
    }

    #[test]
    fn yaml_is_read_too_but_not_with_a_field_written_twice() {
        let decoded = decode(b"a: 1\nb: [x, true]\n", Format::Yaml).unwrap();
        assert_eq!(decoded.value, json!({"a": 1, "b": ["x", true]}));
        assert!(decode(b"a: 1\na: 2\n", Format::Yaml).is_err());
    }

    #[test]
    fn too_deep_or_unfinished_bodies_are_refused() {
        for body in [&b"{"[..], b"", b"[] x", &[b'['; 100_000]] {
            assert!(decode(body, Format::Json).is_err());
            let _ = decode(body, Format::Yaml);
        }
    }

    proptest! {
        #[test]
        fn what_serde_reads_is_read_the_same(text in "[\\[\\]{}:,a\"0-9.e-]{0,30}") {
            let ours = decode(text.as_bytes(), Format::Json).ok().map(|decoded| decoded.value);
            prop_assert_eq!(ours, serde_json::from_str(&text).ok());
        }
    }
}

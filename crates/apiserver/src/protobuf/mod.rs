//! Bodies in Kubernetes' binary form. `kubectl create` and `kubectl auth` send their few kinds so and do not fall back to JSON; takes
//! such a body, gives the value JSON would have given. Other kinds are refused, and answers are never binary.

mod kinds;
mod wire;

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use self::{
    kinds::{Field, Message, Type},
    wire::{Reader, Scalar},
};

/// What every binary body starts with.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Not known in binary form.
    UnknownKind,
    /// CrashAtWrite short or otherwise broken.
    Malformed,
}

/// Reads a body.
///
/// # Errors
/// See [`Refusal`].
pub(crate) fn decode(body: &[u8]) -> Result<Value, Refusal> {
    let envelope = body.strip_prefix(MAGIC).ok_or(Refusal::Malformed)?;
    let (mut head, mut raw) = (Map::new(), None);
    let mut reader = Reader::new(envelope);
    while let Some((number, scalar)) = reader.next().map_err(|()| Refusal::Malformed)? {
        match (number, scalar) {
            (1, Scalar::Bytes(bytes)) => head = message(&kinds::TYPE_META, bytes)?,
            (2, Scalar::Bytes(bytes)) => raw = Some(bytes),
            _ => {}
        }
    }
    let text = |field: &str| head.get(field).and_then(Value::as_str).unwrap_or_default();
    let kind = kinds::find(text("apiVersion"), text("kind")).ok_or(Refusal::UnknownKind)?;
    let body = message(kind, raw.unwrap_or_default())?;
    head.extend(body);
    Ok(Value::Object(head))
}

fn message(message: &Message, bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let mut fields = Map::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, scalar)) = reader.next().map_err(|()| Refusal::Malformed)? {
        // Fields that are not in the table are those nobody sends, such as managed fields.
        if let Some(field) = message.0.iter().find(|field| field.number == number) {
            add(&mut fields, field, scalar)?;
        }
    }
    Ok(fields)
}

fn add(fields: &mut Map<String, Value>, field: &Field, scalar: Scalar<'_>) -> Result<(), Refusal> {
    let name = field.name.to_owned();
    if let Type::Map(value) = field.kind {
        let Scalar::Bytes(entry) = scalar else { return Err(Refusal::Malformed) };
        let (key, value) = entry_of(value, entry)?;
        if let Some(map) = fields.entry(name).or_insert_with(|| json!({})).as_object_mut() {
            map.insert(key, value);
        }
        return Ok(());
    }
    let value = value(field.kind, scalar)?;
    if !field.repeated {
        fields.insert(name, value);
    } else if let Some(list) = fields.entry(name).or_insert_with(|| json!([])).as_array_mut() {
        list.push(value);
    }
    Ok(())
}

/// Maps are lists of pairs.
fn entry_of(kind: &Type, entry: &[u8]) -> Result<(String, Value), Refusal> {
    let (mut key, mut found) = (String::new(), value(*kind, Scalar::Bytes(&[]))?);
    let mut reader = Reader::new(entry);
    while let Some((number, scalar)) = reader.next().map_err(|()| Refusal::Malformed)? {
        match number {
            1 => key = text(scalar)?,
            2 => found = value(*kind, scalar)?,
            _ => {}
        }
    }
    Ok((key, found))
}

fn value(kind: Type, scalar: Scalar<'_>) -> Result<Value, Refusal> {
    match (kind, scalar) {
        (Type::Text, scalar) => text(scalar).map(Value::String),
        (Type::Bytes, Scalar::Bytes(bytes)) => Ok(BASE64_STANDARD.encode(bytes).into()),
        (Type::Number, Scalar::Varint(number)) => Ok((number as i64).into()),
        (Type::Flag, Scalar::Varint(number)) => Ok((number != 0).into()),
        (Type::Message(inner), Scalar::Bytes(bytes)) => message(inner, bytes).map(Value::Object),
        (Type::Time, Scalar::Bytes(bytes)) => time(bytes),
        _ => Err(Refusal::Malformed),
    }
}

fn text(scalar: Scalar<'_>) -> Result<String, Refusal> {
    let Scalar::Bytes(bytes) = scalar else { return Err(Refusal::Malformed) };
    String::from_utf8(bytes.to_vec()).map_err(|_| Refusal::Malformed)
}

/// An absent time is an empty message.
fn time(bytes: &[u8]) -> Result<Value, Refusal> {
    let fields = message(&kinds::TIME, bytes)?;
    let Some(seconds) = fields.get("seconds").and_then(Value::as_i64) else {
        return Ok(Value::Null);
    };
    let instant = Timestamp::from_second(seconds).map_err(|_| Refusal::Malformed)?;
    Ok(crate::clock::seconds(instant).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A field with a length.
    fn block(number: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
        bytes.extend_from_slice(content);
        bytes
    }

    fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let head = [block(1, api_version.as_bytes()), block(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), block(1, &head), block(2, raw)].concat()
    }

    #[test]
    fn a_secret_reads_as_its_json_would() {
        let metadata = [block(1, b"s"), block(8, b""), block(11, &[block(1, b"k"), block(2, b"v")].concat())];
        let entry = [block(1, b"p"), block(2, b"q")].concat();
        let raw = [block(1, &metadata.concat()), block(2, &entry), block(3, b"Opaque"), vec![5 << 3, 1]];
        assert_eq!(
            decode(&body("v1", "Secret", &raw.concat())),
            Ok(
                json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"p": "cQ=="}, "immutable": true,
                "metadata": {"name": "s", "creationTimestamp": null, "labels": {"k": "v"}}})
            )
        );
    }

    #[test]
    fn a_question_about_oneself_reads_as_its_json_would() {
        let attributes = [block(1, b"n"), block(2, b"get"), block(5, b"pods")].concat();
        let raw = block(2, &block(1, &attributes));
        let (version, kind) = ("authorization.k8s.io/v1", "SelfSubjectAccessReview");
        assert_eq!(
            decode(&body(version, kind, &raw)),
            Ok(json!({"apiVersion": version, "kind": kind,
                "spec": {"resourceAttributes": {"namespace": "n", "verb": "get", "resource": "pods"}}}))
        );
    }

    #[test]
    fn what_is_not_known_or_broken_is_refused() {
        assert_eq!(decode(&body("apps/v1", "Deployment", b"")), Err(Refusal::UnknownKind));
        assert_eq!(decode(b"{}"), Err(Refusal::Malformed));
        let whole = body("v1", "Secret", &block(1, b"x"));
        assert_eq!(decode(whole.split_last().unwrap().1), Err(Refusal::Malformed));
        assert_eq!(decode(&body("v1", "Secret", &block(3, b"\xff"))), Err(Refusal::Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_but_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let _ = decode(&bytes);
            let _ = decode(&body("v1", "ConfigMap", &bytes));
        }
    }
}

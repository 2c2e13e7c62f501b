//! What ConfigMaps and Secrets hold: takes their fields, gives them in the form in which they are stored, and says
//! what may not be in them. Every other kind passes untouched.

use base64::{
    DecodeError, Engine,
    alphabet::STANDARD,
    engine::{GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use serde_json::{Map, Value, json};

use crate::{
    field::{FieldError, quote},
    meta::normalise::go_name,
    names,
    resource::{Resource, Special},
};

/// All values of one object together, as in kube-apiserver.
const MAX_BYTES: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

/// Go does not mind bits that are left over at the end.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// What a field holds.
#[derive(Clone, Copy)]
enum Holds {
    Flag,
    Texts,
    Blobs,
    Name,
}

impl Holds {
    /// The type as Go calls it.
    fn go_type(self) -> &'static str {
        match self {
            Self::Flag => "bool",
            Self::Texts => "map[string]string",
            Self::Blobs => "map[string][]uint8",
            Self::Name => "v1.SecretType",
        }
    }
}

fn fields_of(resource: &Resource) -> &'static [(&'static str, Holds)] {
    match resource.special {
        Special::ConfigMap => {
            &[("immutable", Holds::Flag), ("data", Holds::Texts), ("binaryData", Holds::Blobs)]
        }
        Special::Secret => &[
            ("immutable", Holds::Flag),
            ("data", Holds::Blobs),
            ("stringData", Holds::Texts),
            ("type", Holds::Name),
        ],
        _ => &[],
    }
}

/// Checks the types of the fields; a null in a map is an empty value, an empty map is no field.
///
/// # Errors
/// What a Go decoder says about the first field that is not of its type.
pub(super) fn read(resource: &Resource, object: &mut Value) -> Result<(), String> {
    let Some(fields) = object.as_object_mut() else { return Ok(()) };
    for (field, holds) in fields_of(resource) {
        let wrong = |found: &Value, wanted: &str| {
            let (kind, found) = (&resource.kind, go_name(found));
            format!("json: cannot unmarshal {found} into Go struct field {kind}.{field} of type {wanted}")
        };
        let Some(value) = fields.get_mut(*field).filter(|value| !value.is_null()) else { continue };
        let fits = match holds {
            Holds::Flag => value.is_boolean(),
            Holds::Name => value.is_string(),
            Holds::Texts | Holds::Blobs => value.is_object(),
        };
        if !fits {
            return Err(wrong(value, holds.go_type()));
        }
        let Value::Object(entries) = value else { continue };
        for entry in entries.values_mut() {
            match (holds, &mut *entry) {
                (_, Value::Null) => *entry = json!(""),
                (Holds::Texts, Value::String(_)) => {}
                (Holds::Blobs, Value::String(text)) => *text = BASE64_STANDARD.encode(decoded(text)?),
                (Holds::Blobs, _) => return Err(wrong(entry, "[]uint8")),
                _ => return Err(wrong(entry, "string")),
            }
        }
        if entries.is_empty() {
            fields.shift_remove(*field);
        }
    }
    Ok(())
}

/// Go reads past line breaks.
fn decoded(text: &str) -> Result<Vec<u8>, String> {
    let joined: String = text.chars().filter(|it| !matches!(it, '\r' | '\n')).collect();
    LENIENT.decode(&joined).map_err(|error| {
        let at = match error {
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
            // Go names the start of the group that is not complete.
            DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => joined.len() / 4 * 4,
        };
        format!("illegal base64 data at input byte {at}")
    })
}

/// Folds `stringData` of a Secret into `data` and fills in the type.
pub(super) fn complete(resource: &Resource, object: &mut Value) {
    let Some(fields) = object.as_object_mut().filter(|_| resource.special == Special::Secret) else {
        return;
    };
    if let Some(Value::Object(plain)) = fields.shift_remove("stringData") {
        let data = fields.entry("data").or_insert_with(|| Value::Object(Map::new()));
        for (key, text) in plain {
            if let (Some(data), Some(text)) = (data.as_object_mut(), text.as_str()) {
                data.insert(key, BASE64_STANDARD.encode(text).into());
            }
        }
    }
    if fields.get("type").and_then(Value::as_str).unwrap_or_default().is_empty() {
        fields.insert("type".to_owned(), json!("Opaque"));
    }
}

/// What is wrong with the keys and with the size.
pub(super) fn judge(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut bytes = 0;
    for (field, holds) in fields_of(resource) {
        for (key, value) in entries(object, field) {
            let path = format!("{field}[{key}]");
            errors.extend(names::config_key(key).map(|it| FieldError::invalid(&path, &quote(key), &it)));
            if *field == "data" && entries(object, "binaryData").any(|(other, _)| other == key) {
                let detail = "duplicate of key present in binaryData";
                errors.push(FieldError::invalid(&path, &quote(key), detail));
            }
            bytes += match holds {
                Holds::Blobs => LENIENT.decode(value).map_or(value.len(), |decoded| decoded.len()),
                _ => value.len(),
            };
        }
    }
    if bytes > MAX_BYTES {
        // Kubernetes has no name for all of a ConfigMap.
        let path = if resource.special == Special::Secret { "data" } else { "[]" };
        errors.push(FieldError::too_long(path, MAX_BYTES as u64));
    }
    errors
}

fn entries<'v>(object: &'v Value, field: &str) -> impl Iterator<Item = (&'v String, &'v str)> {
    let map = object.get(field).and_then(Value::as_object);
    map.into_iter().flatten().filter_map(|(key, value)| value.as_str().map(|value| (key, value)))
}

/// What an update may not change: the type of a Secret, and everything once it is immutable.
pub(super) fn judge_update(resource: &Resource, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if resource.special == Special::Secret && new.get("type") != old.get("type") {
        errors.push(FieldError::immutable("type", &quote(crate::meta::str_at(new, "type"))));
    }
    if old.get("immutable") == Some(&Value::Bool(true)) {
        let kept = fields_of(resource).iter().filter(|(_, holds)| !matches!(holds, Holds::Name));
        let changed = kept.filter(|(field, _)| new.get(field) != old.get(field));
        errors.extend(changed.map(|(field, _)| FieldError::forbidden(*field, FROZEN)));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_go_reads_it() {
        let table = [
            ("YQ==", Ok("a")),
            ("YQ==\n", Ok("a")),
            ("YR==", Ok("a")),
            ("%%", Err("illegal base64 data at input byte 0")),
            ("YQ", Err("illegal base64 data at input byte 0")),
            ("YWFhYQ", Err("illegal base64 data at input byte 4")),
        ];
        for (text, expected) in table {
            let found = decoded(text).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}

//! What differs between two states of an object, part by part: the object itself, and its status.
//!
//! Works on text: members that are written alike are never made into trees, and most are.

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use crate::{Object, merge_diff};

/// What one patch is about.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Object,
    Status,
}

/// The members of an object, in order, as text.
pub(crate) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl Part {
    pub(crate) fn subresource(self) -> Option<&'static str> {
        match self {
            Self::Object => None,
            Self::Status => Some("status"),
        }
    }

    fn has(self, member: &str) -> bool {
        (member == "status") == matches!(self, Self::Status)
    }

    /// The merge patch that turns this part of `before` into that of `after`.
    pub(crate) fn patch(self, before: &Members<'_>, after: &Members<'_>) -> Option<Value> {
        let mut patch = Map::new();
        for (name, text) in after.of(self) {
            let old = before.get(name);
            if old.is_some_and(|old| old.get() == text.get()) {
                continue;
            }
            let new = value(text);
            let difference = match old {
                Some(old) => merge_diff(&value(old), &new),
                None => Some(new).filter(|new| !new.is_null()),
            };
            patch.extend(difference.map(|difference| (name.to_owned(), difference)));
        }
        let gone = before.of(self).filter(|(name, _)| after.get(name).is_none());
        patch.extend(gone.map(|(name, _)| (name.to_owned(), Value::Null)));
        (!patch.is_empty()).then_some(Value::Object(patch))
    }
}

/// An object as text.
pub(crate) fn text<K: Object>(object: &K) -> Vec<u8> {
    serde_json::to_vec(object).unwrap_or_default()
}

/// The members of the text of an object. What was written from an object can be read: there are none otherwise.
pub(crate) fn members(text: &[u8]) -> Members<'_> {
    serde_json::from_slice(text).unwrap_or(Members(Vec::new()))
}

fn value(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_default()
}

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(it, _)| it == name).map(|(_, text)| *text)
    }

    fn of(&self, part: Part) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, text)| (name.as_str(), *text)).filter(move |(name, _)| part.has(name))
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patches(before: &Value, after: &Value) -> [Option<Value>; 2] {
        let (before, after) = (before.to_string(), after.to_string());
        let (before, after) = (members(before.as_bytes()), members(after.as_bytes()));
        [Part::Object, Part::Status].map(|part| part.patch(&before, &after))
    }

    #[test]
    fn each_part_has_its_own_patch() {
        let cases = [
            (json!({"a": 1, "status": {"b": 2}}), json!({"a": 1, "status": {"b": 2}}), [None, None]),
            (
                json!({"a": {"x": 1, "y": 2}, "gone": 1, "status": {"b": 2}}),
                json!({"a": {"x": 1, "y": 3}, "new": [], "null": null, "status": {"b": 2}}),
                [Some(json!({"a": {"y": 3}, "new": [], "gone": null})), None],
            ),
            (json!({}), json!({"status": {"b": 2}}), [None, Some(json!({"status": {"b": 2}}))]),
            (json!({"status": {"b": 2}}), json!({}), [None, Some(json!({"status": null}))]),
            (
                json!({"status": {"b": 2}}),
                json!({"status": {"c": 2}}),
                [None, Some(json!({"status": {"b": null, "c": 2}}))],
            ),
        ];
        for (before, after, expected) in cases {
            assert_eq!(patches(&before, &after), expected, "{before} -> {after}");
        }
    }

    proptest! {
        /// Both patches together are the patch of the whole.
        #[test]
        fn the_parts_make_the_whole(
            before in prop::collection::btree_map("a|b|\"q|status", prop::collection::btree_map("[x-z]", 0..3_u8, 0..3), 0..4),
            after in prop::collection::btree_map("a|b|\"q|status", prop::collection::btree_map("[x-z]", 0..3_u8, 0..3), 0..4),
        ) {
            let (before, after) = (json!(before), json!(after));
            let mut whole = Map::new();
            for patch in patches(&before, &after).into_iter().flatten() {
                whole.extend(patch.as_object().unwrap().clone());
            }
            prop_assert_eq!(Value::Object(whole), merge_diff(&before, &after).unwrap_or(json!({})));
        }
    }
}

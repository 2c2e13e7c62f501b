//! Reads objects so that a cache holds no more of them than it needs.
//!
//! `managedFields` are passed over without being built: they are most of the text that a server sends, and nobody here
//! asks for them. Lists give back the room they grew by while they were read: they are kept for long and never grow.
//!
//! `ObjectMeta` stays that of k8s-openapi, although each of its maps takes half a kilobyte: a type of our own would not implement
//! `kube::Resource`, through which others use these kinds.

use std::{borrow::Cow, fmt};

use kube::core::ObjectMeta;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// Deserializes object metadata without `managedFields`.
pub fn without_managed_fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let mut meta = deserializer.deserialize_map(LeanMetadata)?;
    meta.finalizers.iter_mut().for_each(Vec::shrink_to_fit);
    meta.owner_references.iter_mut().for_each(Vec::shrink_to_fit);
    Ok(meta)
}

/// Deserializes a list that takes no more room than its items; null means none.
pub fn lean_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let mut list = Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default();
    list.shrink_to_fit();
    Ok(list)
}

struct LeanMetadata;

impl<'de> Visitor<'de> for LeanMetadata {
    type Value = ObjectMeta;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("object metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ObjectMeta, A::Error> {
        ObjectMeta::deserialize(MapAccessDeserializer::new(WithoutManagedFields(map)))
    }
}

/// The name of a member, not copied where the text allows it.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// A map without that member.
struct WithoutManagedFields<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithoutManagedFields<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        while let Some(Name(name)) = self.0.next_key()? {
            if name != "managedFields" {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
            self.0.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        #[serde(deserialize_with = "without_managed_fields")]
        metadata: ObjectMeta,
        #[serde(default, deserialize_with = "lean_list")]
        list: Vec<u64>,
    }

    #[test]
    fn metadata_is_read_whole_but_for_managed_fields_from_text_and_from_values() {
        let mut metadata = json!({"name": "a", "namespace": "escaped", "managedFields": [{"manager": "m", "fieldsV1": {"f:a": {}}}],
            "labels": {"managedFields": "kept"}, "finalizers": ["f"], "uid": "u", "unknown": [1, 2],
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "ou"}]});
        let text = json!({"metadata": metadata}).to_string().replace("namespace", "n\\u0061mespace");
        metadata.as_object_mut().unwrap().shift_remove("managedFields");
        let wanted: ObjectMeta = serde_json::from_value(metadata.clone()).unwrap();
        for holder in
            [serde_json::from_str::<Holder>(&text), serde_json::from_value(json!({"metadata": metadata}))]
        {
            assert_eq!(holder.unwrap().metadata, wanted);
        }
        assert_eq!(wanted.namespace.as_deref(), Some("escaped"));
    }

    #[test]
    fn lists_have_no_room_to_spare_and_null_is_none() {
        let read = |text: &str| serde_json::from_str::<Holder>(text).unwrap();
        let holder =
            read(r#"{"metadata": {"finalizers": ["a"], "ownerReferences": []}, "list": [1, 2, 3, 4, 5]}"#);
        assert_eq!((holder.list.len(), holder.list.capacity()), (5, 5));
        assert_eq!(holder.metadata.finalizers.map(|it| it.capacity()), Some(1));
        assert!(read(r#"{"metadata": {}, "list": null}"#).list.is_empty());
    }

    #[test]
    fn metadata_of_the_wrong_shape_is_an_error() {
        for text in
            [r#"{"metadata": []}"#, r#"{"metadata": {"labels": 1}}"#, r#"{"metadata": {"managedFields": [}}"#]
        {
            assert!(serde_json::from_str::<Holder>(text).is_err(), "{text}");
        }
    }
}

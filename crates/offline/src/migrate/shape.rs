//! What members the provider's own kinds have, taken from their CRDs.

use std::sync::OnceLock;

use capm3_api::{crd, v1beta2};
use serde_json::Value;

/// The schemas of the kinds, as an API server would be given them.
pub(super) struct Shapes(Vec<(String, Value)>);

impl Shapes {
    /// Those of every kind of the provider. They never change while the program runs.
    pub fn of_own_kinds() -> &'static Self {
        static SHAPES: OnceLock<Shapes> = OnceLock::new();
        SHAPES.get_or_init(Self::from_definitions)
    }

    fn from_definitions() -> Self {
        let own =
            crd::all().into_iter().filter(|crd| crd.pointer("/spec/group") == Some(&v1beta2::GROUP.into()));
        Self(own.filter_map(|crd| named_schema(&crd)).collect())
    }

    /// The schema of this kind, if it is one of the provider's.
    pub fn of(&self, kind: &str) -> Option<Schema<'_>> {
        self.0.iter().find(|(own, _)| own == kind).map(|(_, schema)| Schema(schema))
    }

    /// The kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(kind, _)| kind.as_str())
    }
}

/// Kind and schema of the version that documents are migrated to.
fn named_schema(crd: &Value) -> Option<(String, Value)> {
    let kind = crd.pointer("/spec/names/kind")?.as_str()?.to_owned();
    let versions = crd.pointer("/spec/versions")?.as_array()?;
    let version =
        versions.iter().find(|version| version.get("name").is_some_and(|name| name == v1beta2::VERSION))?;
    Some((kind, version.pointer("/schema/openAPIV3Schema")?.clone()))
}

/// The schema of one value.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a>(&'a Value);

impl<'a> Schema<'a> {
    /// A schema in the words of a CRD.
    pub fn new(schema: &'a Value) -> Self {
        Self(schema)
    }

    fn word(self, word: &str) -> Option<&'a Value> {
        self.0.get(word)
    }

    /// What a member must look like.
    pub fn member(self, key: &str) -> Option<Self> {
        let named = self.word("properties").and_then(|properties| properties.get(key));
        named.or_else(|| self.word("additionalProperties")).map(Self)
    }

    /// What items must look like.
    pub fn items(self) -> Option<Self> {
        self.word("items").map(Self)
    }

    /// Members that have a name.
    pub fn members(self) -> impl Iterator<Item = &'a str> {
        self.word("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str))
    }

    /// Whether members without a name of their own are allowed.
    pub fn is_open(self) -> bool {
        let preserves = self.word("x-kubernetes-preserve-unknown-fields").is_some();
        let is_bare_object = self.word("properties").is_none() && self.expects("object");
        preserves || is_bare_object || self.word("additionalProperties").is_some()
    }

    /// Whether values must be of this type.
    pub fn expects(self, kind: &str) -> bool {
        self.word("type").is_some_and(|expected| expected == kind)
    }

    /// Whether whole numbers must fit into 32 bits.
    pub fn expects_32_bits(self) -> bool {
        self.word("format").is_some_and(|format| format == "int32")
    }

    /// Whether the member has a name of its own.
    pub fn names(self, key: &str) -> bool {
        self.members().any(|member| member == key)
    }

    /// Whether the member must be there.
    pub fn requires(self, key: &str) -> bool {
        self.word("required")
            .and_then(Value::as_array)
            .is_some_and(|keys| keys.iter().any(|required| required == key))
    }

    /// Whether the value is empty in a way that the schema refuses.
    pub fn refuses_as_empty(self, value: &Value) -> bool {
        let at_least_one =
            |word: &str| self.word(word).and_then(Value::as_u64).is_some_and(|least| least > 0);
        match value {
            Value::Null => true,
            Value::String(text) => {
                text.is_empty() && (at_least_one("minLength") || self.lists_no_empty_text())
            }
            Value::Array(items) => items.is_empty() && at_least_one("minItems"),
            Value::Object(map) if map.is_empty() => at_least_one("minProperties"),
            Value::Object(map) => map.values().all(|member| member == ""),
            Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn lists_no_empty_text(self) -> bool {
        self.word("enum")
            .and_then(Value::as_array)
            .is_some_and(|values| !values.iter().any(|value| value == ""))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shapes_come_from_the_definitions_that_are_installed() {
        let shapes = Shapes::of_own_kinds();
        let spec = shapes.of("Metal3Machine").and_then(|shape| shape.member("spec")).unwrap();
        assert!(spec.members().any(|member| member == "dataTemplate"));
        assert!(!spec.is_open());
        assert!(spec.member("hostSelector").and_then(|s| s.member("matchLabels")).unwrap().is_open());
        assert!(shapes.of("IPPool").is_none(), "not a kind of the provider");
    }

    #[test]
    fn what_an_old_client_writes_for_unset_is_empty() {
        let schema = json!({"type": "string", "minLength": 1});
        assert!(Schema(&schema).refuses_as_empty(&json!("")));
        let schema = json!({"type": "string"});
        assert!(!Schema(&schema).refuses_as_empty(&json!("")));
        assert!(Schema(&schema).refuses_as_empty(&Value::Null));
        let schema = json!({"type": "object"});
        assert!(Schema(&schema).refuses_as_empty(&json!({"kind": "", "name": ""})));
        assert!(!Schema(&schema).refuses_as_empty(&json!({})));
    }
}

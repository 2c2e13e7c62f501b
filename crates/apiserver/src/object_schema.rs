//! The schema of one version of a custom resource, for those who want to know what the server would say without
//! asking it.

use serde_json::Value;

use crate::{crd::compiled, field::FieldError, meta::str_at, schema::Schema};

/// A compiled schema.
#[derive(Debug)]
pub struct ObjectSchema(Schema);

/// A field and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Where.
    pub path: String,
    /// What kind of wrong: `Required`, `Invalid`, `NotSupported` and so on.
    pub kind: String,
    /// What is wrong, in Kubernetes' words.
    pub message: String,
}

impl ObjectSchema {
    /// The schema of a version of a definition; none if it has no such version or no usable schema.
    pub fn of(definition: &Value, version: &str) -> Option<Self> {
        let versions = definition.get("spec")?.get("versions")?.as_array()?;
        let found = versions.iter().find(|it| str_at(it, "name") == version)?;
        compiled(found, "schema").ok().map(Self)
    }

    /// Drops fields the schema does not know and nulls it does not allow, and fills in defaults.
    pub fn normalise(&self, object: &mut Value) {
        self.0.normalise(object);
    }

    /// Everything that is wrong with an object, or with what an update changed of `old`.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<SchemaError> {
        self.0.validate(object, old).into_iter().map(SchemaError::from).collect()
    }
}

impl From<FieldError> for SchemaError {
    fn from(error: FieldError) -> Self {
        let kind = format!("{:?}", error.reason);
        Self { path: error.path, kind, message: error.body }
    }
}

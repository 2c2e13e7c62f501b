//! The objects of one machine, as templates refer to them.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine},
    v1beta2::{FromAnnotation, Metal3Data, Metal3Machine},
};
use kube::core::ObjectMeta;

use super::{
    address::Address,
    error::{Problem, RenderError},
    remedy::Remedy,
};

/// The three objects that a template may refer to; those that are not there yet, or no more, are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Objects<'a> {
    /// The Metal3Machine.
    pub metal3_machine: Option<&'a Metal3Machine>,
    /// The Machine that owns it.
    pub machine: Option<&'a Machine>,
    /// The host that it runs on.
    pub host: Option<&'a BareMetalHost>,
}

/// Everything that a document is rendered from, besides the template.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The data that is rendered for.
    pub data: &'a Metal3Data,
    /// The objects of its machine.
    pub objects: Objects<'a>,
    /// What each pool gave, by name of the pool.
    pub addresses: &'a BTreeMap<String, Address>,
}

impl<'a> Objects<'a> {
    /// Whether nothing is known, as when a machine is taken down.
    pub(super) fn are_unknown(&self) -> bool {
        self.metal3_machine.is_none() && self.machine.is_none() && self.host.is_none()
    }

    /// Metadata of the object of that kind, in any case; the inner option is none when it is not there.
    fn find(&self, object: &str, path: &str) -> Result<Option<&'a ObjectMeta>, RenderError> {
        match object.to_lowercase().as_str() {
            "metal3machine" => Ok(self.metal3_machine.map(|machine| &machine.metadata)),
            "machine" => Ok(self.machine.map(|machine| &machine.metadata)),
            "baremetalhost" => Ok(self.host.map(|host| &host.metadata)),
            _ => {
                let detail = format!("{object} is none of machine, metal3machine, baremetalhost");
                Err(RenderError::new(Problem::UnknownObject, path, detail))
            }
        }
    }

    pub(super) fn metadata(&self, object: &str, path: &str) -> Result<&'a ObjectMeta, RenderError> {
        self.find(object, path)?.ok_or_else(|| missing(object, path))
    }

    pub(super) fn host(&self, path: &str) -> Result<&'a BareMetalHost, RenderError> {
        self.host.ok_or_else(|| missing("baremetalhost", path))
    }

    pub(super) fn metal3_machine(&self, path: &str) -> Result<&'a Metal3Machine, RenderError> {
        self.metal3_machine.ok_or_else(|| missing("metal3machine", path))
    }

    /// Value of an annotation; empty when the object does not carry it.
    pub(super) fn annotation(
        &self,
        object: &str,
        annotation: &str,
        path: &str,
    ) -> Result<&'a str, RenderError> {
        let Some(metadata) = self.find(object, path)? else {
            let problem = Problem::MissingAnnotatedObject {
                object: object.to_owned(),
                annotation: annotation.to_owned(),
            };
            return Err(RenderError::new(problem, path, ""));
        };
        Ok(metadata.annotation(annotation).unwrap_or_default())
    }

    /// An error about a pool, which another value of the annotation that names the pool mends.
    pub(super) fn blamed_on(&self, source: Option<&FromAnnotation>, error: RenderError) -> RenderError {
        let named = source.and_then(|source| Some((source, self.find(&source.object, "").ok()??)));
        let Some((source, object)) = named else { return error };
        let (kind, name) = (kind_of(&source.object), object.name_str());
        let annotation = &source.annotation;
        error.remedied(Remedy::beside(format!(
            "let annotation {annotation} of {kind} {name} name a pool that serves"
        )))
    }

    /// The pool that an annotation names.
    pub(super) fn pool_of(&self, source: &FromAnnotation, path: &str) -> Result<&'a str, RenderError> {
        let pool = self.annotation(&source.object, &source.annotation, path)?;
        if !pool.is_empty() {
            return Ok(pool);
        }
        let problem = Problem::MissingAnnotation {
            object: source.object.clone(),
            annotation: source.annotation.clone(),
        };
        let name = self.metadata(&source.object, path)?.name_str();
        let remedy = Remedy::annotation(&source.annotation, kind_of(&source.object), name)
            .or_template("name the pool itself");
        Err(RenderError::new(problem, path, format!("{} {name}", source.object)).remedied(remedy))
    }
}

impl<'a> Inputs<'a> {
    /// Index of the data; one without counts as the first.
    pub(super) fn index(&self) -> i32 {
        self.data.spec.index.unwrap_or_default()
    }

    /// What a pool gave. Where it gave nothing, `problem` is the kind of complaint.
    pub(super) fn address(
        &self,
        pool: &str,
        problem: Problem,
        path: &str,
    ) -> Result<&'a Address, RenderError> {
        self.addresses.get(pool).ok_or_else(|| {
            let detail = match pool {
                "" => "no pool is named".to_owned(),
                pool => format!("pool {pool} gave no address"),
            };
            RenderError::new(problem, path, detail)
        })
    }
}

/// The kind that a template means by a word.
pub(super) fn kind_of(object: &str) -> &str {
    match object.to_lowercase().as_str() {
        "metal3machine" => "Metal3Machine",
        "machine" => "Machine",
        "baremetalhost" => "BareMetalHost",
        _ => object,
    }
}

fn missing(object: &str, path: &str) -> RenderError {
    let problem = Problem::MissingObject { object: object.to_owned() };
    RenderError::new(problem, path, "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine() -> Machine {
        serde_json::from_value(json!({"metadata": {"name": "m", "annotations": {"a": "x", "empty": ""}}}))
            .unwrap()
    }

    #[test]
    fn an_annotation_that_is_absent_reads_as_empty_but_names_no_pool() {
        let machine = machine();
        let objects = Objects { machine: Some(&machine), ..Objects::default() };
        assert_eq!(objects.annotation("MACHINE", "a", "p").as_deref(), Ok("x"));
        assert_eq!(objects.annotation("machine", "b", "p").as_deref(), Ok(""));
        for (object, annotation, expected) in [
            ("machine", "empty", "annotation empty not found or empty on machine: p, machine m"),
            ("baremetalhost", "a", "baremetalhost is nil but referenced in annotation a: p"),
            ("node", "a", "unknown object type: p, node is none of machine, metal3machine, baremetalhost"),
        ] {
            let source = FromAnnotation { object: object.into(), annotation: annotation.into() };
            assert_eq!(objects.pool_of(&source, "p").unwrap_err().to_string(), expected);
        }
    }
}

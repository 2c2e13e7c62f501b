//! What is put into a lab: objects that a user wrote or that we made.
//!
//! [`read`] and [`parse`] give them without their places, for tests and benchmarks; `capm3 up` keeps the
//! [`Document`]s and puts them with `Lab::put_documents`, so that a refusal points into the file. [`judge`] and [`refusals`]
//! ask for the refusals alone.

mod judge;
mod put;
mod rules;
mod served;
mod words;

use std::{fmt, path::Path};

use capm3_engine::{
    ObjectKey, ResourceKind,
    manifests::{self, Document, Problem, ReadError, Reading, one_a_line},
};
pub use judge::{Refusal, judge, refusals};
pub use put::Findings;
use serde_json::Value;
use thiserror::Error;

/// An object and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// File name, for messages.
    pub file: String,
    /// The object.
    pub object: Value,
}

/// Why manifests cannot be used.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// A path cannot be read.
    #[error(transparent)]
    Path(#[from] ReadError),
    /// What is there is not a list of objects.
    #[error("{}", one_a_line(.0))]
    Problems(Vec<Problem>),
}

/// Reads a file, or the files of a folder in order of their names.
pub fn read(path: &Path) -> Result<Vec<Manifest>, ManifestError> {
    all(manifests::read(&[path])?)
}

/// Reads the documents of one text.
pub fn parse(file: &str, text: &str) -> Result<Vec<Manifest>, ManifestError> {
    all(manifests::parse(file, text))
}

fn all(reading: Reading) -> Result<Vec<Manifest>, ManifestError> {
    let documents = reading.into_result().map_err(ManifestError::Problems)?;
    Ok(documents
        .into_iter()
        .map(|document| Manifest { file: document.file, object: document.value })
        .collect())
}

impl Manifest {
    fn document(&self) -> Document {
        Document::made(self.file.clone(), self.object.clone())
    }

    /// Kind of the object.
    pub fn kind(&self) -> &str {
        self.object.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// Namespace and name.
    pub fn key(&self) -> ObjectKey {
        self.document().key()
    }

    /// Where objects of this kind are served.
    pub fn resource(&self) -> ResourceKind {
        self.document().resource()
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.document())
    }
}

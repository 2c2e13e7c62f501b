//! What a user wrote: files, folders and standard input of YAML or JSON documents, each with the lines of its fields.
//!
//! Takes paths or text; gives every document that can be used and every problem of those that cannot, in the order of
//! the text. It knows no kind: whether an object is valid is for others to say, who can point into the file by
//! [`Document::line_of`].

mod document;
mod node;
mod path;
mod place;
mod problem;
mod text;
mod twice;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

pub use document::Document;
pub use problem::{Problem, one_a_line};
use thiserror::Error;
pub use twice::contradictions;

/// Words with which a problem says that a key stands twice: then the text is in order and its author must choose.
pub const DUPLICATE_KEY: &str = text::DUPLICATE_KEY;

/// The name of standard input among paths.
pub const STANDARD_INPUT: &str = "-";

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Documents that name an object, in the order of the text.
    pub documents: Vec<Document>,
    /// What is wrong with the others.
    pub problems: Vec<Problem>,
}

impl Reading {
    /// The documents if nothing is wrong, otherwise every problem.
    pub fn into_result(self) -> Result<Vec<Document>, Vec<Problem>> {
        if self.problems.is_empty() { Ok(self.documents) } else { Err(self.problems) }
    }
}

/// Why a path cannot be used at all.
#[derive(Debug, Error)]
pub enum ReadError {
    /// No such file or folder.
    #[error("{path}: no such file or folder")]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// A folder has nothing to read.
    #[error("{path}: no .yaml, .yml or .json file in this folder")]
    Empty {
        /// The path.
        path: PathBuf,
    },
    /// A file or folder cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ReadError {
    /// Whether another path is the way out.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Empty { .. })
    }
}

/// Reads files, the `.yaml`, `.yml` and `.json` files of folders in order of their names, and standard input for `-`.
pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Reading, ReadError> {
    let mut reading = Reading::default();
    for (file, text) in texts(paths)? {
        let more = parse(&file, &text);
        reading.documents.extend(more.documents);
        reading.problems.extend(more.problems);
    }
    Ok(reading)
}

/// Names and contents of the files that [`read`] reads, for callers that have more to say about the text itself.
pub fn texts<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<(String, String)>, ReadError> {
    let texts: Result<Vec<_>, _> = paths.iter().map(|path| texts_of(path.as_ref())).collect();
    Ok(texts?.into_iter().flatten().collect())
}

/// Reads the documents of one text; `file` is its name in messages.
pub fn parse(file: &str, text: &str) -> Reading {
    let mut reading = Reading::default();
    for (index, found) in (1..).zip(text::documents(file, text)) {
        match found.and_then(|node| document::of(file, index, node)) {
            Ok(documents) => reading.documents.extend(documents),
            Err(problems) => reading.problems.extend(problems),
        }
    }
    reading
}

/// Reads the documents of one text, those too that lack a part of what says which object they are: old texts and
/// parts of objects.
pub fn parse_parts(file: &str, text: &str) -> Reading {
    let mut reading = Reading::default();
    for (index, found) in (1..).zip(text::documents(file, text)) {
        match found {
            Ok(node) => reading.documents.extend(document::parts(file, index, node)),
            Err(problems) => reading.problems.extend(problems),
        }
    }
    reading
}

/// Names and contents of what a path stands for.
fn texts_of(path: &Path) -> Result<Vec<(String, String)>, ReadError> {
    if path.as_os_str() == STANDARD_INPUT {
        let mut text = String::new();
        let read = io::stdin().read_to_string(&mut text);
        read.map_err(|source| ReadError::Unreadable { path: path.to_owned(), source })?;
        return Ok(vec![("stdin".to_owned(), text)]);
    }
    let mut texts = Vec::new();
    for file in files(path)? {
        let text = std::fs::read_to_string(&file);
        let text = text.map_err(|source| ReadError::Unreadable { path: file.clone(), source })?;
        texts.push((file.display().to_string(), text));
    }
    Ok(texts)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if !path.exists() {
        return Err(ReadError::Missing { path: path.to_owned() });
    }
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path);
    let entries = entries.map_err(|source| ReadError::Unreadable { path: path.to_owned(), source })?;
    let is_manifest = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && !file.is_dir()
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_manifest).collect();
    files.sort();
    if files.is_empty() { Err(ReadError::Empty { path: path.to_owned() }) } else { Ok(files) }
}

#[cfg(test)]
#[path = "manifests_tests.rs"]
mod tests;

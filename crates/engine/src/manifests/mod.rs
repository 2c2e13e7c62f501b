//! What a user wrote: files, folders and standard input of YAML or JSON documents, each with the lines of its fields.
//!
//! Takes paths or text; gives every document that can be used and every problem of those that cannot, in the order of
//! the text. It knows no kind: whether an object is valid is for others to say, who can point into the file by
//! [`Document::line_of`].

mod document;
mod duplicates;
mod input;
mod marks;
mod nearest;
mod node;
mod path;
mod place;
mod problem;
mod text;

use std::{
    io,
    path::{Path, PathBuf},
};

pub use document::Document;
pub use duplicates::contradictions;
pub use input::Limits;
pub use marks::{Mark, Marks};
pub use nearest::nearest;
pub use problem::{Problem, one_a_line};
use thiserror::Error;

/// Words with which a problem says that a key occurs twice: then the text is in order and its author must choose.
pub const DUPLICATE_KEY: &str = text::DUPLICATE_KEY;

/// The name of standard input among paths.
pub const STANDARD_INPUT: &str = "-";

/// The name of standard input in messages.
pub const STDIN: &str = "stdin";

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
    /// A device, which may never end.
    #[error("{path}: is a device: specify a file, a folder or a pipe, or - for standard input")]
    Device {
        /// The path.
        path: PathBuf,
    },
    /// A pipe or standard input has more than is read from one.
    #[error(
        "{path}: has more than {limit}, the most that is read from a pipe or standard input: \
         write it to a file and name that file"
    )]
    LargePipe {
        /// The path.
        path: PathBuf,
        /// The limit, with its unit.
        limit: String,
    },
    /// The inputs together have more than is read.
    #[error(
        "{path}: with this input there are more than {limit}, the most that is read in all: \
         give fewer or smaller files"
    )]
    TooMuch {
        /// The input that exceeds the limit.
        path: PathBuf,
        /// The limit, with its unit.
        limit: String,
    },
}

impl ReadError {
    /// Whether another path is the way out.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Unreadable { .. })
    }
}

/// Reads files, the `.yaml`, `.yml` and `.json` files of folders in order of their names, and standard input for `-`.
/// At most as much as [`Limits::default`] says.
pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Reading, ReadError> {
    read_within(paths, Limits::default())
}

/// Reads the same as [`read`], with limits that the caller chooses.
pub fn read_within<P: AsRef<Path>>(paths: &[P], limits: Limits) -> Result<Reading, ReadError> {
    let mut reading = Reading::default();
    for (file, text) in input::texts(paths, limits)? {
        let more = parse(&file, &text);
        reading.documents.extend(more.documents);
        reading.problems.extend(more.problems);
    }
    Ok(reading)
}

/// Names and contents of the files that [`read`] reads, for callers that have more to say about the text itself.
pub fn texts<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<(String, String)>, ReadError> {
    input::texts(paths, Limits::default())
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

#[cfg(test)]
#[path = "manifests_tests.rs"]
mod tests;

//! The documents of a text. Each is parsed by itself, so that one with a mistake does not hide those of the others.

use serde::de::DeserializeOwned;
use serde_saphyr::{
    Error, MessageFormatter, Options, Spanned, UserMessageFormatter, options::DuplicateKeyPolicy,
};

use super::{
    node::{Node, line},
    problem::Problem,
};

/// Deeper than any object is, and shallow enough for every stack.
const DEEPEST: usize = 128;

/// Values of one document: a list of every host of a very large site has fewer.
const MOST_VALUES: usize = 20_000_000;

/// Bytes of text of one document.
const MOST_BYTES: usize = 512 * 1024 * 1024;

/// The values of the text of one document that is in order, as something else than nodes.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Option<Vec<Spanned<T>>> {
    serde_saphyr::from_multiple_with_options(text, options(DuplicateKeyPolicy::Error)).ok()
}

/// Every document that is not empty.
pub(super) fn documents(file: &str, text: &str) -> impl Iterator<Item = Result<Node, Vec<Problem>>> {
    chunks(text).into_iter().flat_map(move |chunk| parsed(file, &chunk))
}

/// The text of one document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunk<'a> {
    pub text: &'a str,
    /// Lines of the file before it.
    pub before: usize,
}

/// Divides a text at the lines that begin a document. YAML gives `---` in the first column no other meaning, not even
/// within quotes or block text.
pub(super) fn chunks(text: &str) -> Vec<Chunk<'_>> {
    let mut chunks = Vec::new();
    let (mut begin, mut begin_line, mut position) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_begin = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_begin && position > begin {
            chunks.push(Chunk { text: text.get(begin..position).unwrap_or_default(), before: begin_line });
            (begin, begin_line) = (position, number);
        }
        position += line.len();
    }
    chunks.push(Chunk { text: text.get(begin..).unwrap_or_default(), before: begin_line });
    chunks.retain(|chunk| !is_blank(chunk.text));
    chunks
}

/// Nothing but comments, directives and the marks of documents.
fn is_blank(text: &str) -> bool {
    text.lines().all(|line| {
        let content = line.strip_prefix("---").unwrap_or(line).trim();
        content.is_empty() || content.starts_with('#') || content == "..." || line.starts_with('%')
    })
}

fn options(duplicate_keys: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        legacy_octal_numbers: true,
        with_snippet: false,
        emit_comments: false,
        duplicate_keys: duplicate_keys,
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            max_nodes: MOST_VALUES,
            max_events: MOST_VALUES,
            max_total_scalar_bytes: MOST_BYTES,
        },
    }
}

fn parsed(file: &str, chunk: &Chunk<'_>) -> Vec<Result<Node, Vec<Problem>>> {
    let options = options(DuplicateKeyPolicy::Error);
    match serde_saphyr::from_multiple_with_options::<Spanned<Node>>(chunk.text, options) {
        Ok(nodes) => nodes
            .into_iter()
            .filter(|node| !node.value.value.is_null())
            .map(|node| Ok(moved(node, chunk.before)))
            .collect(),
        Err(error) => vec![Err(vec![syntax_problem(file, chunk, &error)])],
    }
}

/// The message, with the place, where a map has a key twice.
pub(super) const DUPLICATE_KEY: &str = "duplicate mapping key";

fn syntax_problem(file: &str, chunk: &Chunk<'_>, error: &Error) -> Problem {
    let at = error.location().and_then(|location| usize::try_from(location.line()).ok()).unwrap_or_default();
    let line = chunk.before + at.max(1);
    let words = match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_ref().map(|key| format!(": {key}")).unwrap_or_default();
            let first = first_of_twice(chunk, at);
            let both = first.map(|first| match first == line {
                true => format!(" occurs twice in line {line}"),
                false => format!(" occurs twice, in lines {first} and {line}"),
            });
            format!("{DUPLICATE_KEY}{key}{}", both.unwrap_or_default())
        }
        _ => UserMessageFormatter.format_message(error).into_owned(),
    };
    let message = format!("not valid YAML: {}", words.replace(char::is_control, " "));
    Problem { file: file.to_owned(), line, message, code: None }
}

/// The line of the file in which a key stood first that stands again in a line of the chunk.
fn first_of_twice(chunk: &Chunk<'_>, again: usize) -> Option<usize> {
    let options = options(DuplicateKeyPolicy::LastWins);
    let nodes = serde_saphyr::from_multiple_with_options::<Spanned<Node>>(chunk.text, options).ok()?;
    let first = nodes.iter().find_map(|node| node.value.place.first_of_twice(again))?;
    Some(chunk.before + first)
}

/// The node with the lines of the file instead of those of its chunk.
fn moved(spanned: Spanned<Node>, before: usize) -> Node {
    let at = line(&spanned);
    let mut node = spanned.value;
    node.place.line = at;
    node.place.move_down(before);
    node
}

//! Where fields stand in the text, to the letter.
//!
//! Takes a text and documents that were read from it; gives the [`Mark`] of a field. A reading keeps only lines, because
//! letters would double its size: the few documents of which somebody wants to know more are parsed again here.

use std::{collections::BTreeMap, fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{Location, Spanned};

use super::{
    Document, path,
    text::{self, Chunk},
};

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The letter at which it begins, from 1.
    pub column: usize,
    /// Its bytes in the text; all on one line.
    pub bytes: Range<usize>,
    /// Whether it is the scalar at the field itself, and not its key or a parent.
    pub is_value: bool,
}

/// A text whose fields can be found.
#[derive(Debug)]
pub struct Marks<'t> {
    text: &'t str,
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
    chunks: Vec<Chunk<'t>>,
    /// What was parsed, by the first line of its chunk.
    parsed: BTreeMap<usize, Vec<Spans>>,
}

impl<'t> Marks<'t> {
    /// The fields of a text.
    pub fn of(text: &'t str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { text, lines, chunks: text::chunks(text), parsed: BTreeMap::new() }
    }

    /// The scalar at a field of a document of this text, written as for [`Document::line_of`]. For a list or map it is its key, and
    /// for what is not there the nearest parent that is.
    pub fn mark(&mut self, document: &Document, field: &str) -> Mark {
        let line = document.line_of(field).max(1);
        let found = self.found(document, field);
        found.unwrap_or_else(|| self.line(line))
    }

    /// A whole line, without the blanks around it.
    pub fn line(&self, line: usize) -> Mark {
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        let content = self.rest_of_line(start);
        let indent = content.len() - content.trim_start().len();
        let bytes = start + indent..start + content.trim_end().len().max(indent);
        let column = content.chars().take_while(|c| c.is_whitespace()).count() + 1;
        Mark { line, column, bytes, is_value: false }
    }

    fn found(&mut self, document: &Document, field: &str) -> Option<Mark> {
        let begin = document.line();
        let before = self.chunks.iter().rev().find(|chunk| chunk.before < begin)?.before;
        let chunk = self.chunks.iter().find(|chunk| chunk.before == before)?;
        let parsed = self
            .parsed
            .entry(before)
            .or_insert_with(|| text::parse(chunk.text).map(whole).unwrap_or_default());
        let root = parsed.iter().rev().find(|spans| before + line_of(&spans.value) <= begin)?;
        let root = match document.item() {
            None => root,
            Some(number) => root.member("items")?.item(number)?,
        };
        let (spans, is_exact) = root.of_path(field);
        let spans = spans.clone();
        Some(match spans.key.filter(|_| !spans.is_scalar || !is_exact) {
            Some(key) => self.place(&key, before, false),
            None => self.place(&spans.value, before, is_exact && spans.is_scalar),
        })
    }

    fn place(&self, location: &Location, before: usize, is_value: bool) -> Mark {
        let line = before + line_of(location);
        let column = number(location.column()).max(1);
        let begin = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        let content = self.rest_of_line(begin);
        let byte = |letters: usize| content.char_indices().nth(letters).map_or(content.len(), |(at, _)| at);
        let length = number(location.span().len());
        let from = byte(column - 1);
        let to = if length == 0 { content.trim_end().len() } else { byte(column - 1 + length) };
        let marked = content.get(from..to).unwrap_or_default();
        // The parser counts the line end of plain scalars in places, and a comment belongs to none.
        let to = from + marked.trim_end().len();
        Mark { line, column, bytes: begin + from..begin + to.max(from), is_value }
    }

    fn rest_of_line(&self, from: usize) -> &'t str {
        let rest = self.text.get(from..).unwrap_or_default();
        rest.split_once('\n').map_or(rest, |(line, _)| line)
    }
}

fn number<T: TryInto<usize>>(number: T) -> usize {
    number.try_into().unwrap_or_default()
}

fn line_of(location: &Location) -> usize {
    number(location.line())
}

/// A value, the key before it, and what is inside.
#[derive(Debug, Clone)]
struct Spans {
    key: Option<Location>,
    value: Location,
    is_scalar: bool,
    members: Vec<(String, Spans)>,
    items: Vec<Spans>,
}

/// The insides of a value, as the parser gives them.
#[derive(Debug)]
struct Inside {
    is_scalar: bool,
    members: Vec<(String, Spans)>,
    items: Vec<Spans>,
}

fn whole(parsed: Vec<Spanned<Inside>>) -> Vec<Spans> {
    parsed.into_iter().map(|inside| Spans::new(None, inside)).collect()
}

impl Spans {
    fn new(key: Option<Location>, spanned: Spanned<Inside>) -> Self {
        let Inside { is_scalar, members, items } = spanned.value;
        Self { key, value: spanned.referenced, is_scalar, members, items }
    }

    fn member(&self, key: &str) -> Option<&Self> {
        self.members.iter().find(|(known, _)| known == key).map(|(_, spans)| spans)
    }

    fn item(&self, number: usize) -> Option<&Self> {
        self.items.get(number)
    }

    /// What is at a path, or its nearest parent, and whether it is that itself.
    fn of_path(&self, path: &str) -> (&Self, bool) {
        let path = path.strip_prefix('.').unwrap_or(path);
        let members = self.members.iter().map(|(key, spans)| (key.as_str(), spans));
        let of_item = || path::item(path).and_then(|(number, rest)| Some((self.items.get(number)?, rest)));
        match path::longest(members, path).or_else(of_item) {
            Some((inner, rest)) => inner.of_path(rest),
            None => (self, path.is_empty()),
        }
    }
}

impl<'de> Deserialize<'de> for Inside {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InsideVisitor)
    }
}

struct InsideVisitor;

fn scalar<E>() -> Result<Inside, E> {
    Ok(Inside { is_scalar: true, members: Vec::new(), items: Vec::new() })
}

impl<'de> Visitor<'de> for InsideVisitor {
    type Value = Inside;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Inside, E> {
        scalar()
    }

    fn visit_i64<E>(self, _: i64) -> Result<Inside, E> {
        scalar()
    }

    fn visit_u64<E>(self, _: u64) -> Result<Inside, E> {
        scalar()
    }

    fn visit_f64<E>(self, _: f64) -> Result<Inside, E> {
        scalar()
    }

    fn visit_str<E>(self, _: &str) -> Result<Inside, E> {
        scalar()
    }

    fn visit_unit<E>(self) -> Result<Inside, E> {
        scalar()
    }

    fn visit_none<E>(self) -> Result<Inside, E> {
        scalar()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Inside, D::Error> {
        Inside::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Inside, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Spanned<Inside>>()? {
            items.push(Spans::new(None, item));
        }
        Ok(Inside { is_scalar: false, members: Vec::new(), items })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Inside, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let at = key.referenced;
            match access.next_value::<Spanned<Inside>>() {
                Ok(member) => members.push((key.value, Spans::new(Some(at), member))),
                Err(error) => return Err(error),
            }
        }
        Ok(Inside { is_scalar: false, members, items: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::parse;

    const TEXT: &str = "\
# A comment.
---
apiVersion: v1
kind: Thing
metadata: {name: ä, namespace: 'n s'}
spec:
  list:
  - id: one # first
    number: 12
  - \"two\"
  empty:
---
apiVersion: v1
kind: List
items: [{apiVersion: v1, kind: Thing, metadata: {name: a}}, {apiVersion: v1, kind: Thing, metadata: {name: b}}]
";

    /// Line, column and text of fields of one of the documents.
    fn marked(document: usize, fields: &[&str]) -> Vec<(usize, usize, &'static str, bool)> {
        let documents = parse("f.yaml", TEXT).documents;
        let mut marks = Marks::of(TEXT);
        let mark = |field: &&str| marks.mark(&documents[document], field);
        let marked = fields.iter().map(mark);
        marked.map(|m| (m.line, m.column, &TEXT[m.bytes], m.is_value)).collect()
    }

    #[test]
    fn a_scalar_is_marked_itself_and_everything_else_by_its_key_or_parent() {
        let fields = [
            "metadata.name",
            "metadata.namespace",
            "spec.list[0].id",
            "spec.list[0].number",
            "spec.list[1]",
            "spec.list",
            "spec.list[0].missing",
            "spec.missing",
            "",
        ];
        assert_eq!(
            marked(0, &fields),
            [
                (5, 18, "ä", true),
                (5, 32, "'n s'", true),
                (8, 9, "one", true),
                (9, 13, "12", true),
                (10, 5, "\"two\"", true),
                (7, 3, "list", false),
                (8, 5, "id: one # first", false),
                (6, 1, "spec", false),
                (3, 1, "apiVersion: v1", false),
            ]
        );
    }

    #[test]
    fn items_of_a_list_on_one_line_are_told_apart() {
        assert_eq!(marked(1, &["metadata.name"]), [(15, 56, "a", true)]);
        assert_eq!(marked(2, &["metadata.name"]), [(15, 108, "b", true)]);
    }

    #[test]
    fn a_line_is_marked_without_the_blanks_around_it() {
        let mark = Marks::of("a\n  b c \n").line(2);
        assert_eq!((mark.column, mark.bytes), (3, 4..7));
        assert_eq!(Marks::of("a\n").line(9).bytes, 2..2);
    }
}

//! A document on its way to its new form. Every change goes through here, so that none is made without being reported
//! and each is reported at the place where the user wrote it.

use capm3_engine::manifests::Document;
use serde_json::{Map, Value};

use super::{
    path::Path,
    report::{Change, Problem, Severity, SourcePlace},
};

/// What is shown for a member that was not there.
const MISSING: &str = "missing";

/// The document, and what was done to it so far.
pub(super) struct Draft<'a> {
    /// What the user wrote.
    source: &'a Document,
    /// The document now.
    pub value: Value,
    /// Where values stand now and where they stood before, newest last.
    moves: Vec<(Path, Path)>,
    /// What was changed.
    pub changes: Vec<Change>,
    /// What must be decided by the user.
    pub problems: Vec<Problem>,
}

impl<'a> Draft<'a> {
    /// A document as it was read.
    pub fn new(source: &'a Document) -> Self {
        Self { source, value: source.value.clone(), moves: vec![], changes: vec![], problems: vec![] }
    }

    /// The text at a path of keys in what the user wrote, or nothing.
    pub fn written(&self, keys: &str) -> &str {
        Path::of(keys).find(&self.source.value).and_then(Value::as_str).unwrap_or_default()
    }

    /// The value at a path in what the user wrote.
    pub fn original(&self, path: &Path) -> Option<&'a Value> {
        path.find(&self.source.value)
    }

    /// Where a value stood when it was read.
    fn place(&self, path: &Path) -> SourcePlace {
        let original = self
            .moves
            .iter()
            .rev()
            .fold(path.clone(), |path, (now, before)| path.rebased(now, before).unwrap_or(path));
        let path = original.to_string();
        let line = self.source.line_of(&path);
        SourcePlace { file: self.source.file.clone(), line, object: self.title(), path }
    }

    /// Kind and name, as far as they are known.
    fn title(&self) -> String {
        let parts = [self.text("kind"), self.text("metadata.name")];
        let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if known.is_empty() { format!("document {}", self.source.index) } else { known.join(" ") }
    }

    /// The text at a path of keys, or nothing.
    pub fn text(&self, keys: &str) -> &str {
        Path::of(keys).find(&self.value).and_then(Value::as_str).unwrap_or_default()
    }

    /// The value at a path of keys.
    pub fn get(&self, keys: &str) -> Option<&Value> {
        Path::of(keys).find(&self.value)
    }

    /// Notes a change that the caller makes.
    pub fn note(
        &mut self,
        path: &Path,
        from: impl Into<String>,
        to: impl Into<String>,
        why: impl Into<String>,
    ) {
        let place = self.place(path);
        self.changes.push(Change { place, from: from.into(), to: to.into(), why: why.into() });
    }

    /// Gives another reason for a member that was added, once more is known.
    pub fn explain_added(&mut self, path: &str, why: &str) {
        for change in
            self.changes.iter_mut().filter(|change| change.place.path == path && change.from == MISSING)
        {
            change.why = why.to_owned();
        }
    }

    /// Marks the document as one to check.
    pub fn warn(&mut self, path: &Path, message: impl Into<String>, proposal: Option<String>) {
        self.problem(Severity::Warning, path, message.into(), proposal);
    }

    /// Says that the user must decide.
    pub fn error(&mut self, path: &Path, message: impl Into<String>, proposal: Option<String>) {
        self.problem(Severity::Error, path, message.into(), proposal);
    }

    /// Whether the user must decide about this member already.
    pub fn is_disputed(&self, path: &Path) -> bool {
        let place = self.place(path);
        self.problems.iter().any(|problem| problem.severity == Severity::Error && problem.place == place)
    }

    fn problem(&mut self, severity: Severity, path: &Path, message: String, proposal: Option<String>) {
        let problem = Problem { severity, place: self.place(path), message, proposal };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Puts a value in the place of another.
    pub fn replace(&mut self, path: &Path, value: Value, why: &str) {
        if let Some(old) = path.find_mut(&mut self.value) {
            let (from, to) = (brief(old), brief(&value));
            *old = value;
            self.note(path, from, to, why);
        }
    }

    /// Puts in a member that is not there yet, making its parents where they are missing.
    pub fn add(&mut self, path: &Path, value: Value, why: &str) {
        let to = brief(&value);
        if self.put(path, value) {
            self.note(path, MISSING, to, why);
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, path: &Path, why: &str) -> Option<Value> {
        let old = self.take(path)?;
        self.note(path, brief(&old), "removed", why);
        Some(old)
    }

    /// Moves a member, unless its new place holds another value: then the user must decide. Says whether it moved.
    pub fn relocate(&mut self, from: &Path, to: &Path, why: &str) -> bool {
        let Some(value) = from.find(&self.value).cloned() else { return false };
        if to.find(&self.value).is_some_and(is_unset) {
            self.remove(to, UNSET);
        }
        match to.find(&self.value) {
            Some(there) if *there == value => {
                self.remove(from, &format!("{to} says the same; {why}"));
                false
            }
            Some(_) if is_unset(&value) => {
                self.remove(from, UNSET);
                false
            }
            Some(there) => {
                let message = format!("says {} but {to} says {}", brief(&value), brief(there));
                self.error(from, message, Some(format!("keep one of the two as {to}")));
                false
            }
            None if !self.has_room(to) => {
                self.error(from, format!("cannot be moved to {to}: the value there is not an object"), None);
                false
            }
            None => {
                self.note(from, name(from), name_seen_from(from, to), why);
                self.shift(from, to);
                true
            }
        }
    }

    /// Whether every parent of a place that exists can have members.
    fn has_room(&self, path: &Path) -> bool {
        let Some((parent, _)) = path.split_key() else { return false };
        parent.find(&self.value).map_or_else(|| self.has_room(&parent), Value::is_object)
    }

    /// Moves a member without a word, for callers that report it themselves; keeps its position among its siblings
    /// where only its name changes.
    pub fn shift(&mut self, from: &Path, to: &Path) {
        match (from.split_key(), to.split_key()) {
            (Some((parent, old)), Some((other, new))) if parent == other => {
                if let Some(Value::Object(map)) = parent.find_mut(&mut self.value) {
                    *map = renamed(std::mem::take(map), old, new);
                }
            }
            _ => {
                if let Some(value) = self.take(from) {
                    self.put(to, value);
                }
            }
        }
        self.moves.push((to.clone(), from.clone()));
    }

    /// Remembers that what stands at `now` was written at `before`.
    pub fn remember(&mut self, now: &Path, before: &Path) {
        self.moves.push((now.clone(), before.clone()));
    }

    /// Takes out an object whose last member was moved elsewhere.
    pub fn drop_empty(&mut self, path: &Path) {
        if path.find(&self.value).and_then(Value::as_object).is_some_and(Map::is_empty) {
            self.take(path);
        }
    }

    fn take(&mut self, path: &Path) -> Option<Value> {
        let (parent, key) = path.split_key()?;
        parent.find_mut(&mut self.value)?.as_object_mut()?.shift_remove(key)
    }

    fn put(&mut self, path: &Path, value: Value) -> bool {
        let Some((parent, key)) = path.split_key() else { return false };
        if parent.find(&self.value).is_none() && !self.put(&parent, Value::Object(Map::new())) {
            return false;
        }
        match parent.find_mut(&mut self.value) {
            Some(Value::Object(map)) => map.insert(key.to_owned(), value).is_none(),
            _ => false,
        }
    }
}

/// Why an empty member goes.
pub(super) const UNSET: &str = "empty, which means that it is not set";

/// Whether a value says nothing at any place.
fn is_unset(value: &Value) -> bool {
    value.is_null() || value == ""
}

/// The map with one key renamed in its position.
fn renamed(map: Map<String, Value>, old: &str, new: &str) -> Map<String, Value> {
    let rename =
        |(key, value): (String, Value)| if key == old { (new.to_owned(), value) } else { (key, value) };
    map.into_iter().map(rename).collect()
}

fn name(path: &Path) -> String {
    path.split_key().map_or_else(|| path.to_string(), |(_, key)| key.to_owned())
}

/// The last key where only that differs, the whole path otherwise.
fn name_seen_from(from: &Path, to: &Path) -> String {
    match (from.split_key(), to.split_key()) {
        (Some((old, _)), Some((new, key))) if old == new => key.to_owned(),
        _ => to.to_string(),
    }
}

/// Longest value that is shown whole.
const LONGEST_SHOWN: usize = 72;

/// A value in one short line.
pub(super) fn brief(value: &Value) -> String {
    let text = match value {
        Value::String(text) if !text.is_empty() && !text.contains(char::is_control) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST_SHOWN {
        return text;
    }
    match value {
        Value::Object(map) => {
            format!("an object with {}", map.keys().cloned().collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("a list of {}", items.len()),
        _ => format!("{}...", text.chars().take(LONGEST_SHOWN).collect::<String>()),
    }
}

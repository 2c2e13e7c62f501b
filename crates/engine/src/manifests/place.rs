//! Where each field of a document stands in its file.

use super::path;

/// Lines of a value and of everything in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldPlace {
    /// Line of the key, or of the list item, from 1.
    pub line: usize,
    /// What is inside.
    pub inside: Inside,
}

/// What is inside a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nothing that has a line of its own.
    #[default]
    Nothing,
    /// Members by key.
    Members(Vec<(String, FieldPlace)>),
    /// Items of a list.
    Items(Vec<FieldPlace>),
}

impl FieldPlace {
    /// The place of a field, or of its nearest parent that is in the file.
    pub fn of_path(&self, path: &str) -> &Self {
        let path = path.strip_prefix('.').unwrap_or(path);
        let step = match &self.inside {
            Inside::Nothing => None,
            Inside::Members(members) => {
                path::longest(members.iter().map(|(key, place)| (key.as_str(), place)), path)
            }
            Inside::Items(items) => {
                path::item(path).and_then(|(number, rest)| Some((items.get(number)?, rest)))
            }
        };
        step.map_or(self, |(inner, rest)| inner.of_path(rest))
    }

    /// The line at which the key that stands again at `again` stood first, where one map has it twice.
    pub fn first_of_twice(&self, again: usize) -> Option<usize> {
        match &self.inside {
            Inside::Nothing => None,
            Inside::Items(items) => items.iter().find_map(|item| item.first_of_twice(again)),
            Inside::Members(members) => {
                let is_again = |(key, second): &(String, Self)| {
                    let (_, first) = members.iter().find(|(other, _)| other == key)?;
                    (second.line == again && !std::ptr::eq(first, second)).then_some(first.line)
                };
                let inside = || members.iter().find_map(|(_, member)| member.first_of_twice(again));
                members.iter().find_map(is_again).or_else(inside)
            }
        }
    }

    /// Moves everything down by some lines.
    pub fn move_down(&mut self, lines: usize) {
        self.line += lines;
        match &mut self.inside {
            Inside::Nothing => {}
            Inside::Members(members) => members.iter_mut().for_each(|(_, place)| place.move_down(lines)),
            Inside::Items(items) => items.iter_mut().for_each(|place| place.move_down(lines)),
        }
    }
}

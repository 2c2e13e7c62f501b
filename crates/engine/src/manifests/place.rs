//! Where each field of a document stands in its file.

/// Lines of a value and of everything in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
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
    Members(Vec<(String, Place)>),
    /// Items of a list.
    Items(Vec<Place>),
}

impl Place {
    /// The place of a field, or of its nearest parent that is in the file.
    ///
    /// Keys may hold dots and slashes themselves (`metadata.labels.example.com/role`), so the longest key that fits
    /// is taken; keys in brackets (`metadata.labels[example.com/role]`) are understood as well.
    pub fn of_path(&self, path: &str) -> &Self {
        let path = path.strip_prefix('.').unwrap_or(path);
        self.step(path).map_or(self, |(inner, rest)| inner.of_path(rest))
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

    fn step<'a>(&self, path: &'a str) -> Option<(&Self, &'a str)> {
        match &self.inside {
            Inside::Nothing => None,
            Inside::Members(members) => members
                .iter()
                .filter_map(|(key, place)| Some((key.len(), place, after_key(path, key)?)))
                .max_by_key(|(length, _, _)| *length)
                .map(|(_, place, rest)| (place, rest)),
            Inside::Items(items) => {
                let (number, rest) = path.strip_prefix('[')?.split_once(']')?;
                Some((items.get(number.parse::<usize>().ok()?)?, rest))
            }
        }
    }
}

/// What is left of a path when its first part is this key.
fn after_key<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    let bracketed =
        path.strip_prefix('[').and_then(|p| p.strip_prefix(key)).and_then(|p| p.strip_prefix(']'));
    bracketed.or_else(|| {
        let rest = path.strip_prefix(key)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
    })
}

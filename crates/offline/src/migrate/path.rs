//! Where a value stands in a document.

use std::fmt;

use serde_json::Value;

/// One step down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A member of an object.
    Key(String),
    /// An item of a list.
    Item(usize),
}

/// The steps from the document to a value. Shown as API servers show it: `spec.pools[0].start`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Path(Vec<Step>);

impl Path {
    /// A path of keys, written with dots.
    pub fn of(keys: &str) -> Self {
        let keys = keys.split('.').filter(|key| !key.is_empty());
        Self(keys.map(|key| Step::Key(key.to_owned())).collect())
    }

    /// The member of this value.
    pub fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    /// The item of this list.
    pub fn item(&self, index: usize) -> Self {
        self.with(Step::Item(index))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The same path below another parent, if it is `from` or below it.
    pub fn rebased(&self, from: &Self, to: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(from.0.as_slice())?;
        Some(Self(to.0.iter().chain(rest).cloned().collect()))
    }

    /// Whether its keys end with these, written with dots; `*` stands for any key, list positions do not count, and a
    /// leading dot means that nothing stands before.
    pub fn ends_with(&self, pattern: &str) -> bool {
        let whole = pattern.starts_with('.');
        let wanted = pattern.split('.').filter(|key| !key.is_empty()).rev();
        let mut keys = self.0.iter().rev().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Item(_) => None,
        });
        for want in wanted {
            if !keys.next().is_some_and(|key| want == "*" || key == want) {
                return false;
            }
        }
        !whole || keys.next().is_none()
    }

    /// The value at this path.
    pub fn find<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(document, |value, step| match step {
            Step::Key(key) => value.get(key),
            Step::Item(index) => value.get(index),
        })
    }

    /// The value at this path, to be changed.
    pub fn find_mut<'a>(&self, document: &'a mut Value) -> Option<&'a mut Value> {
        self.0.iter().try_fold(document, |value, step| match step {
            Step::Key(key) => value.get_mut(key),
            Step::Item(index) => value.get_mut(index),
        })
    }

    /// The path without its last step, and that step's key.
    pub fn split_key(&self) -> Option<(Self, &str)> {
        let (last, parent) = self.0.split_last()?;
        match last {
            Step::Key(key) => Some((Self(parent.to_vec()), key)),
            Step::Item(_) => None,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Item(index) => write!(f, "[{index}]")?,
                Step::Key(key) if key.contains(['.', '/']) => write!(f, "[{key}]")?,
                Step::Key(key) if position == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_shown_as_api_servers_show_it() {
        let path = Path::of("metadata.labels").key("example.com/a");
        assert_eq!(path.to_string(), "metadata.labels[example.com/a]");
        assert_eq!(Path::of("spec.pools").item(0).key("start").to_string(), "spec.pools[0].start");
    }

    #[test]
    fn patterns_look_at_keys_from_the_end() {
        let path = Path::of("spec.networkData.networks.ipv4").item(3).key("routes").item(0).key("gateway");
        for (pattern, matches) in [
            ("routes.gateway", true),
            ("networks.*.routes.gateway", true),
            ("gateway", true),
            (".gateway", false),
            (".spec.networkData.networks.ipv4.routes.gateway", true),
            ("ipv4.gateway", false),
            ("routes", false),
        ] {
            assert_eq!(path.ends_with(pattern), matches, "{pattern}");
        }
    }

    #[test]
    fn a_value_is_found_and_its_path_follows_a_move() {
        let document = json!({"a": [{"b": 1}]});
        let path = Path::of("a").item(0).key("b");
        assert_eq!(path.find(&document), Some(&json!(1)));
        assert_eq!(path.rebased(&Path::of("a"), &Path::of("x.y")).unwrap().to_string(), "x.y[0].b");
        assert_eq!(path.rebased(&Path::of("b"), &Path::of("x")), None);
    }
}

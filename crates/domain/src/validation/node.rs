//! A place in a JSON object that knows its own path. Reading is total: what is absent, null or of another type reads
//! as absent, because a schema judges types and these rules must answer whatever they are given.

use serde_json::Value;

/// A place in an object, there or not.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    value: Option<&'a Value>,
    path: String,
}

impl<'a> Node<'a> {
    /// The object itself.
    pub(crate) fn root(object: &'a Value) -> Self {
        Self { value: Some(object), path: String::new() }
    }

    /// A member.
    pub(crate) fn at(&self, member: &str) -> Self {
        let path = if self.path.is_empty() { member.to_owned() } else { format!("{}.{member}", self.path) };
        Self { value: self.value.and_then(|value| value.get(member)), path }
    }

    /// The items of a list, each with its place.
    pub(crate) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let path = self.path.clone();
        let items = self.value.and_then(Value::as_array).into_iter().flatten();
        items
            .enumerate()
            .map(move |(index, item)| Self { value: Some(item), path: format!("{path}[{index}]") })
    }

    /// The members of a map, each with its key and place.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'a str, Self)> + use<'a> {
        let path = self.path.clone();
        let members = self.value.and_then(Value::as_object).into_iter().flatten();
        members.map(move |(key, value)| {
            (key.as_str(), Self { value: Some(value), path: format!("{path}.{key}") })
        })
    }

    /// Where this is.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// What is there; null counts as nothing.
    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.value.filter(|value| !value.is_null())
    }

    /// The text there; an empty one is none.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.value.and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// The text there, or the empty one.
    pub(crate) fn text_or_empty(&self) -> &'a str {
        self.text().unwrap_or_default()
    }

    /// The whole number there.
    pub(crate) fn int(&self) -> Option<i64> {
        self.value.and_then(Value::as_i64)
    }

    /// Whether `true` is there.
    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// A copy of what is there, for an error to show.
    pub(crate) fn shown(&self) -> Value {
        self.value.cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_know_their_path_and_read_absent_for_what_does_not_fit() {
        let object = json!({"spec": {"list": [{"a": "x"}, 7], "n": 3, "none": null, "empty": ""}});
        let spec = Node::root(&object).at("spec");
        let second = spec.at("list").items().nth(1).unwrap();
        assert_eq!((second.path(), second.int(), second.text()), ("spec.list[1]", Some(7), None));
        assert_eq!(spec.at("list").at("a").at("b").path(), "spec.list.a.b");
        assert_eq!(spec.at("n").items().count(), 0);
        assert!(spec.at("none").value().is_none() && spec.at("empty").text().is_none());
        assert_eq!(spec.members().map(|(key, _)| key).collect::<Vec<_>>(), ["list", "n", "none", "empty"]);
    }
}

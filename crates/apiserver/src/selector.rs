//! Label and field selectors: takes the text of a query, gives a predicate on objects. Knows no resources; which
//! fields may be selected is given by the caller.

use serde_json::Value;
use thiserror::Error;

use crate::{meta, names};

/// Why a selector cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum SelectorError {
    /// Not a label selector.
    #[error("unable to parse requirement: {0}")]
    Label(String),
    /// Not a field selector.
    #[error("invalid selector: {0:?}; can't understand {0:?}")]
    Field(String),
    /// A field that this resource does not index.
    #[error("field label not supported: {0}")]
    Unsupported(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

/// A conjunction of requirements on labels; the empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<(String, Test)>);

impl LabelSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, SelectorError> {
        split_outside_parentheses(text)?
            .into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(requirement)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether it matches everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        let labels = meta::of(object).and_then(|metadata| metadata.get("labels"));
        let value = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        self.0.iter().all(|(key, test)| test.holds(value(key)))
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(allowed) => value.is_some_and(|value| allowed.iter().any(|it| it == value)),
            Self::NotIn(refused) => value.is_none_or(|value| refused.iter().all(|it| it != value)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::Greater(than) => number().is_some_and(|number| number > *than),
            Self::Less(than) => number().is_some_and(|number| number < *than),
        }
    }
}

fn split_outside_parentheses(text: &str) -> Result<Vec<&str>, SelectorError> {
    let mut inside = false;
    for symbol in text.chars().filter(|symbol| matches!(symbol, '(' | ')')) {
        if inside == (symbol == '(') {
            return Err(SelectorError::Label(format!("found '{symbol}', expected: ',' or 'end of string'")));
        }
        inside = symbol == '(';
    }
    if inside {
        return Err(SelectorError::Label("found '', expected: ',' or ')'".to_owned()));
    }
    let mut depth = 0;
    Ok(text
        .split(|symbol| {
            match symbol {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            symbol == ',' && depth == 0
        })
        .collect())
}

fn requirement(text: &str) -> Result<(String, Test), SelectorError> {
    if let Some(key) = text.strip_prefix('!') {
        return Ok((label_key(key)?, Test::Absent));
    }
    if let Some((head, list)) = text.split_once('(') {
        return set_requirement(head, list);
    }
    for (operator, build) in OPERATORS {
        if let Some((key, value)) = text.split_once(operator) {
            return Ok((label_key(key)?, build(value.trim())?));
        }
    }
    Ok((label_key(text)?, Test::Exists))
}

type Build = fn(&str) -> Result<Test, SelectorError>;

/// Longer operators first, so that `!=` and `==` are not read as `=`.
const OPERATORS: [(&str, Build); 5] = [
    ("!=", |value| Ok(Test::NotIn(vec![label_value(value)?]))),
    ("==", |value| Ok(Test::In(vec![label_value(value)?]))),
    ("=", |value| Ok(Test::In(vec![label_value(value)?]))),
    (">", |value| integer(value).map(Test::Greater)),
    ("<", |value| integer(value).map(Test::Less)),
];

fn set_requirement(head: &str, list: &str) -> Result<(String, Test), SelectorError> {
    let values = list
        .trim_end()
        .strip_suffix(')')
        .ok_or_else(|| SelectorError::Label(format!("found {list:?}, expected: ')'")))?;
    let values = values.split(',').map(|value| label_value(value.trim())).collect::<Result<Vec<_>, _>>()?;
    let mut words = head.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some(key), Some("in"), None) => Ok((label_key(key)?, Test::In(values))),
        (Some(key), Some("notin"), None) => Ok((label_key(key)?, Test::NotIn(values))),
        _ => Err(SelectorError::Label(format!(
            "found {:?}, expected: in, notin, =, ==, !=, gt, lt",
            head.trim()
        ))),
    }
}

fn label_key(key: &str) -> Result<String, SelectorError> {
    let key = key.trim();
    names::qualified(key).map_or_else(
        || Ok(key.to_owned()),
        |complaint| Err(SelectorError::Label(format!("<nil>: Invalid value: {key:?}: {complaint}"))),
    )
}

fn label_value(value: &str) -> Result<String, SelectorError> {
    names::label_value(value).map_or_else(
        || Ok(value.to_owned()),
        |complaint| Err(SelectorError::Label(format!("values[0]: Invalid value: {value:?}: {complaint}"))),
    )
}

fn integer(value: &str) -> Result<i64, SelectorError> {
    value.parse().map_err(|_| {
        SelectorError::Label(format!(
            "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
        ))
    })
}

/// A field that may be selected: its label and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectableField {
    pub(crate) label: String,
    pub(crate) path: Vec<String>,
}

impl SelectableField {
    /// From a dotted path such as `spec.nodeName`; a leading dot, as CRDs write it, is ignored.
    pub(crate) fn new(path: &str) -> Self {
        let label = path.trim_start_matches('.').to_owned();
        let path = label.split('.').map(str::to_owned).collect();
        Self { label, path }
    }

    fn read(&self, object: &Value) -> String {
        match self.path.iter().try_fold(object, |value, field| value.get(field)) {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => String::new(),
            Some(scalar) => scalar.to_string(),
        }
    }
}

/// A conjunction of equalities on fields; the empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<FieldTest>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldTest {
    field: SelectableField,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Reads the text; besides `metadata.name` and `metadata.namespace` only `selectable` fields are known.
    pub(crate) fn parse(text: &str, selectable: &[SelectableField]) -> Result<Self, SelectorError> {
        let parts = text.split(',').filter(|part| !part.trim().is_empty());
        parts.map(|part| field_test(part, selectable)).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|test| (test.field.read(object) == test.value) == test.equal)
    }

    /// Whether it matches everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether something outside `metadata` is selected.
    pub(crate) fn need_body(&self) -> bool {
        self.0.iter().any(|test| !test.field.label.starts_with("metadata."))
    }

    /// The one name that can match, which makes a list a lookup.
    pub(crate) fn exact_name(&self) -> Option<&str> {
        let named = |test: &&FieldTest| test.equal && test.field.label == "metadata.name";
        self.0.iter().find(named).map(|test| test.value.as_str())
    }
}

fn field_test(part: &str, selectable: &[SelectableField]) -> Result<FieldTest, SelectorError> {
    let split = |operator, equal| part.split_once(operator).map(|(label, value)| (label, value, equal));
    let (label, value, equal) = split("!=", false)
        .or_else(|| split("==", true))
        .or_else(|| split("=", true))
        .ok_or_else(|| SelectorError::Field(part.to_owned()))?;
    let label = label.trim();
    let field = match label {
        "metadata.name" | "metadata.namespace" => SelectableField::new(label),
        other => selectable
            .iter()
            .find(|field| field.label == other)
            .cloned()
            .ok_or_else(|| SelectorError::Unsupported(other.to_owned()))?,
    };
    Ok(FieldTest { field, value: value.trim().to_owned(), equal })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn selected(selector: &str, labels: Value) -> bool {
        LabelSelector::parse(selector).unwrap().matches(&json!({"metadata": {"labels": labels}}))
    }

    #[test]
    fn label_selectors_mean_what_kubernetes_says() {
        let table = [
            ("", json!({}), true),
            ("a=b", json!({"a": "b"}), true),
            ("a==b", json!({"a": "c"}), false),
            ("a!=b", json!({}), true),
            ("a!=b", json!({"a": "b"}), false),
            ("a in (b, c)", json!({"a": "c"}), true),
            ("a in (b,c),d", json!({"a": "c"}), false),
            ("a notin (b,c)", json!({}), true),
            ("a notin (b,c)", json!({"a": "b"}), false),
            ("a", json!({"a": ""}), true),
            ("!a", json!({"a": ""}), false),
            ("!a", json!({}), true),
            ("a=", json!({"a": ""}), true),
            ("n>3", json!({"n": "4"}), true),
            ("n<3", json!({"n": "x"}), false),
            ("x.io/a=b,c=d", json!({"x.io/a": "b", "c": "d"}), true),
        ];
        for (selector, labels, expected) in table {
            assert_eq!(selected(selector, labels.clone()), expected, "{selector} on {labels}");
        }
    }

    #[test]
    fn malformed_label_selectors_are_refused() {
        for selector in ["a=b=c d", "a in b", "a in (b", "=", "a b", "in (a)", "a in (b))", "!", "n>x"] {
            assert!(LabelSelector::parse(selector).is_err(), "{selector}");
        }
    }

    #[test]
    fn field_selectors_know_names_and_what_the_resource_offers() {
        let object = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"count": 3}});
        let fields = [SelectableField::new(".spec.count")];
        let table = [
            ("metadata.name=a", true),
            ("metadata.name!=a", false),
            ("metadata.name==a,metadata.namespace=n", true),
            ("spec.count=3", true),
            ("spec.count!=3", false),
        ];
        for (text, expected) in table {
            assert_eq!(FieldSelector::parse(text, &fields).unwrap().matches(&object), expected, "{text}");
        }
        assert_eq!(
            FieldSelector::parse("spec.other=1", &fields).unwrap_err().to_string(),
            "field label not supported: spec.other"
        );
        assert_eq!(FieldSelector::parse("metadata.name=a", &[]).unwrap().exact_name(), Some("a"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_but_never_panics(text in ".{0,40}") {
            let _ = LabelSelector::parse(&text);
            let _ = FieldSelector::parse(&text, &[]);
        }

        #[test]
        fn in_and_notin_are_opposites_where_the_label_is_present(value in "[a-c]", list in proptest::collection::vec("[a-c]", 1..3)) {
            let list = list.join(",");
            let labels = json!({"k": value});
            prop_assert_ne!(selected(&format!("k in ({list})"), labels.clone()), selected(&format!("k notin ({list})"), labels));
        }
    }
}

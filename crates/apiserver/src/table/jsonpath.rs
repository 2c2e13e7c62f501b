//! The part of JSONPath that printer columns use: takes `.status.conditions[?(@.type=="Ready")].status`, gives the
//! first value it names. No recursion, no unions, no arithmetic.

use serde_json::Value;

/// A path that was understood.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// Negative counts from the end.
    Index(i64),
    All,
    Filter(Filter),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    path: JsonPath,
    /// `None` asks only whether the path names something.
    test: Option<(Operator, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longer ones first, so that `<=` is not read as `<`.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl JsonPath {
    /// Reads a path; `None` if it is not of the part that is known.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        let mut rest = inner.unwrap_or(text);
        rest = rest.strip_prefix('$').unwrap_or(rest);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = step(rest)?;
            steps.extend(step);
            rest = after;
        }
        Some(Self(steps))
    }

    /// The first value the path names.
    pub(crate) fn first<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        walk(&self.0, root)
    }
}

/// One step and what follows it; a lone dot is the root and no step.
fn step(text: &str) -> Option<(Option<Step>, &str)> {
    if let Some(bracket) = text.strip_prefix('[') {
        let (inside, after) = bracket.split_at(closing(bracket)?);
        return Some((Some(subscript(inside.trim())?), after.strip_prefix(']')?));
    }
    let text = text.strip_prefix('.').unwrap_or(text);
    let mut name = String::new();
    let mut symbols = text.char_indices();
    let end = loop {
        match symbols.next() {
            Some((_, '\\')) => name.push(symbols.next()?.1),
            Some((at, '.' | '[')) => break at,
            Some((_, symbol)) => name.push(symbol),
            None => break text.len(),
        }
    };
    let after = text.get(end..)?;
    match name.as_str() {
        "" if after.is_empty() || after.starts_with('[') => Some((None, after)),
        "" => None,
        "*" => Some((Some(Step::All), after)),
        _ => Some((Some(Step::Field(name)), after)),
    }
}

/// Where the bracket that is open ends: quoted text and inner brackets are skipped.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, symbol) in text.char_indices() {
        match (quote, symbol) {
            (Some(open), symbol) if open == symbol => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(symbol),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn subscript(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|it| it.strip_suffix(')')) {
        return self::filter(filter.trim()).map(Step::Filter);
    }
    if let Some(Value::String(name)) = literal(inside) {
        return Some(Step::Field(name));
    }
    inside.parse().ok().map(Step::Index)
}

fn filter(text: &str) -> Option<Filter> {
    let text = text.strip_prefix('@')?;
    let found = OPERATORS
        .iter()
        .filter_map(|(sign, operator)| text.find(sign).map(|at| (at, *sign, *operator)))
        .min_by_key(|(at, sign, _)| (*at, std::cmp::Reverse(sign.len())));
    let Some((at, sign, operator)) = found else {
        return Some(Filter { path: JsonPath::parse(text)?, test: None });
    };
    let (path, value) = text.split_at(at);
    Some(Filter { path: JsonPath::parse(path)?, test: Some((operator, literal(value.strip_prefix(sign)?)?)) })
}

fn literal(text: &str) -> Option<Value> {
    let text = text.trim();
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(text) = quoted('\'').or_else(|| quoted('"')) {
        return Some(Value::from(text.replace('\\', "")));
    }
    serde_json::from_str(text).ok()
}

fn walk<'v>(steps: &[Step], value: &'v Value) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    match step {
        Step::Field(name) => walk(rest, value.get(name)?),
        Step::Index(index) => walk(rest, item(value.as_array()?, *index)?),
        Step::All => match value {
            Value::Array(items) => items.iter().find_map(|item| walk(rest, item)),
            Value::Object(fields) => fields.values().find_map(|item| walk(rest, item)),
            _ => None,
        },
        Step::Filter(filter) => {
            let mut items = value.as_array()?.iter().filter(|item| filter.holds(item));
            items.find_map(|item| walk(rest, item))
        }
    }
}

fn item(items: &[Value], index: i64) -> Option<&Value> {
    let from_end = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { items.get(items.len().checked_sub(from_end)?) } else { items.get(from_end) }
}

impl Filter {
    fn holds(&self, item: &Value) -> bool {
        let found = self.path.first(item);
        let Some((operator, wanted)) = &self.test else {
            return found.is_some();
        };
        let Some(found) = found else { return false };
        let numbers = || Some((found.as_f64()?, wanted.as_f64()?));
        match operator {
            Operator::Equal => found == wanted,
            Operator::NotEqual => found != wanted,
            Operator::Less => numbers().is_some_and(|(found, wanted)| found < wanted),
            Operator::LessOrEqual => numbers().is_some_and(|(found, wanted)| found <= wanted),
            Operator::Greater => numbers().is_some_and(|(found, wanted)| found > wanted),
            Operator::GreaterOrEqual => numbers().is_some_and(|(found, wanted)| found >= wanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn paths_of_printer_columns_find_their_values() {
        let object = json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "c", "plain": "p"}},
            "status": {"ready": true, "conditions": [
                {"type": "Ready", "status": "True", "n": 1}, {"type": "Paused", "status": "False", "n": 5}],
                "addresses": [{"address": "10.0.0.1"}, {"address": "10.0.0.2"}]}});
        let table = [
            (".status.ready", Some(json!(true))),
            ("{.status.ready}", Some(json!(true))),
            (".metadata.labels.cluster\\.x-k8s\\.io/cluster-name", Some(json!("c"))),
            (".metadata.labels['cluster.x-k8s.io/cluster-name']", Some(json!("c"))),
            (".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']", Some(json!("c"))),
            (".status.conditions[?(@.type==\"Ready\")].status", Some(json!("True"))),
            (".status.conditions[?(@.type == 'Paused')].status", Some(json!("False"))),
            (".status.conditions[?(@.type!='Ready')].n", Some(json!(5))),
            (".status.conditions[?(@.n>=2)].type", Some(json!("Paused"))),
            (".status.conditions[?(@.n)].type", Some(json!("Ready"))),
            (".status.conditions[?(@.type=='None')].status", None),
            (".status.addresses[0].address", Some(json!("10.0.0.1"))),
            (".status.addresses[-1].address", Some(json!("10.0.0.2"))),
            (".status.addresses[-3].address", None),
            (".status.addresses[*].address", Some(json!("10.0.0.1"))),
            (".status.none.deeper", None),
            (".status.ready.deeper", None),
        ];
        for (path, expected) in table {
            let parsed = JsonPath::parse(path).unwrap_or_else(|| panic!("{path}"));
            assert_eq!(parsed.first(&object), expected.as_ref(), "{path}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for path in [".a[", ".a[x]", "..a", ".a[?(b)]", ".a[0:2]", ".a\\", ".a[?(@.b==c)]"] {
            assert_eq!(JsonPath::parse(path), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_but_never_panics(text in ".{0,40}", more in "[.a\\[\\]?(@)'\"*=0-9-]{0,30}") {
            for path in [text, more] {
                let _ = JsonPath::parse(&path).map(|path| path.first(&json!({"a": [1, {"b": 2}]})).is_some());
            }
        }
    }
}

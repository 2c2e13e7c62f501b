//! `hostSelector`, compiled once and asked for every host.
//!
//! Takes the selector in any spelling that users write, gives requirements that print themselves. All must hold.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use capm3_api::v1beta2::{HostSelector, HostSelectorRequirement};

use super::label::{key_problem, value_problem};

/// A compiled `hostSelector`. Without requirements it matches every host.
///
/// ```
/// use capm3_api::v1beta2::{HostSelector, HostSelectorRequirement};
/// use capm3_domain::host::Selector;
///
/// let expression = HostSelectorRequirement { key: "size".into(), operator: "NotIn".into(), values: vec!["s".into()] };
/// let selector = HostSelector { match_expressions: vec![expression], ..HostSelector::default() };
/// let selector = Selector::compile(Some(&selector)).unwrap();
/// assert!(selector.mismatch(None).is_none());
/// let labels = [("size".to_owned(), "s".to_owned())].into();
/// assert_eq!(selector.mismatch(Some(&labels)).unwrap().to_string(), "size notin (s)");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

/// One requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

/// Why a selector cannot be used. The text names key and operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The key is no label key.
    #[error("hostSelector: label key \"{key}\" is not valid: {problem}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The operator is unknown.
    #[error(
        "hostSelector: operator \"{operator}\" for label \"{key}\" is unknown: use one of in, notin, =, ==, !=, exists, !, gt, lt"
    )]
    Operator {
        /// The key.
        key: String,
        /// The operator as written.
        operator: String,
    },
    /// The operator needs another number of values.
    #[error("hostSelector: operator \"{operator}\" for label \"{key}\" needs {needs}, but {given} are given")]
    Count {
        /// The key.
        key: String,
        /// The operator as written.
        operator: String,
        /// How many values it takes.
        needs: &'static str,
        /// How many there are.
        given: usize,
    },
    /// A value is none that a label could have, or no number where one is compared.
    #[error("hostSelector: value \"{value}\" of operator \"{operator}\" for label \"{key}\" {problem}")]
    Value {
        /// The key.
        key: String,
        /// The operator as written.
        operator: String,
        /// The value.
        value: String,
        /// What is wrong.
        problem: &'static str,
    },
}

impl Selector {
    /// Compiles a selector; no selector matches every host.
    pub fn compile(selector: Option<&HostSelector>) -> Result<Self, SelectorError> {
        let Some(selector) = selector else {
            return Ok(Self::default());
        };
        let labels = selector.match_labels.iter().map(|(key, value)| {
            Requirement::compile(&HostSelectorRequirement {
                key: key.clone(),
                operator: "=".to_owned(),
                values: vec![value.clone()],
            })
        });
        let expressions = selector.match_expressions.iter().map(Requirement::compile);
        let requirements = labels.chain(expressions).collect::<Result<_, _>>()?;
        Ok(Self { requirements })
    }

    /// The first requirement that the labels of a host do not meet; none if the host matches.
    pub fn mismatch(&self, labels: Option<&BTreeMap<String, String>>) -> Option<&Requirement> {
        self.requirements.iter().find(|r| !r.holds(labels))
    }
}

impl Requirement {
    fn compile(requirement: &HostSelectorRequirement) -> Result<Self, SelectorError> {
        let HostSelectorRequirement { key, operator, .. } = requirement;
        if let Some(problem) = key_problem(key) {
            return Err(SelectorError::Key { key: key.clone(), problem });
        }
        let test = match operator.to_ascii_lowercase().as_str() {
            "in" => Test::In(some_values(requirement)?),
            "notin" => Test::NotIn(some_values(requirement)?),
            "=" | "==" => Test::In(BTreeSet::from([one_value(requirement)?])),
            "!=" => Test::NotIn(BTreeSet::from([one_value(requirement)?])),
            // Values make no sense here; they are let pass because older documents carry them.
            "exists" => Test::Exists,
            "!" | "doesnotexist" => Test::Absent,
            "gt" => Test::Greater(one_number(requirement)?),
            "lt" => Test::Less(one_number(requirement)?),
            _ => {
                return Err(SelectorError::Operator { key: key.clone(), operator: operator.clone() });
            }
        };
        Ok(Self { key: key.clone(), test })
    }

    /// Label key.
    pub fn key(&self) -> &str {
        &self.key
    }

    fn holds(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        let value = labels.and_then(|labels| labels.get(&self.key));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::Greater(bound) => number().is_some_and(|number| number > *bound),
            Test::Less(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let list = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(", ");
        match &self.test {
            Test::In(values) => match values.first() {
                Some(value) if values.len() == 1 => write!(f, "{key}={value}"),
                _ => write!(f, "{key} in ({})", list(values)),
            },
            Test::NotIn(values) => write!(f, "{key} notin ({})", list(values)),
            Test::Exists => write!(f, "{key} exists"),
            Test::Absent => write!(f, "!{key}"),
            Test::Greater(bound) => write!(f, "{key} > {bound}"),
            Test::Less(bound) => write!(f, "{key} < {bound}"),
        }
    }
}

fn some_values(requirement: &HostSelectorRequirement) -> Result<BTreeSet<String>, SelectorError> {
    if requirement.values.is_empty() {
        return Err(count_error(requirement, "at least one value"));
    }
    let values = requirement.values.iter();
    values.map(|value| valid(requirement, value)).collect()
}

fn one_value(requirement: &HostSelectorRequirement) -> Result<String, SelectorError> {
    match requirement.values.as_slice() {
        [value] => valid(requirement, value),
        _ => Err(count_error(requirement, "exactly one value")),
    }
}

fn one_number(requirement: &HostSelectorRequirement) -> Result<i64, SelectorError> {
    let value = one_value(requirement)?;
    value.parse().map_err(|_| value_error(requirement, &value, "is not an integer"))
}

fn valid(requirement: &HostSelectorRequirement, value: &str) -> Result<String, SelectorError> {
    match value_problem(value) {
        Some(problem) => Err(value_error(requirement, value, problem)),
        None => Ok(value.to_owned()),
    }
}

fn count_error(requirement: &HostSelectorRequirement, needs: &'static str) -> SelectorError {
    SelectorError::Count {
        key: requirement.key.clone(),
        operator: requirement.operator.clone(),
        needs,
        given: requirement.values.len(),
    }
}

fn value_error(requirement: &HostSelectorRequirement, value: &str, problem: &'static str) -> SelectorError {
    SelectorError::Value {
        key: requirement.key.clone(),
        operator: requirement.operator.clone(),
        value: value.to_owned(),
        problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(key: &str, operator: &str, values: &[&str]) -> Result<Requirement, SelectorError> {
        Requirement::compile(&HostSelectorRequirement {
            key: key.into(),
            operator: operator.into(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        })
    }

    /// Whether hosts labelled n=5, n=10, n=x, n= and without n match.
    fn matches(operator: &str, values: &[&str]) -> String {
        let requirement = compile("n", operator, values).unwrap();
        [Some("5"), Some("10"), Some("x"), Some(""), None]
            .into_iter()
            .map(|value| {
                let labels = value.map(|v| BTreeMap::from([("n".to_owned(), v.to_owned())]));
                if requirement.holds(labels.as_ref()) { '+' } else { '-' }
            })
            .collect()
    }

    #[test]
    fn every_operator_in_every_spelling() {
        // columns: 5, 10, x, empty, absent
        let table: [(&str, &[&str], &str); 20] = [
            ("in", &["5", "x"], "+-+--"),
            ("In", &["5", "x"], "+-+--"),
            ("IN", &["5", "x"], "+-+--"),
            ("notin", &["5", "x"], "-+-++"),
            ("NotIn", &["5", "x"], "-+-++"),
            ("=", &["5"], "+----"),
            ("==", &["5"], "+----"),
            ("=", &[""], "---+-"),
            ("!=", &["5"], "-++++"),
            ("exists", &[], "++++-"),
            ("Exists", &[], "++++-"),
            ("exists", &["ignored"], "++++-"),
            ("!", &[], "----+"),
            ("!", &["ignored"], "----+"),
            ("DoesNotExist", &[], "----+"),
            ("gt", &["7"], "-+---"),
            ("Gt", &["5"], "-+---"),
            ("gt", &["0"], "++---"),
            ("lt", &["7"], "+----"),
            ("Lt", &["5"], "-----"),
        ];
        for (operator, values, expected) in table {
            assert_eq!(matches(operator, values), expected, "n {operator} {values:?}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_key_and_operator() {
        let long = "x".repeat(64);
        let table: [(&str, &str, &[&str]); 13] = [
            ("rack", "in", &[]),
            ("rack", "notin", &[]),
            ("rack", "=", &["1", "2"]),
            ("rack", "==", &[]),
            ("rack", "!=", &["1", "2"]),
            ("rack", "gt", &["five"]),
            ("rack", "lt", &["-5"]),
            ("rack", "gt", &["1", "2"]),
            ("rack", "lt", &["99999999999999999999"]),
            ("rack", "like", &["1"]),
            ("rack", "", &["1"]),
            ("rack", "in", &["a b"]),
            ("rack", "=", &[&long]),
        ];
        for (key, operator, values) in table {
            let text = compile(key, operator, values).unwrap_err().to_string();
            assert!(text.contains(&format!("\"{key}\"")), "{text}");
            assert!(text.contains(&format!("\"{operator}\"")), "{text}");
        }
        let text = compile("bad key!", "in", &["1"]).unwrap_err().to_string();
        assert!(text.contains("\"bad key!\""), "{text}");
    }

    #[test]
    fn labels_and_expressions_must_all_hold() {
        let selector: HostSelector = serde_json::from_value(serde_json::json!({
            "matchLabels": {"size": "m"},
            "matchExpressions": [{"key": "n", "operator": "gt", "values": ["7"]}]
        }))
        .unwrap();
        let selector = Selector::compile(Some(&selector)).unwrap();
        let mismatch = |size: &str, n: &str| {
            let labels = BTreeMap::from([("size".into(), size.into()), ("n".into(), n.into())]);
            selector.mismatch(Some(&labels)).map(ToString::to_string)
        };
        assert_eq!(mismatch("m", "8"), None);
        assert_eq!(mismatch("s", "8").as_deref(), Some("size=m"));
        assert_eq!(mismatch("m", "7").as_deref(), Some("n > 7"));
    }

    #[test]
    fn no_selector_and_an_empty_one_match_everything() {
        for selector in [None, Some(HostSelector::default())] {
            let selector = Selector::compile(selector.as_ref()).unwrap();
            assert_eq!(selector.mismatch(None), None);
        }
    }

    #[test]
    fn requirements_read_like_kubectl_selectors() {
        let table: [(&str, &[&str], &str); 7] = [
            ("in", &["b", "a"], "k in (a, b)"),
            ("in", &["a"], "k=a"),
            ("!=", &["a"], "k notin (a)"),
            ("exists", &[], "k exists"),
            ("!", &[], "!k"),
            ("gt", &["3"], "k > 3"),
            ("lt", &["3"], "k < 3"),
        ];
        for (operator, values, text) in table {
            assert_eq!(compile("k", operator, values).unwrap().to_string(), text);
        }
    }
}

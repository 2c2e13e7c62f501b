//! Variables of clusterctl in a text: `${NAME}`, `${NAME:=default}` and `${NAME:-default}`.

use std::collections::BTreeMap;

/// The text with every variable replaced: by its value, else by its default; one with neither stays as it is, so that a
/// test or a person sees it.
pub fn replace(text: &str, values: &BTreeMap<&str, &str>) -> String {
    let (mut replaced, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once("${") {
        replaced.push_str(before);
        let Some((variable, after)) = behind.split_once('}') else {
            rest = behind;
            replaced.push_str("${");
            break;
        };
        let (name, default) = parts(variable);
        match values.get(name).copied().or(default) {
            Some(value) => replaced.push_str(value),
            None => replaced.push_str(&format!("${{{variable}}}")),
        }
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

/// The text with the default of every variable.
pub fn with_defaults(text: &str) -> String {
    replace(text, &BTreeMap::new())
}

/// Names of the variables of a text, each with its default, in the order of the names.
pub fn names(text: &str) -> BTreeMap<&str, Option<&str>> {
    let behind = text.split("${").skip(1);
    behind.filter_map(|behind| behind.split_once('}')).map(|(variable, _)| parts(variable)).collect()
}

fn parts(variable: &str) -> (&str, Option<&str>) {
    let split = variable.split_once(":=").or_else(|| variable.split_once(":-"));
    split.map_or((variable, None), |(name, default)| (name, Some(default)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_wins_over_a_default_and_neither_leaves_the_variable() {
        let values = BTreeMap::from([("A", "1")]);
        let table = [
            ("${A}", "1"),
            ("${A:=2}", "1"),
            ("${B:=2}", "2"),
            ("${B:-:8443}", ":8443"),
            ("${B:='false'} ${A}", "'false' 1"),
            ("${B}", "${B}"),
            ("a ${ b", "a ${ b"),
            ("a $b {c}", "a $b {c}"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(replace(text, &values), expected, "{text}");
        }
        assert_eq!(with_defaults("${A} ${B:=2}"), "${A} 2");
        assert_eq!(names("${B:=2} ${A}"), BTreeMap::from([("A", None), ("B", Some("2"))]));
    }
}

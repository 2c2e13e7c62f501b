//! Which kinds a server serves, and what a user may have meant by one that it does not serve.

use serde_json::Value;

/// A kind as discovery tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Served {
    /// `group/version`, or the version alone for the core group.
    pub api_version: String,
    pub kind: String,
    pub plural: String,
    pub is_namespaced: bool,
}

/// A member of a document that names nothing that is served.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unserved {
    pub field: &'static str,
    pub message: String,
}

/// The kinds of an aggregated discovery document.
pub(super) fn kinds(discovery: &Value) -> Vec<Served> {
    let mut kinds = Vec::new();
    for group in each(discovery, "items") {
        let name = group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        for version in each(group, "versions") {
            let number = text(version, "/version");
            let api_version = if name.is_empty() { number.to_owned() } else { format!("{name}/{number}") };
            kinds.extend(each(version, "resources").map(|resource| Served {
                api_version: api_version.clone(),
                kind: text(resource, "/responseKind/kind").to_owned(),
                plural: text(resource, "/resource").to_owned(),
                is_namespaced: text(resource, "/scope") == "Namespaced",
            }));
        }
    }
    kinds
}

fn each<'a>(value: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    value.get(list).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The kind of a document, or what is wrong with its `apiVersion` or `kind`.
pub(super) fn find<'a>(served: &'a [Served], api_version: &str, kind: &str) -> Result<&'a Served, Unserved> {
    if let Some(found) = served.iter().find(|s| s.api_version == api_version && s.kind == kind) {
        return Ok(found);
    }
    let of_kind: Vec<&str> =
        served.iter().filter(|s| s.kind == kind).map(|s| s.api_version.as_str()).collect();
    if !of_kind.is_empty() {
        let message = format!("expected {} for kind {kind}, got {api_version:?}", of_kind.join(" or "));
        return Err(Unserved { field: "apiVersion", message });
    }
    let of_version = || served.iter().filter(|s| s.api_version == api_version).map(|s| s.kind.as_str());
    let all = || served.iter().map(|s| s.kind.as_str());
    let message = match nearest(kind, of_version()).or_else(|| nearest(kind, all())) {
        Some(meant) => format!("no kind {kind:?} is served; did you mean {meant}?"),
        None if of_version().next().is_some() => {
            let kinds: Vec<&str> = of_version().collect();
            format!("expected one of {}, got {kind:?}", kinds.join(", "))
        }
        None => format!("no kind {kind:?} is served, nor anything else of apiVersion {api_version:?}"),
    };
    Err(Unserved { field: "kind", message })
}

/// The known word that a person most likely meant.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let limit = 1 + word.chars().count() / 5;
    let near = known.map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate));
    near.filter(|(distance, _)| *distance <= limit).min().map(|(_, candidate)| candidate)
}

/// How many letters must be added, taken away or replaced to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut costs: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.chars().enumerate() {
        let mut diagonal = row;
        let mut left = row + 1;
        let mut next = vec![left];
        for (other, above) in to.iter().zip(costs.iter().skip(1)) {
            let cost = (diagonal + usize::from(letter != *other)).min(left + 1).min(above + 1);
            diagonal = *above;
            left = cost;
            next.push(cost);
        }
        costs = next;
    }
    costs.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn served() -> Vec<Served> {
        let resource =
            |kind: &str| json!({"resource": "x", "scope": "Namespaced", "responseKind": {"kind": kind}});
        kinds(&json!({"items": [
            {"metadata": {}, "versions": [{"version": "v1", "resources": [resource("Secret")]}]},
            {"metadata": {"name": "g"}, "versions": [
                {"version": "v1beta2", "resources": [resource("Metal3Machine"), resource("Metal3Cluster")]},
                {"version": "v1beta1", "resources": [resource("Metal3Machine")]}]},
        ]}))
    }

    #[test]
    fn a_kind_that_is_not_served_is_told_with_what_is() {
        assert_eq!(find(&served(), "v1", "Secret").unwrap().plural, "x");
        let table = [
            (
                "g/v1alpha4",
                "Metal3Machine",
                "apiVersion",
                "expected g/v1beta2 or g/v1beta1 for kind Metal3Machine, got \"g/v1alpha4\"",
            ),
            (
                "g/v1beta2",
                "Metal3Machin",
                "kind",
                "no kind \"Metal3Machin\" is served; did you mean Metal3Machine?",
            ),
            (
                "g/v1beta2",
                "metal3machines",
                "kind",
                "no kind \"metal3machines\" is served; did you mean Metal3Machine?",
            ),
            ("g/v1beta2", "Pod", "kind", "expected one of Metal3Machine, Metal3Cluster, got \"Pod\""),
            (
                "apps/v1",
                "Deployment",
                "kind",
                "no kind \"Deployment\" is served, nor anything else of apiVersion \"apps/v1\"",
            ),
        ];
        for (api_version, kind, field, message) in table {
            let unserved = find(&served(), api_version, kind).unwrap_err();
            assert_eq!((unserved.field, unserved.message.as_str()), (field, message));
        }
    }

    #[test]
    fn words_are_near_when_few_letters_differ() {
        let table = [
            ("", "", 0),
            ("a", "", 1),
            ("", "ab", 2),
            ("online", "onlin", 1),
            ("vlanId", "vlanID", 1),
            ("abc", "xyz", 3),
        ];
        for (from, to, expected) in table {
            assert_eq!(distance(from, to), expected, "{from} {to}");
            assert_eq!(distance(to, from), expected, "{to} {from}");
        }
        assert_eq!(nearest("vlanid", ["vlanID", "vlanLink"].into_iter()), Some("vlanID"));
        assert_eq!(nearest("colour", ["clusterName", "metaData"].into_iter()), None);
    }
}

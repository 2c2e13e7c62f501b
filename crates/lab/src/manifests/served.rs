//! Which kinds a server serves, and what a user may have meant by one that it does not serve.

use std::collections::BTreeSet;

use capm3_engine::manifests;
use serde_json::Value;

/// A kind as discovery lists it.
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
    pub cause: Cause,
}

/// Why nothing is served by that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The kind is misspelt.
    Misspelt,
    /// The kind is served in another version or group.
    Version,
    /// It is a kind of somebody else, of which the simulation knows nothing.
    Foreign,
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
    let foreign = Unserved { field: "kind", message: LEFT_OUT.to_owned(), cause: Cause::Foreign };
    // Others have kinds of the same or a similar name, in groups of their own.
    let group = group(api_version);
    if !group.is_empty() && nearest(group, served.iter().map(|s| self::group(&s.api_version))).is_none() {
        return Err(foreign);
    }
    let of_kind: Vec<&str> =
        served.iter().filter(|s| s.kind == kind).map(|s| s.api_version.as_str()).collect();
    if !of_kind.is_empty() {
        let message = format!("expected {} for kind {kind}, got {api_version:?}", of_kind.join(" or "));
        return Err(Unserved { field: "apiVersion", message, cause: Cause::Version });
    }
    let of_version = served.iter().filter(|s| s.api_version == api_version).map(|s| s.kind.as_str());
    let all = || served.iter().map(|s| s.kind.as_str());
    match nearest(kind, of_version).or_else(|| nearest(kind, all())) {
        Some(meant) => {
            let message = format!("no kind {kind:?} is served; did you mean {meant}?");
            Err(Unserved { field: "kind", message, cause: Cause::Misspelt })
        }
        None => Err(foreign),
    }
}

/// What becomes of a kind of somebody else.
const LEFT_OUT: &str = "is not simulated and is left out";

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether a later version of the same kind is served.
pub(super) fn is_older(served: &[Served], api_version: &str, kind: &str) -> bool {
    let version = |text: &str| age(text.rsplit('/').next().unwrap_or_default());
    let mut same = served.iter().filter(|s| s.kind == kind && group(&s.api_version) == group(api_version));
    version(api_version).is_some_and(|own| same.any(|s| version(&s.api_version) > Some(own)))
}

/// Versions in the order in which Kubernetes sorts them: `v1alpha4` before `v1beta1` before `v1`. `None` for names of
/// another form.
fn age(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    for (stability, word) in [(0, "alpha"), (1, "beta")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, rest.parse().ok()?, 0))
}

/// The known word that a person most likely meant.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let in_order: BTreeSet<&str> = known.collect();
    manifests::nearest(word, 1 + word.chars().count() / 5, in_order)
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
    fn a_kind_that_is_not_served_is_reported_with_what_is() {
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
            ("v1", "Metal3Cluster", "apiVersion", "expected g/v1beta2 for kind Metal3Cluster, got \"v1\""),
            ("g/v1beta2", "Pod", "kind", LEFT_OUT),
            ("apps/v1", "Deployment", "kind", LEFT_OUT),
            // A group of its own is not misspelt, whatever its kinds are called.
            ("example.com/v1", "Metal3Machine", "kind", LEFT_OUT),
            ("example.com/v1", "Secrets", "kind", LEFT_OUT),
        ];
        for (api_version, kind, field, message) in table {
            let unserved = find(&served(), api_version, kind).unwrap_err();
            assert_eq!((unserved.field, unserved.message.as_str()), (field, message));
            assert_eq!(unserved.cause == Cause::Foreign, message == LEFT_OUT);
        }
    }

    #[test]
    fn an_older_version_is_known_by_the_later_ones_that_are_served() {
        let table = [
            ("g/v1alpha4", "Metal3Machine", true),
            ("g/v1beta1", "Metal3Machine", true),
            ("g/v1beta2", "Metal3Machine", false),
            ("g/v1", "Metal3Machine", false),
            ("other/v1alpha4", "Metal3Machine", false),
            ("g/v1alpha4", "Pod", false),
            ("v1", "Secret", false),
        ];
        for (api_version, kind, expected) in table {
            assert_eq!(is_older(&served(), api_version, kind), expected, "{api_version} {kind}");
        }
        let sorted = ["v1alpha4", "v2alpha1", "v1beta1", "v1beta10", "v1", "v2"].map(age);
        assert!(sorted.is_sorted() && sorted.iter().all(Option::is_some), "{sorted:?}");
        assert_eq!([age("beta"), age("v1gamma1"), age("")], [None; 3]);
    }

    #[test]
    fn words_are_near_when_few_letters_differ() {
        assert_eq!(nearest("vlanid", ["vlanID", "vlanLink"].into_iter()), Some("vlanID"));
        assert_eq!(nearest("colour", ["clusterName", "metaData"].into_iter()), None);
    }
}

//! What the server serves, for clients that ask: versions, groups and resources of one cluster.

pub(crate) mod aggregated;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    resource::{Resource, Special, api_version},
    store::Store,
};

/// Verbs of built-in resources, in the order in which Kubernetes lists them.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The same for custom resources.
const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

fn verbs(resource: &Resource) -> &'static [&'static str] {
    match resource.special {
        Special::Custom => &CUSTOM_VERBS,
        Special::Review => &["create"],
        _ => &VERBS,
    }
}

const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// The version that a cluster reports unless another one is chosen.
pub(crate) const USUAL_VERSION: &str = "v1.36.0+capm3";

/// `/version` of a cluster with this version, such as `v1.36.0`. Distributions that add something of their own after a dash, as
/// in `v1.28.3-eks-1`, mark the minor number with a plus.
pub(crate) fn version(git: &str) -> Value {
    let mut numbers = git.trim_start_matches('v').split(['.', '-', '+']);
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let minor = format!("{minor}{}", if git.contains('-') { "+" } else { "" });
    json!({"major": major, "minor": minor, "gitVersion": git, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "linux/amd64"})
}

/// `/api`.
pub(crate) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `/apis`.
pub(crate) fn groups(store: &Store) -> Value {
    let groups: Vec<Value> =
        served(store, false).iter().map(|(group, versions)| describe(group, versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`.
pub(crate) fn group(store: &Store, name: &str) -> Option<Value> {
    let mut group = describe(name, served(store, false).get(name)?);
    if let Some(fields) = group.as_object_mut() {
        fields.insert("kind".to_owned(), json!("APIGroup"));
        fields.insert("apiVersion".to_owned(), json!("v1"));
    }
    Some(group)
}

/// The served versions of the core group or of each named one, preferred one first.
fn served(store: &Store, is_core: bool) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for table in store.tables().filter(|table| table.resource.group.is_empty() == is_core) {
        let versions = table
            .resource
            .versions
            .iter()
            .filter(|version| version.served)
            .map(|version| version.name.clone());
        groups.entry(table.resource.group.clone()).or_default().extend(versions);
    }
    let ordered = |versions: BTreeSet<String>| {
        let mut versions: Vec<String> = versions.into_iter().collect();
        versions.sort_by_key(|version| std::cmp::Reverse(rank(version)));
        versions
    };
    groups.into_iter().map(|(group, versions)| (group, ordered(versions))).collect()
}

/// Kubernetes prefers general availability over beta over alpha, then the larger numbers.
pub(crate) fn rank(version: &str) -> (u8, u32, u32) {
    let digits = |text: &str| text.parse::<u32>().unwrap_or_default();
    let body = version.strip_prefix('v').unwrap_or(version);
    if let Some((major, minor)) = body.split_once("beta") {
        (1, digits(major), digits(minor))
    } else if let Some((major, minor)) = body.split_once("alpha") {
        (0, digits(major), digits(minor))
    } else {
        (2, digits(body), 0)
    }
}

fn describe(group: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": api_version(group, version), "version": version}))
        .collect();
    json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
}

/// `/api/v1` and `/apis/<group>/<version>`; `None` if nothing is served there.
pub(crate) fn resources(store: &Store, group: &str, version: &str) -> Option<Value> {
    let tables = store.tables().map(|table| &table.resource);
    let found: Vec<Value> = tables
        .filter(|resource| resource.group == group)
        .flat_map(|resource| entries(resource, version))
        .collect();
    (!found.is_empty()).then(|| {
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(group, version), "resources": found})
    })
}

fn entries(resource: &Resource, version: &str) -> Vec<Value> {
    let Some(version) = resource.version(version) else {
        return Vec::new();
    };
    let mut entries = vec![
        json!({"name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": verbs(resource), "shortNames": resource.short_names, "categories": resource.categories}),
    ];
    if version.scale.is_some() {
        entries.push(json!({"name": format!("{}/scale", resource.plural), "singularName": "", "namespaced": resource.namespaced,
            "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": SUBRESOURCE_VERBS}));
    }
    if version.has_status {
        entries.push(json!({"name": format!("{}/status", resource.plural), "singularName": "", "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": SUBRESOURCE_VERBS}));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn stable_versions_are_preferred_and_then_larger_numbers() {
        let mut versions = ["v1alpha1", "v1", "v1beta2", "v2", "v1beta1"];
        versions.sort_by_key(|version| std::cmp::Reverse(rank(version)));
        assert_eq!(versions, ["v2", "v1", "v1beta2", "v1beta1", "v1alpha1"]);
    }
}

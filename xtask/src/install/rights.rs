//! What the account of the manager may do, as the API server judges it.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use capm3_install::{
    Install, NAMESPACE, SERVICE_ACCOUNT,
    rights::{Scope, TABLE},
};
use serde_json::{Value, json};

use super::kubectl::Kubectl;

/// Rights that the reference has and nothing here needs, or that nobody should have.
const DENIED: [(&str, &str, &str, &str); 6] = [
    ("delete", "", "secrets", "metal3"),
    ("update", "", "secrets", "metal3"),
    ("delete", "", "nodes", ""),
    ("create", "metal3.io", "baremetalhosts", "metal3"),
    ("delete", "cluster.x-k8s.io", "machines", "metal3"),
    ("update", "coordination.k8s.io", "leases", "kube-system"),
];

/// Verb, group, resource, namespace and name; the name may be empty.
type Access = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Every right of the table is granted, and those above are not.
pub fn check(kubectl: &Kubectl, install: &Install) -> Result<()> {
    let mut wanted: BTreeSet<Access> = BTreeSet::new();
    for right in TABLE.iter().filter(|right| right.is_needed_by(install)) {
        let namespace = if right.scope == Scope::OwnNamespace { NAMESPACE } else { "metal3" };
        let name = right.names.first().copied().unwrap_or_default();
        wanted.extend(right.verbs.iter().map(|verb| (*verb, right.group, right.resource, namespace, name)));
    }
    let wanted: Vec<Access> = wanted.into_iter().collect();
    let refused = judged(kubectl, &wanted, false)?;
    ensure!(refused.is_empty(), "not granted: {refused:?}");
    let denied = DENIED.map(|(verb, group, resource, namespace)| (verb, group, resource, namespace, ""));
    let granted = judged(kubectl, &denied, true)?;
    ensure!(granted.is_empty(), "granted without need: {granted:?}");
    kubectl.say(&format!("{} rights are granted, {} others are not", wanted.len(), denied.len()));
    Ok(())
}

/// Which of them the server allows, or does not.
fn judged(kubectl: &Kubectl, all: &[Access], is_allowed: bool) -> Result<Vec<Access>> {
    let reviews: Vec<Value> = all.iter().map(review).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": reviews});
    let answer = kubectl.run(&["create", "-o", "json", "-f", "-"], &list.to_string())?;
    // It prints one document behind the other.
    let items: Vec<Value> =
        serde_json::Deserializer::from_str(&answer).into_iter().collect::<Result<_, _>>()?;
    ensure!(items.len() == all.len(), "{} answers to {} questions", items.len(), all.len());
    let allowed = items.iter().map(|item| item.pointer("/status/allowed").is_some_and(|it| it == true));
    Ok(all
        .iter()
        .zip(allowed)
        .filter(|(_, allowed)| *allowed == is_allowed)
        .map(|(access, _)| *access)
        .collect())
}

fn review((verb, group, resource, namespace, name): &Access) -> Value {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}"),
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource,
                "namespace": namespace, "name": name,
            },
        },
    })
}

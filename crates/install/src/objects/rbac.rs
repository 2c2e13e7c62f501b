//! ServiceAccount, Roles and bindings, from the table of rights.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::{
    Install,
    names::{METRICS_READER, NAMESPACE, SERVICE_ACCOUNT},
    rights::{Scope, TABLE},
};

const RBAC: &str = "rbac.authorization.k8s.io";

/// The account of the manager and what it may do.
pub(crate) fn rbac(install: &Install) -> Vec<Value> {
    let own = (Some(NAMESPACE), "capm3-leader-election-role", "capm3-leader-election-rolebinding");
    let cluster = (None, "capm3-manager-role", "capm3-manager-rolebinding");
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": SERVICE_ACCOUNT, "namespace": NAMESPACE},
    });
    let mut objects = vec![account];
    for (scope, (namespace, role, binding)) in [(Scope::OwnNamespace, own), (Scope::Cluster, cluster)] {
        let prefix = if scope == Scope::Cluster { "Cluster" } else { "" };
        let metadata = |name: &str| match namespace {
            Some(namespace) => json!({"name": name, "namespace": namespace}),
            None => json!({"name": name}),
        };
        objects.push(json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": format!("{prefix}Role"),
            "metadata": metadata(role),
            "rules": rules(install, scope),
        }));
        objects.push(json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": format!("{prefix}RoleBinding"),
            "metadata": metadata(binding),
            "roleRef": {"apiGroup": RBAC, "kind": format!("{prefix}Role"), "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": NAMESPACE}],
        }));
    }
    objects.push(metrics_reader());
    objects
}

/// What a scraper needs to read the manager's metrics; nobody is bound to it here.
fn metrics_reader() -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": {"name": METRICS_READER},
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    })
}

/// Verbs of a resource, for certain names or all.
type Verbs = BTreeSet<&'static str>;

/// One rule for all resources of a group with the same verbs.
fn rules(install: &Install, scope: Scope) -> Vec<Value> {
    let mut by_resource: BTreeMap<(&str, &str, &[&str]), Verbs> = BTreeMap::new();
    for right in TABLE.iter().filter(|right| right.scope == scope && right.is_needed_by(install)) {
        by_resource.entry((right.group, right.resource, right.names)).or_default().extend(right.verbs);
    }
    let mut by_verbs: BTreeMap<(&str, &[&str], Verbs), Vec<&str>> = BTreeMap::new();
    for ((group, resource, names), verbs) in by_resource {
        by_verbs.entry((group, names, verbs)).or_default().push(resource);
    }
    let rule = |((group, names, verbs), resources): ((&str, &[&str], Verbs), Vec<&str>)| {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if let Some(members) = rule.as_object_mut()
            && !names.is_empty()
        {
            members.insert("resourceNames".to_owned(), json!(names));
        }
        rule
    };
    by_verbs.into_iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_of_several_rows_are_one_rule() {
        let rules = rules(&Install::default(), Scope::Cluster);
        let secrets: Vec<&Value> =
            rules.iter().filter(|rule| rule["resources"] == json!(["secrets"])).collect();
        assert_eq!(secrets.len(), 1);
        assert_eq!(secrets[0]["verbs"], json!(["create", "get", "list", "patch", "watch"]));
        let named = rules.iter().filter(|rule| rule.get("resourceNames").is_some());
        assert!(named.into_iter().all(|rule| rule["apiGroups"] == json!(["apiextensions.k8s.io"])));
    }

    #[test]
    fn the_address_manager_and_own_certificates_bring_their_rights() {
        let text = |install: &Install| serde_json::to_string(&rbac(install)).unwrap();
        let (plain, ipam) = (text(&Install::default()), text(&Install { ipam: true, ..Install::default() }));
        assert!(!plain.contains("ippools/status") && ipam.contains("ippools/status"));
        let own = text(&Install { certificates: crate::Certificates::SelfManaged, ..Install::default() });
        let configurations = "validatingwebhookconfigurations";
        assert!(!plain.contains(configurations) && own.contains(configurations));
    }
}

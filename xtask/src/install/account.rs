//! The account of the manager on a cluster: it can do what its Roles say, and nothing else.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use capm3_install::{Install, NAMESPACE, SERVICE_ACCOUNT};
use serde_json::{Value, json};

use super::kubectl::Kubectl;
use crate::real::Cluster;

const KINDS: [&str; 6] =
    ["Namespace", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];

/// Who the manager is for the server, as its audit log names it.
pub fn user() -> String {
    format!("system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}")
}

/// Creates the account with its Roles and writes a kubeconfig with which a process is that account.
pub fn kubeconfig(cluster: &Cluster, file: &Path) -> Result<()> {
    let kubectl = Kubectl::new(cluster)?;
    let install = Install { ipam: true, ..Install::default() };
    let is_wanted = |object: &Value| object["kind"].as_str().is_some_and(|kind| KINDS.contains(&kind));
    let objects: Vec<Value> = install.objects().into_iter().filter(is_wanted).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    kubectl.run(&["apply", "--server-side", "-f", "-"], &list.to_string())?;
    kubeconfig_of(cluster, NAMESPACE, SERVICE_ACCOUNT, file)
}

/// Writes a kubeconfig with which a process is an account that exists.
pub fn kubeconfig_of(cluster: &Cluster, namespace: &str, account: &str, file: &Path) -> Result<()> {
    let kubectl = Kubectl::new(cluster)?;
    let token = kubectl.run(&["create", "token", account, "-n", namespace, "--duration=24h"], "")?;
    let text = fs::read_to_string(cluster.kubeconfig()).context("reading the kubeconfig")?;
    let mut config: Value = serde_json::from_str(&text).context("the kubeconfig is not ours")?;
    let user = config.pointer_mut("/users/0/user").context("the kubeconfig has no user")?;
    *user = json!({"token": token.trim()});
    fs::write(file, config.to_string()).with_context(|| format!("writing {}", file.display()))
}

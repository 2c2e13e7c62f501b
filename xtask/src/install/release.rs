//! The `infrastructure-components.yaml` of a release on a real server, as clusterctl would apply it. Its Deployment is
//! stored and nobody starts it: the manager is a process of this machine, and only the way to its webhooks is replaced.

use anyhow::{Context, Result, ensure};
use capm3_install::{Install, files, variables};
use serde_json::{Value, json};

use super::{cert_manager, kubectl::Kubectl, loopback::Loopback};
use crate::real::Cluster;

/// Applies a release with the built-in address manager. Where cert-manager would be, there are its definitions only.
pub fn install(cluster: &Cluster, webhooks: &Loopback) -> Result<()> {
    let kubectl = Kubectl::new(cluster)?;
    kubectl.apply("stand-ins for cert-manager", &cert_manager())?;
    let install = Install { ipam: true, ..Install::default() };
    let text = variables::with_defaults(&files::components(&install));
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text).context("reading the components")?;
    objects.iter_mut().for_each(|object| webhooks.lead_here(object));
    let count = objects.len();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let applied = kubectl.apply("infrastructure-components.yaml", &list.to_string())?;
    ensure!(applied == count, "{applied} of {count} objects were applied");
    Ok(())
}

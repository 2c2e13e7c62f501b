//! `cargo xtask real install`: what `capm3 manifests` gives, applied to a real API server.
//!
//! Every object of every variant must be accepted with strict validation and without a warning, a pod of the Deployment must
//! pass the restricted policy of its namespace, and the account of the manager must have exactly the rights of the table.

mod account;
mod asked;
mod kubectl;
mod loopback;
mod release;
mod rights;

pub use self::{
    account::{
        kubeconfig as account_kubeconfig, kubeconfig_of as kubeconfig_of_account, user as account_user,
    },
    asked::until_asked,
    kubectl::Kubectl,
    loopback::Loopback,
    release::install as install_release,
};

use anyhow::{Context, Result, bail, ensure};
use capm3_install::{Certificates, DEPLOYMENT, Install, NAMESPACE, files, variables};
use serde_json::{Value, json};

use crate::{real::Cluster, repo};

/// Runs it on a cluster that is started for it.
pub fn run() -> Result<()> {
    let cluster = Cluster::start()?;
    let kubectl = Kubectl::new(&cluster)?;
    // The webhooks answer nobody here: what the API server would ask them must wait until the end.
    for certificates in [Certificates::SelfManaged, Certificates::CertManager] {
        if certificates == Certificates::CertManager {
            kubectl.apply("stand-ins for cert-manager", &cert_manager())?;
        }
        for ipam in [false, true] {
            let install = Install { ipam, certificates, ..Install::default() };
            let text = fast_track(&files::components(&install));
            let applied = kubectl.apply(&format!("{certificates:?}, ipam {ipam}"), &text)?;
            ensure!(applied == install.objects().len(), "{applied} objects were applied");
            pod(&kubectl, &install)?;
            rights::check(&kubectl, &install)?;
        }
    }
    kustomize(&kubectl)
}

/// As clusterctl would replace the variables, with a value that YAML takes for a truth value.
fn fast_track(components: &str) -> String {
    variables::replace(components, &[("CAPM3_FAST_TRACK", "true")].into())
}

/// Definitions of the two kinds that an installation has of cert-manager.
pub fn cert_manager() -> String {
    let definition = |kind: &str| {
        let plural = format!("{}s", kind.to_lowercase());
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.cert-manager.io")},
            "spec": {
                "group": "cert-manager.io",
                "names": {"kind": kind, "plural": plural},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        })
    };
    let definitions = ["Issuer", "Certificate"].map(definition);
    json!({"apiVersion": "v1", "kind": "List", "items": definitions}).to_string()
}

/// A pod of the Deployment, as its controller would create it.
fn pod(kubectl: &Kubectl, install: &Install) -> Result<()> {
    let objects = install.objects();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
    let template = deployment.and_then(|it| it.pointer("/spec/template")).context("no Deployment")?;
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": DEPLOYMENT, "namespace": NAMESPACE, "labels": template.pointer("/metadata/labels")},
        "spec": template.get("spec"),
    });
    kubectl.say("a pod passes the policy of its namespace");
    kubectl.run(&["create", "--dry-run=server", "--validate=strict", "-f", "-"], &pod.to_string())?;
    // The policy must be active, or the pod says nothing.
    let mut root = pod;
    if let Some(it) = root.pointer_mut("/spec/containers/0/securityContext/capabilities") {
        *it = json!({"add": ["NET_ADMIN"]});
    }
    match kubectl.run(&["create", "--dry-run=server", "-f", "-"], &root.to_string()) {
        Err(error) if error.to_string().contains("violates PodSecurity") => Ok(()),
        other => bail!("a pod with privileges was not refused: {other:?}"),
    }
}

/// What is checked in is a base for kustomize too.
fn kustomize(kubectl: &Kubectl) -> Result<()> {
    kubectl.say("config/ as a base for kustomize");
    let folder = repo::root().join("config");
    let folder = folder.to_str().context("a path that is not text")?;
    let built = kubectl.run(&["kustomize", folder], "")?;
    let built: Vec<Value> = serde_saphyr::from_multiple(&built)?;
    ensure!(built.len() == Install::default().objects().len(), "{} objects", built.len());
    kubectl
        .run(&["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-k", folder], "")
        .map(drop)
}

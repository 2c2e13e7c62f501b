//! The managers of a management cluster as processes of this machine: Cluster API's three and ours, each as the account that its
//! release gives it.

use std::path::Path;

use anyhow::{Context, Result};
use capm3_engine::ApiClient;
use capm3_install::{NAMESPACE, PROVIDER_NAME, SERVICE_ACCOUNT};

use super::{say, webhooks};
use crate::{
    install::{Loopback, kubeconfig_of_account},
    real::{Cluster, components::PROVIDERS, ensure_built, ports},
};

/// A manager: who it is for the server, and where it answers.
pub struct Manager {
    /// The name of its process.
    pub name: &'static str,
    namespace: &'static str,
    account: &'static str,
    provider: &'static str,
    webhooks: Loopback,
    pub health: u16,
}

impl Manager {
    fn new(
        name: &'static str,
        namespace: &'static str,
        account: &'static str,
        provider: &'static str,
    ) -> Result<Self> {
        let webhooks = Loopback::at(ports::for_restarts()?)?;
        Ok(Self { name, namespace, account, provider, webhooks, health: ports::for_restarts()? })
    }

    /// Who it is for the server, as the audit log names it.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.account)
    }

    /// Leads the webhooks that are installed for it to where it will listen.
    pub async fn lead_webhooks(&self, client: &ApiClient) -> Result<()> {
        let led = webhooks::lead(client, self.provider, &self.webhooks).await?;
        say(&format!("{}: the webhooks of {led} objects lead to its process", self.name));
        Ok(())
    }

    fn arguments(&self, cluster: &Cluster) -> Result<Vec<String>> {
        let (kubeconfig, certificates) =
            (cluster.folder().join(format!("{}.kubeconfig", self.name)), cluster.folder().join(self.name));
        kubeconfig_of_account(cluster, self.namespace, self.account, &kubeconfig)?;
        self.webhooks.write_pair(&certificates)?;
        Ok(vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--webhook-port={}", self.webhooks.port()),
            format!("--webhook-cert-dir={}", certificates.display()),
            format!("--health-addr=127.0.0.1:{}", self.health),
            // Any free port: nobody asks.
            "--diagnostics-address=127.0.0.1:0".to_owned(),
        ])
    }

    /// Starts it, from its own binary if it is ours.
    pub fn start(&self, cluster: &mut Cluster, ours: &Path) -> Result<()> {
        let mut arguments = self.arguments(cluster)?;
        let Some(provider) = PROVIDERS.iter().find(|it| it.label == self.provider) else {
            arguments.insert(0, "manager".to_owned());
            arguments.extend(["--enable-ipam".to_owned(), "--logging-format=json".to_owned()]);
            return cluster.spawn(self.name, ours, &arguments);
        };
        arguments.extend([
            "--insecure-diagnostics=true".to_owned(),
            "--feature-gates=ClusterTopology=true".to_owned(),
        ]);
        cluster.spawn(self.name, &ensure_built(provider.binary)?, &arguments)
    }
}

/// All four.
pub fn all() -> Result<Vec<Manager>> {
    let mut all = Vec::new();
    for provider in PROVIDERS {
        all.push(Manager::new(provider.binary.name(), provider.namespace, provider.account, provider.label)?);
    }
    all.push(Manager::new("capm3-manager", NAMESPACE, SERVICE_ACCOUNT, PROVIDER_NAME)?);
    Ok(all)
}

/// Builds what is not in the cache.
pub fn build() -> Result<()> {
    PROVIDERS.iter().try_for_each(|it| ensure_built(it.binary).map(drop)).context("building Cluster API")
}

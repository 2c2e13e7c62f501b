//! The two servers that the scenario runs on, as far as the scenario can tell them apart: by name.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use anyhow::{Context, Result, ensure};
use capm3_engine::ApiClient;
use capm3_lab::manifests::Manifest;

use super::{deployed, manager};
use crate::{
    conformance::client::Client,
    embedded::Embedded,
    install::{self, Loopback},
    real::{Cluster, ports},
    requests::{Counts, denied, everything},
};

/// A running API server.
pub enum Server {
    Real(Real),
    Embedded(Embedded),
}

/// A real one, and the webhooks of the manager that it asks.
pub struct Real {
    cluster: Cluster,
    webhooks: Loopback,
    /// Port of the diagnostics of the manager, also after a restart.
    diagnostics: u16,
    /// Whether the manager has the arguments of the Deployment.
    is_deployed: bool,
}

impl Real {
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub fn diagnostics(&self) -> u16 {
        self.diagnostics
    }

    /// Applies the release, also over what is there.
    pub fn install_release(&self) -> Result<()> {
        install::install_release(&self.cluster, &self.webhooks)
    }
}

impl Server {
    /// Starts a real one, whose manager has the arguments of the release's Deployment: it competes for the Lease.
    pub fn start_deployed() -> Result<Self> {
        Self::start_with(true)
    }

    /// Starts a real one, whose manager leads at once.
    pub fn start_real() -> Result<Self> {
        Self::start_with(false)
    }

    fn start_with(is_deployed: bool) -> Result<Self> {
        let cluster = Cluster::start()?;
        let webhooks = Loopback::at(ports::for_restarts()?)?;
        webhooks.write_pair(&cluster.folder().join("webhooks"))?;
        let diagnostics = ports::for_restarts()?;
        Ok(Self::Real(Real { cluster, webhooks, diagnostics, is_deployed }))
    }

    /// Starts an embedded one; must be called on a runtime.
    pub fn start_embedded() -> Result<Self> {
        Ok(Self::Embedded(Embedded::start_with_rules()?))
    }

    /// Installs the CRDs of the neighbours, and the release: on the embedded server its CRDs are all that matters.
    pub async fn install(&self, client: &ApiClient) -> Result<()> {
        let Self::Real(real) = self else { return Ok(capm3_lab::apply(client, &capm3_lab::crds()).await?) };
        capm3_lab::apply(client, &neighbours()).await?;
        real.install_release()
    }

    /// Waits until the server asks the webhooks of a manager that has been started.
    pub async fn until_webhooks_are_asked(&self) -> Result<()> {
        match self {
            Self::Real(_) => install::until_asked(&Client::new(&self.kubeconfig()).await?).await,
            Self::Embedded(_) => Ok(()),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Real(_) => "real",
            Self::Embedded(_) => "embedded",
        }
    }

    /// The kubeconfig of its administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Real(real) => real.cluster.kubeconfig(),
            Self::Embedded(embedded) => embedded.kubeconfig(),
        }
    }

    /// The kubeconfig of the manager: on a real server it has the rights of its Roles only. The embedded one knows no rights.
    pub fn manager_kubeconfig(&self) -> Result<PathBuf> {
        let Self::Real(real) = self else { return Ok(self.kubeconfig()) };
        let file = real.cluster.folder().join("manager.kubeconfig");
        if !file.exists() {
            install::account_kubeconfig(&real.cluster, &file)?;
        }
        Ok(file)
    }

    /// Arguments of the manager. The embedded server applies the rules in process and calls no webhook.
    pub fn manager_arguments(&self) -> Result<Vec<String>> {
        let certificate =
            |real: &Real| format!("--webhook-cert-dir={}", real.cluster.folder().join("webhooks").display());
        let usual = |port: u16| vec!["--enable-ipam".to_owned(), format!("--webhook-port={port}")];
        let mut arguments = match self {
            Self::Real(real) => {
                let port = real.webhooks.port();
                let mut arguments = if real.is_deployed { deployed::arguments(port)? } else { usual(port) };
                arguments.push(certificate(real));
                arguments
            }
            Self::Embedded(_) => usual(0),
        };
        arguments.push(format!("--diagnostics-address=127.0.0.1:{}", self.diagnostics()));
        Ok(arguments)
    }

    /// Fails unless the manager has become leader, where it has to.
    pub fn ensure_led(&self) -> Result<()> {
        let Self::Real(Real { is_deployed: true, .. }) = self else { return Ok(()) };
        let log = self.log("manager");
        let text = fs::read_to_string(&log).with_context(|| format!("reading {}", log.display()))?;
        ensure!(text.contains("became leader"), "the manager never led, says {}", log.display());
        Ok(())
    }

    /// Port of the diagnostics of the manager; any on the embedded server, which does not know whose a token is.
    pub fn diagnostics(&self) -> u16 {
        match self {
            Self::Real(real) => real.diagnostics,
            Self::Embedded(_) => 0,
        }
    }

    /// Where a process that belongs to it logs.
    pub fn log(&self, process: &str) -> PathBuf {
        match self {
            Self::Real(real) => real.cluster.log(process),
            Self::Embedded(embedded) => embedded.folder().join(format!("{process}.log")),
        }
    }

    /// Requests of the manager so far.
    pub fn manager_requests(&self) -> Result<Counts> {
        match self {
            Self::Real(real) => Counts::audited(&real.cluster.audit_log(), manager::USER_AGENT),
            Self::Embedded(embedded) => Ok(Counts::embedded(&embedded.requests(), manager::USER_AGENT)),
        }
    }

    /// Everything that the manager asked so far, how often; the embedded server is not asked for it.
    pub fn everything_of_manager(&self) -> Result<BTreeMap<String, u64>> {
        match self {
            Self::Real(real) => everything(&real.cluster.audit_log(), manager::USER_AGENT),
            Self::Embedded(_) => Ok(BTreeMap::new()),
        }
    }

    /// What the manager was denied, and how often. The embedded server denies nothing.
    pub fn denials(&self) -> Result<Vec<String>> {
        match self {
            Self::Real(real) => denied(&real.cluster.audit_log(), &install::account_user()),
            Self::Embedded(_) => Ok(Vec::new()),
        }
    }

    /// How often the manager writes within a time from now.
    pub async fn manager_writes_during(&self, time: Duration) -> Result<u64> {
        let before = self.manager_requests()?.writes;
        tokio::time::sleep(time).await;
        Ok(self.manager_requests()?.writes - before)
    }
}

/// The CRDs of everybody but the provider.
fn neighbours() -> Vec<Manifest> {
    let manifest = |object| Manifest { file: "CRD of a neighbour".to_owned(), object };
    capm3_world::crds().into_iter().map(manifest).collect()
}

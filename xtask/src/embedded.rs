//! The embedded server as a server of its own: behind its HTTPS listener, with a kubeconfig file, so that a client cannot
//! tell how it differs from a real one.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Result;
use capm3_apiserver::{
    ApiServer, Options, RequestCount,
    https::{self, ListenOptions, Listener},
};
use capm3_engine::Clock;
use capm3_lab::InProcess;
use tempfile::TempDir;

/// A running server; dropping it stops it.
pub struct Embedded {
    server: ApiServer,
    listener: Listener,
    folder: TempDir,
}

impl Embedded {
    /// Starts one; must be called on a runtime.
    pub fn start() -> Result<Self> {
        let clock = Clock::system();
        let server = ApiServer::new(Options::new(Arc::new(move || clock.now()), 1));
        let listener = https::serve(server.clone(), ListenOptions::default())?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("kubeconfig"), listener.kubeconfig())?;
        Ok(Self { server, listener, folder })
    }

    /// One that fills in, judges and converts objects of the provider as its webhooks would.
    pub fn start_with_rules() -> Result<Self> {
        let embedded = Self::start()?;
        embedded.server.set_admission(Arc::new(InProcess));
        embedded.server.set_conversion(Arc::new(InProcess));
        Ok(embedded)
    }

    /// Where its clients' files may be.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Makes sure that there is a workload cluster of this name, below a path of its own.
    pub fn add_cluster(&self, id: &str) {
        self.server.add_cluster(id);
    }

    /// The text of a kubeconfig of that cluster.
    pub fn kubeconfig_of_cluster(&self, id: &str) -> String {
        self.listener.kubeconfig_of_cluster(id)
    }

    /// Requests so far, by who asked for what.
    pub fn requests(&self) -> Vec<RequestCount> {
        self.server.requests()
    }
}

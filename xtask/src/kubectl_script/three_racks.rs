//! The three racks on a real server, with the manager and the world at work.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::{
    e2e::{self, Manager, Server, Stage},
    real::Cluster,
    repo,
};

/// Up and at rest when it is there; everything ends when it is dropped, the server last.
pub struct ThreeRacks {
    _manager: Manager,
    _stage: Stage,
    _runtime: Runtime,
    server: Server,
}

impl ThreeRacks {
    pub fn start() -> Result<Self> {
        let binary = e2e::build_manager()?;
        let server = Server::Real(Cluster::start()?);
        let kubeconfig = fs::read_to_string(server.kubeconfig()).context("reading the kubeconfig")?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let stage = runtime.block_on(Stage::set_up(&kubeconfig))?;
        let manager = Manager::start(&binary, &server)?;
        let manifests = capm3_lab::manifests::read(&repo::root().join("examples/three-racks"))?;
        runtime.block_on(async {
            stage.apply(&manifests).await?;
            stage.until_ready(3, 3).await
        })?;
        Ok(Self { _manager: manager, _stage: stage, _runtime: runtime, server })
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.server.kubeconfig()
    }
}

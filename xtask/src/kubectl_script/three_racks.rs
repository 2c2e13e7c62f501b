//! The three racks on a real server, with the manager and the world at work.

use std::path::PathBuf;

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::{
    e2e::{self, Manager, Server, Stage},
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
        let server = Server::start_real()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let stage = runtime.block_on(Stage::on(&server))?;
        let manager = Manager::start(&binary, &server)?;
        let manifests = capm3_lab::manifests::read(&repo::root().join("examples/three-racks"))?;
        runtime.block_on(async {
            server.until_webhooks_are_asked().await?;
            stage.apply(&manifests).await?;
            stage.until_ready(3, 3).await
        })?;
        Ok(Self { _manager: manager, _stage: stage, _runtime: runtime, server })
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.server.kubeconfig()
    }
}

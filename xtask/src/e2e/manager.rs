//! `capm3 manager` as a process of its own.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use super::server::Server;
use crate::{memory, processor, repo};

/// Name under which the server sees the manager.
pub const USER_AGENT: &str = "cluster-api-provider-metal3-manager";

/// A running manager; dropping it kills it.
pub struct Manager(Child);

/// Where a manager that is asked for its health listens, and which other flags it gets.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Port of its health on loopback.
    pub health: u16,
    /// Further arguments.
    pub arguments: &'static [&'static str],
}

/// Builds the binary and says where it is.
pub fn build() -> Result<PathBuf> {
    // As this program was built, so that nothing is built twice.
    let (folder, profile) = if cfg!(debug_assertions) { ("debug", "dev") } else { ("release", "release") };
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "capm3", "--profile", profile]);
    let status = cargo.current_dir(repo::root()).status().context("starting cargo")?;
    ensure!(status.success(), "building capm3 failed");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repo::root().join("target"), PathBuf::from);
    Ok(target.join(folder).join("capm3"))
}

impl Manager {
    /// Starts a manager for the server; its logs go to the server's folder.
    pub fn start(binary: &Path, server: &Server) -> Result<Self> {
        // Any free port: nobody asks for its health.
        Self::start_asked(binary, server, &Asked { health: 0, arguments: &[] })
    }

    /// The same for one that is asked for its health.
    pub fn start_asked(binary: &Path, server: &Server, asked: &Asked) -> Result<Self> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(server.log("manager"))?;
        let child = Command::new(binary)
            .arg("manager")
            .arg("--kubeconfig")
            .arg(server.manager_kubeconfig()?)
            .arg("--logging-format=json")
            .args(server.manager_arguments()?)
            .arg(format!("--health-addr=127.0.0.1:{}", asked.health))
            .args(asked.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", binary.display()))?;
        Ok(Self(child))
    }

    /// The same with further arguments.
    pub fn start_with(binary: &Path, server: &Server, arguments: &'static [&'static str]) -> Result<Self> {
        Self::start_asked(binary, server, &Asked { health: 0, arguments })
    }

    /// Processor time that it has used, in seconds.
    pub fn processor_seconds(&self) -> Result<f64> {
        Ok(processor::of_process(self.0.id())?.as_secs_f64())
    }

    /// Most memory that it has had, in megabytes.
    pub fn peak_rss_mb(&self) -> Result<u64> {
        memory::peak_mb(&self.0.id().to_string())
    }

    /// Ends it without a word, as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    /// The same, and starts another.
    pub fn kill_and_restart(&mut self, binary: &Path, server: &Server) -> Result<()> {
        self.kill_and_restart_asked(binary, server, &Asked { health: 0, arguments: &[] })
    }

    /// The same for one that is asked for its health.
    pub fn kill_and_restart_asked(&mut self, binary: &Path, server: &Server, asked: &Asked) -> Result<()> {
        self.kill()?;
        *self = Self::start_asked(binary, server, asked)?;
        Ok(())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill and nothing to wait for.
        let ended = self.0.kill().and_then(|()| self.0.wait());
        if let Err(error) = ended {
            eprintln!("e2e: the manager could not be ended: {error}");
        }
    }
}

//! `capm3 manager` as a process of its own.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{real::Cluster, repo};

/// Name under which the server sees the manager.
pub const USER_AGENT: &str = "cluster-api-provider-metal3-manager";

/// A running manager; dropping it kills it.
pub struct Manager(Child);

/// Builds the binary and says where it is.
pub fn build() -> Result<PathBuf> {
    let status =
        Command::new("cargo").args(["build", "--quiet", "-p", "capm3"]).current_dir(repo::root()).status()?;
    ensure!(status.success(), "building capm3 failed");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repo::root().join("target"), PathBuf::from);
    Ok(target.join("debug/capm3"))
}

impl Manager {
    /// Starts a manager for the cluster; its logs go to the cluster's folder.
    pub fn start(binary: &Path, cluster: &Cluster) -> Result<Self> {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(cluster.log("manager"))?;
        let child = Command::new(binary)
            .arg("manager")
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig())
            .args(["--enable-ipam", "--logging-format=json", "--health-addr"])
            .arg(format!("127.0.0.1:{}", free_port()?))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", binary.display()))?;
        Ok(Self(child))
    }

    /// Ends it without a word, as a crash would, and starts another.
    pub fn kill_and_restart(&mut self, binary: &Path, cluster: &Cluster) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        *self = Self::start(binary, cluster)?;
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

/// A port that is free at this moment.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

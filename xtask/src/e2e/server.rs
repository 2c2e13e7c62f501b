//! The two servers that the scenario runs on, as far as the scenario can tell them apart: by name.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;

use super::manager;
use crate::{
    embedded::Embedded,
    install,
    real::Cluster,
    requests::{Counts, audited_by_kind, embedded_by_kind},
};

/// A running API server.
pub enum Server {
    Real(Cluster),
    Embedded(Embedded),
}

impl Server {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Real(_) => "real",
            Self::Embedded(_) => "embedded",
        }
    }

    /// The kubeconfig of its administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Real(cluster) => cluster.kubeconfig(),
            Self::Embedded(embedded) => embedded.kubeconfig(),
        }
    }

    /// The kubeconfig of the manager: on a real server it has the rights of its Roles only. The embedded one knows no rights.
    pub fn manager_kubeconfig(&self) -> Result<PathBuf> {
        let Self::Real(cluster) = self else { return Ok(self.kubeconfig()) };
        let file = cluster.kubeconfig().with_file_name("manager.kubeconfig");
        if !file.exists() {
            install::account_kubeconfig(cluster, &file)?;
        }
        Ok(file)
    }

    /// Where a process that belongs to it logs.
    pub fn log(&self, process: &str) -> PathBuf {
        match self {
            Self::Real(cluster) => cluster.log(process),
            Self::Embedded(embedded) => embedded.folder().join(format!("{process}.log")),
        }
    }

    /// Requests of the manager so far.
    pub fn manager_requests(&self) -> Result<Counts> {
        match self {
            Self::Real(cluster) => Counts::audited(&cluster.audit_log(), manager::USER_AGENT),
            Self::Embedded(embedded) => Ok(Counts::embedded(&embedded.requests(), manager::USER_AGENT)),
        }
    }

    /// What the manager asked so far, the most frequent first.
    pub fn manager_requests_by_kind(&self) -> Result<Vec<String>> {
        match self {
            Self::Real(cluster) => audited_by_kind(&cluster.audit_log(), manager::USER_AGENT),
            Self::Embedded(embedded) => Ok(embedded_by_kind(&embedded.requests(), manager::USER_AGENT)),
        }
    }

    /// How often the manager writes within a time from now.
    pub async fn manager_writes_during(&self, time: Duration) -> Result<u64> {
        let before = self.manager_requests()?.writes;
        tokio::time::sleep(time).await;
        Ok(self.manager_requests()?.writes - before)
    }
}

//! The API server of a workload cluster: its address and the authority of its certificates, which Cluster API is given as a user
//! would give it.

use anyhow::Result;
use serde_json::{Value, json};

use super::{
    folder::RunFolder,
    kubeconfig,
    pki::{Authority, MASTERS, Pair},
    ports,
};

/// An API server of its own; the cluster that started it ends it.
pub struct Workload {
    name: String,
    port: u16,
    authority: Authority,
}

/// Secrets with certificates that Cluster API does not make when etcd is external, and the one from which it makes kubeconfigs.
const CERTIFICATES: [&str; 4] = ["ca", "etcd", "apiserver-etcd-client", "proxy"];

impl Workload {
    pub(super) fn create(name: &str) -> Result<Self> {
        Ok(Self { name: name.to_owned(), port: ports::for_restarts()?, authority: Authority::create()? })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Writes the files with which its API server starts, and the kubeconfig of its administrator.
    pub(super) fn write(&self, folder: &RunFolder) -> Result<()> {
        let Pair { certificate, key } = self.authority.server()?;
        for (what, text) in [
            ("ca.crt", self.authority.certificate()),
            ("server.crt", certificate),
            ("server.key", key),
            ("kubeconfig", self.kubeconfig("admin", MASTERS)?),
        ] {
            folder.write(&folder.of_workload(&self.name, what), &text)?;
        }
        Ok(())
    }

    /// A kubeconfig with which a client is this user in this group.
    pub fn kubeconfig(&self, user: &str, group: &str) -> Result<String> {
        let server = format!("https://127.0.0.1:{}", self.port);
        let client = self.authority.client(user, group)?;
        Ok(kubeconfig::text(&server, &self.authority.certificate(), user, &client))
    }

    /// The Secrets that a Cluster of this name needs before it is created.
    pub fn secrets(&self, namespace: &str) -> Vec<Value> {
        let secret = |purpose: &&str| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
                "metadata": {
                    "name": format!("{}-{purpose}", self.name), "namespace": namespace,
                    "labels": {"cluster.x-k8s.io/cluster-name": self.name},
                },
                "stringData": {"tls.crt": self.authority.certificate(), "tls.key": self.authority.key()},
            })
        };
        CERTIFICATES.iter().map(secret).collect()
    }
}

//! Free ports on the loopback interface.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// The ports of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports {
    pub etcd_client: u16,
    pub etcd_peer: u16,
    pub api_server: u16,
    pub controller_manager: u16,
}

impl Ports {
    /// Ports that nobody listened on a moment ago; who starts a server on them must be ready to choose again.
    pub fn choose() -> Result<Self> {
        // All are held at once, so that they differ.
        let held = [hold()?, hold()?, hold()?, hold()?];
        let [etcd_client, etcd_peer, api_server, controller_manager] = held.each_ref().map(|(_, port)| *port);
        Ok(Self { etcd_client, etcd_peer, api_server, controller_manager })
    }
}

fn hold() -> Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("looking for a free loopback port")?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_ports_of_a_cluster_differ() {
        let ports = Ports::choose().unwrap();
        let all = [ports.etcd_client, ports.etcd_peer, ports.api_server, ports.controller_manager];
        assert_eq!(BTreeSet::from(all).len(), all.len());
        assert!(all.iter().all(|port| *port != 0), "{all:?}");
    }
}

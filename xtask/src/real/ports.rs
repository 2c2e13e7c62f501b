//! Free ports on the loopback interface.

use std::{
    net::{Ipv4Addr, Ipv6Addr, TcpListener},
    ops::Range,
    sync::atomic::{AtomicU16, Ordering},
};

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

/// Where to look for a port that a process can have again after a restart.
const KEPT: Range<u16> = 20_000..30_000;

/// A port for a process that is restarted: outside of the range from which connections get their own ports, so that none takes
/// it meanwhile. Nobody listened on it a moment ago, and this process is given another one each time.
pub fn for_restarts() -> Result<u16> {
    static LOOKED_AT: AtomicU16 = AtomicU16::new(0);
    let size = KEPT.end - KEPT.start;
    // Processes at the same time begin at different places.
    let first = u16::try_from(std::process::id() % u32::from(size))?;
    let steps = (0..size).map(|_| LOOKED_AT.fetch_add(1, Ordering::Relaxed) % size);
    let mut ports = steps.map(|step| KEPT.start + (first + step) % size);
    ports.find(|port| is_free(*port)).context("no free port for a process that is restarted")
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).is_ok()
        && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
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

    #[test]
    fn a_port_for_restarts_is_given_once() {
        let ports = [for_restarts().unwrap(), for_restarts().unwrap(), for_restarts().unwrap()];
        assert_eq!(BTreeSet::from(ports).len(), ports.len(), "{ports:?}");
        assert!(ports.iter().all(|port| KEPT.contains(port)), "{ports:?}");
    }
}

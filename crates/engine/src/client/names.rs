//! Addresses of names for a static binary. The C library looks names up by modules that it loads, which it cannot do there.
//!
//! Takes a name, gives its addresses: those of the hosts file, else those that the servers of resolv.conf give, with its search
//! domains and its `ndots`, as a pod has them. Both files are read for each name, which is as often as a connection is opened:
//! a change needs no restart, and nothing is kept. It must not be used where the C library can be asked: a workstation may have
//! other sources of names.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    task::{Context, Poll},
    vec,
};

use futures::{FutureExt, future::BoxFuture};
use hickory_resolver::{
    TokioResolver,
    config::{NameServerConfig, ResolveHosts, ResolverConfig, ServerOrderingStrategy},
    net::{NetError, runtime::TokioRuntimeProvider},
    system_conf::parse_resolv_conf,
};
use hyper_util::client::legacy::connect::dns::Name;
use thiserror::Error;
use tower::Service;

/// Where DNS servers listen: resolv.conf cannot say otherwise.
const DNS_PORT: u16 = 53;

/// Why a name has no address. What the library says is a part of the sentence and no cause behind it: of a chain of causes the last
/// one is shown, and without the name it means nothing.
#[derive(Debug, Error)]
pub enum NameError {
    /// The servers are not known.
    #[error("{name} is not in {}, and {} cannot be used: {cause}", hosts.display(), resolv_conf.display())]
    NoServers {
        /// What was looked up.
        name: String,
        /// The hosts file.
        hosts: PathBuf,
        /// Where the servers should be.
        resolv_conf: PathBuf,
        /// Why.
        cause: NetError,
    },
    /// The servers give no address.
    #[error("{name} is not in {}, and the DNS servers of {} give no address: {cause}", hosts.display(), resolv_conf.display())]
    NoAddress {
        /// What was looked up.
        name: String,
        /// The hosts file.
        hosts: PathBuf,
        /// Where the servers are named.
        resolv_conf: PathBuf,
        /// What they say, or that they say nothing.
        cause: NetError,
    },
}

/// Looks up names by these two files.
#[derive(Debug, Clone)]
pub(super) struct Names {
    hosts: PathBuf,
    resolv_conf: PathBuf,
    port: u16,
}

impl Default for Names {
    fn default() -> Self {
        Self { hosts: "/etc/hosts".into(), resolv_conf: "/etc/resolv.conf".into(), port: DNS_PORT }
    }
}

impl Names {
    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NameError> {
        let known = in_hosts(&text_of(&self.hosts).unwrap_or_default(), name);
        if !known.is_empty() {
            return Ok(known);
        }
        if is_localhost(name) {
            return Ok(vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]);
        }
        let (name, hosts, resolv_conf) = (name.to_owned(), self.hosts.clone(), self.resolv_conf.clone());
        let resolver = match self.resolver() {
            Ok(resolver) => resolver,
            Err(cause) => return Err(NameError::NoServers { name, hosts, resolv_conf, cause }),
        };
        match resolver.lookup_ip(name.as_str()).await {
            Ok(found) => Ok(found.into_iter().collect()),
            Err(cause) => Err(NameError::NoAddress { name, hosts, resolv_conf, cause }),
        }
    }

    /// The library's resolver as resolv.conf says, and nothing else: it must not look into the hosts file of the system, and the
    /// domain that it takes from the host name is none to search where resolv.conf names others.
    fn resolver(&self) -> Result<TokioResolver, NetError> {
        let (config, mut options) = parse_resolv_conf(text_of(&self.resolv_conf)?)?;
        options.use_hosts_file = ResolveHosts::Never;
        options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
        options.cache_size = 0;
        let servers = config.name_servers().iter().map(|server| self.at_port(server.clone())).collect();
        let config = ResolverConfig::from_parts(None, config.search().to_vec(), servers);
        TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(options)
            .build()
    }

    fn at_port(&self, mut server: NameServerConfig) -> NameServerConfig {
        server.connections.iter_mut().for_each(|connection| connection.port = self.port);
        server
    }
}

impl Service<Name> for Names {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = NameError;
    type Future = BoxFuture<'static, Result<Self::Response, NameError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NameError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let names = self.clone();
        async move {
            let found = names.addresses(name.as_str()).await?;
            // The connector sets the port.
            let found: Vec<_> = found.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
            Ok(found.into_iter())
        }
        .boxed()
    }
}

fn text_of(file: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(file)?).into_owned())
}

/// The addresses that a hosts file has for a name, in its order. A name that has any there is not asked of a server.
fn in_hosts(text: &str, name: &str) -> Vec<IpAddr> {
    let name = name.trim_end_matches('.');
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let address = |line: &str| {
        let mut words = line.split_whitespace();
        let address = words.next()?.parse().ok()?;
        words.any(|word| word.trim_end_matches('.').eq_ignore_ascii_case(name)).then_some(address)
    };
    lines.filter_map(address).collect()
}

/// Whether the name means this machine whatever a server says (RFC 6761).
fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;

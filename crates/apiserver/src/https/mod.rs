//! HTTPS for clients outside the process: takes a server and a loopback address, gives an HTTPS listener that
//! stock `kubectl` can use, and the kubeconfig that opens it.
//!
//! Every start makes its own authority, certificates and token; nothing is written to disk. It must not know any
//! resource: every request goes to [`ApiServer`] as it is.

mod bodies;
mod connection;
mod identity;
mod outgoing;
mod request;
mod slots;
mod unread_responses;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    connection::ListenerState,
    identity::Identity,
    slots::{Slot, Slots},
    unread_responses::Unread,
};
use crate::server::ApiServer;

/// Connections served at the same time, unless chosen otherwise.
const DEFAULT_CONNECTIONS: usize = 512;
/// How long `stop` waits for connections; they get half of it to finish what they are doing.
const STOP_LIMIT: Duration = Duration::from_secs(1);
/// The pause after an accept that failed, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often a connection that finds no place tries again.
const PLACE_PAUSE: Duration = Duration::from_millis(5);
/// Connections that may wait to be taken in; beyond that clients try again by themselves.
const BACKLOG: u32 = 1024;
/// How often answers that nobody reads are looked for.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// Where and how to listen.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// A loopback address; port 0 takes any free port.
    pub address: SocketAddr,
    /// How many connections may be open, half of them without having shown who they are. Those that do nothing make
    /// room for new ones; when all are busy new ones wait.
    pub connections: usize,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            connections: DEFAULT_CONNECTIONS,
        }
    }
}

/// Why nobody listens.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Somebody else has the port.
    #[error("{0} is already in use")]
    AddressInUse(SocketAddr),
    /// The server trusts everybody on the machine with its credentials, so it stays on the machine.
    #[error("{0} is not a loopback address")]
    NotLoopback(SocketAddr),
    /// Any other failure to bind.
    #[error("cannot listen on {address}: {cause}")]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the operating system says.
        cause: io::Error,
    },
    /// Keys or certificates could not be made.
    #[error("cannot make certificates: {0}")]
    Identity(String),
    /// There is no tokio runtime to run on.
    #[error("no tokio runtime is running")]
    NoRuntime,
}

/// A running listener; it stops when it is dropped.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    identity: Identity,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Listens and serves on the current tokio runtime.
///
/// # Errors
/// See [`ListenError`].
pub fn serve(server: ApiServer, options: ListenOptions) -> Result<Listener, ListenError> {
    let runtime = tokio::runtime::Handle::try_current().map_err(|_| ListenError::NoRuntime)?;
    let socket = bind(options.address)?;
    let address =
        socket.local_addr().map_err(|cause| ListenError::Bind { address: options.address, cause })?;
    let (identity, tls) = Identity::generate(address.ip()).map_err(ListenError::Identity)?;
    server.accept_token(&identity.token);
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let listener = ListenerState {
        server,
        token: identity.token.as_str().into(),
        tls: TlsAcceptor::from(Arc::new(tls)),
        stop: stop.clone(),
        unread: Arc::default(),
        bodies: Arc::default(),
        grace: STOP_LIMIT / 2,
    };
    tasks.spawn_on(sweep(Arc::clone(&listener.unread), stop.clone()), &runtime);
    let slots = Arc::new(Slots::new(options.connections.max(1)));
    tasks.spawn_on(accept(socket, Arc::new(listener), slots, tasks.clone()), &runtime);
    tasks.close();
    Ok(Listener { address, identity, stop, tasks })
}

fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    if !address.ip().is_loopback() {
        return Err(ListenError::NotLoopback(address));
    }
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    };
    listen().map_err(|cause| match cause.kind() {
        io::ErrorKind::AddrInUse => ListenError::AddressInUse(address),
        _ => ListenError::Bind { address, cause },
    })
}

/// Accepts connections until the listener stops. One that finds no place waits, and all after it.
async fn accept(socket: TcpListener, listener: Arc<ListenerState>, slots: Arc<Slots>, tasks: TaskTracker) {
    loop {
        let (stream, slot) = tokio::select! {
            biased;
            () = listener.stop.cancelled() => return,
            next = next(&socket, &slots) => next,
        };
        tasks.spawn(connection::run(stream, Arc::new(slot), Arc::clone(&listener)));
    }
}

/// The next connection and its place.
async fn next(socket: &TcpListener, slots: &Slots) -> (TcpStream, Slot) {
    let stream = loop {
        match socket.accept().await {
            Ok((stream, _)) => break stream,
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    };
    loop {
        match slots.take() {
            Some(slot) => return (stream, slot),
            None => tokio::time::sleep(PLACE_PAUSE).await,
        }
    }
}

/// Looks every second for answers that nobody reads.
async fn sweep(unread: Arc<Unread>, stop: CancellationToken) {
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(SWEEP_PAUSE) => unread.sweep(),
        }
    }
}

impl Listener {
    /// Where it listens, with the port that was chosen if 0 was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig for the management API, as YAML. Its current context uses the client certificate; the context
    /// `capm3-token` uses the bearer token.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_in("default")
    }

    /// The same with another namespace for commands that name none.
    pub fn kubeconfig_in(&self, namespace: &str) -> String {
        self.kubeconfig_with(namespace, &[])
    }

    /// The same with a context for each of some workload clusters: its name, and the id of the cluster, see
    /// [`ApiServer::add_cluster`]. A name may be neither `capm3` nor `capm3-token`.
    pub fn kubeconfig_with(&self, namespace: &str, clusters: &[(&str, &str)]) -> String {
        let base = format!("https://{}", self.address);
        let others: Vec<(&str, String)> =
            clusters.iter().map(|(name, id)| (*name, format!("{base}/clusters/{id}"))).collect();
        self.identity.kubeconfig(&base, namespace, &others)
    }

    /// The same for a workload cluster, see [`ApiServer::add_cluster`].
    pub fn kubeconfig_of_cluster(&self, id: &str) -> String {
        self.identity.kubeconfig(&format!("https://{}/clusters/{id}", self.address), "default", &[])
    }

    /// Ends when nobody listens any more and every connection is closed; does not keep the listener.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let tasks = self.tasks.clone();
        async move { tasks.wait().await }
    }

    /// Stops listening, lets requests in flight finish and ends watches; takes at most a second.
    pub async fn stop(self) {
        self.stop.cancel();
        // Whoever does not finish in time is left to the runtime, which drops it.
        let _ = tokio::time::timeout(STOP_LIMIT, self.tasks.wait()).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

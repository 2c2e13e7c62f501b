//! A bounded server: takes a listener, a TLS configuration and a [`Handler`], answers over HTTP/1.1 and HTTP/2.
//!
//! Anybody in the cluster can connect, so everything is bounded: connections, the time for handshake, head and body, and
//! the bytes of all bodies together. It must not judge anything itself: what is asked goes to the handler.

mod body;
mod certificate;
mod connection;
mod files;
mod handler;
mod request;
mod slots;
mod tls;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::warn;

use self::{body::Rooms, connection::Shared, slots::Slots};
pub use self::{
    certificate::{PairError, SelfSignedError, Served, certified, self_signed},
    files::{CertificateFiles, FilesError, Refresh},
    handler::{Handler, Reply, method_not_allowed, reply, text_reply},
    tls::{TlsError, TlsOptions, UnknownName},
};

/// The pause after an accept that failed, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What clients may take up.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at the same time. When there are more, the one that has been idle for longest makes room; when none
    /// is idle, new ones wait.
    pub connections: usize,
    /// For the TLS handshake.
    pub handshake: Duration,
    /// For the head of the first request of a connection.
    pub head: Duration,
    /// For the body of a request, room for it included.
    pub body: Duration,
    /// For an answer: to be made, and between two pieces that the client takes.
    pub progress: Duration,
    /// Between two requests, the head of the next one included.
    pub idle: Duration,
    /// Requests at the same time on one HTTP/2 connection.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 128,
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(10),
            body: Duration::from_secs(20),
            progress: Duration::from_secs(60),
            idle: Duration::from_secs(120),
            streams: 100,
        }
    }
}

/// A running server; it stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
    accepting: tokio::task::AbortHandle,
}

/// Serves on the current tokio runtime. The certificate is that which `tls` resolves for each connection; without it the
/// server speaks plain HTTP.
///
/// # Errors
/// If the listener has no address.
pub fn serve<H: Handler>(
    listener: TcpListener,
    tls: Option<rustls::ServerConfig>,
    handler: H,
    limits: Limits,
) -> io::Result<Server> {
    let address = listener.local_addr()?;
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    let slots = Slots::new(limits.connections);
    let tls = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
    let shared = Shared { tls, handler, rooms: Rooms::default(), limits, stop: stop.clone() };
    let accepting = tasks.spawn(accept(listener, slots, Arc::new(shared), tasks.clone())).abort_handle();
    tasks.close();
    Ok(Server { address, stop, tasks, accepting })
}

/// Accepts connections until it is stopped. At the limit, a new connection waits, and so do those after it.
async fn accept<H: Handler>(listener: TcpListener, slots: Slots, shared: Arc<Shared<H>>, tasks: TaskTracker) {
    let mut is_refused = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                if !is_refused {
                    warn!(%error, address = ?listener.local_addr().ok(), "cannot accept a connection; retries");
                }
                is_refused = true;
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        is_refused = false;
        let slot = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            slot = slots.take() => slot,
        };
        tasks.spawn(connection::run(stream, Arc::new(slot), Arc::clone(&shared)));
    }
}

impl Server {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Tells, whenever it is called, whether connections are accepted.
    pub fn is_serving(&self) -> impl Fn() -> bool + Send + Sync + 'static {
        let (accepting, stop) = (self.accepting.clone(), self.stop.clone());
        move || !accepting.is_finished() && !stop.is_cancelled()
    }

    /// Accepts no more connections and lets requests in flight end, for so long at most.
    pub async fn stop(self, limit: Duration) {
        self.stop.cancel();
        // Who does not end in time is dropped with the runtime.
        let _ended = tokio::time::timeout(limit, self.tasks.wait()).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

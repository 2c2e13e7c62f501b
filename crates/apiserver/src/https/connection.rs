//! One connection: handshake, HTTP/1.1 or HTTP/2, and its end, which always comes: unauthenticated and idle ones are closed
//! after a while, those who do not read their answers too, everybody soon after the listener stops.

use std::{pin::pin, sync::Arc, time::Duration};

use http::Request;
use hyper::{body::Incoming, server::conn, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{
    bodies::Bodies,
    request::{self, Caller},
    slots::Slot,
    unread_responses::Unread,
};
use crate::server::ApiServer;

/// For the TLS handshake.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// For the head of a request, for the first request of a connection, and for showing who it is.
const HEAD_LIMIT: Duration = Duration::from_secs(10);
/// Between requests.
const IDLE_LIMIT: Duration = Duration::from_secs(120);
/// What is taken in of the head of a request. More than is answered, so that a head which is only somewhat too large
/// gets a `Status`; beyond this the protocol itself refuses, without words.
const HEAD_BYTES: usize = 4 * request::HEAD_BYTES;
/// Requests and watches at the same time on one HTTP/2 connection.
const STREAMS: u32 = 250;
/// What an HTTP/2 connection may send before somebody reads it.
const WINDOW: u32 = 256 * 1024;

/// What all connections of a listener share.
pub(super) struct ListenerState {
    pub(super) server: ApiServer,
    pub(super) token: Arc<str>,
    pub(super) tls: TlsAcceptor,
    pub(super) stop: CancellationToken,
    pub(super) unread: Arc<Unread>,
    pub(super) bodies: Arc<Bodies>,
    /// How long a connection may take to finish once the listener stops.
    pub(super) grace: Duration,
}

/// Serves a connection from its handshake to its end.
pub(super) async fn run(stream: TcpStream, slot: Arc<Slot>, listener: Arc<ListenerState>) {
    let _ = stream.set_nodelay(true);
    let handshake = async {
        // A client that sends nothing is not the same as a slow one.
        stream.peek(&mut [0]).await?;
        slot.mark_received_bytes();
        listener.tls.accept(stream).await
    };
    let handshake = tokio::select! {
        biased;
        () = slot.is_cut() => return,
        () = listener.stop.cancelled() => return,
        handshake = timeout(HANDSHAKE_LIMIT, handshake) => handshake,
    };
    if let Ok(Ok(stream)) = handshake {
        serve(stream, slot, listener).await;
    }
}

async fn serve(stream: TlsStream<TcpStream>, slot: Arc<Slot>, listener: Arc<ListenerState>) {
    let (_, session) = stream.get_ref();
    let is_h2 = session.alpn_protocol() == Some(b"h2");
    let caller = Arc::new(Caller {
        server: listener.server.clone(),
        token: Arc::clone(&listener.token),
        has_certificate: session.peer_certificates().is_some_and(|chain| !chain.is_empty()),
        slot: Arc::clone(&slot),
        stop: listener.stop.clone(),
        unread: Arc::clone(&listener.unread),
        bodies: Arc::clone(&listener.bodies),
    });
    if caller.has_certificate {
        slot.mark_authenticated();
    }
    let service = service_fn(move |request: Request<Incoming>| request::answer(Arc::clone(&caller), request));
    let io = TokioIo::new(stream);
    if is_h2 {
        let mut builder = conn::http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
        builder.max_header_list_size(HEAD_BYTES as u32);
        builder.initial_connection_window_size(WINDOW).initial_stream_window_size(WINDOW);
        drive(builder.serve_connection(io, service), &slot, &listener).await;
    } else {
        let mut builder = conn::http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HEAD_BYTES);
        drive(builder.serve_connection(io, service), &slot, &listener).await;
    }
}

async fn drive(connection: impl GracefulConnection, slot: &Slot, listener: &ListenerState) {
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        () = slot.is_cut() => return,
        () = listener.stop.cancelled() => {}
        () = stays_unknown(slot) => {}
        () = idle(slot) => {}
        _ = connection.as_mut() => return,
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(listener.grace, connection).await;
}

/// Resolves when the connection has not shown in time who it is, whatever it asks and reads.
async fn stays_unknown(slot: &Slot) {
    tokio::time::sleep(HEAD_LIMIT).await;
    if slot.is_authenticated() {
        std::future::pending::<()>().await;
    }
}

/// Resolves when the connection has not asked for anything for too long. A head that arrives byte by byte is no
/// request, so this also bounds how long one may take.
async fn idle(slot: &Slot) {
    loop {
        let before = slot.requests();
        tokio::time::sleep(if before == 0 { HEAD_LIMIT } else { IDLE_LIMIT }).await;
        if slot.is_idle() && slot.requests() == before {
            return;
        }
    }
}

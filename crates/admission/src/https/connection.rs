//! One connection: handshake, HTTP/1.1 or HTTP/2, and its end, which always comes.

use std::{pin::pin, sync::Arc};

use hyper::{server::conn, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::{Limits, body::Rooms, handler::Handler, request, slots::Slot};

/// Largest head of a request.
const HEAD_BYTES: u32 = 32 * 1024;
/// What an HTTP/2 connection may send before somebody reads it.
const WINDOW: u32 = 1024 * 1024;

/// What all connections share.
pub(super) struct Shared<H> {
    /// None for plain HTTP.
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) handler: H,
    pub(super) rooms: Rooms,
    pub(super) limits: Limits,
    pub(super) stop: CancellationToken,
}

/// Serves a connection from its handshake to its end.
pub(super) async fn run<H: Handler>(stream: TcpStream, slot: Arc<Slot>, shared: Arc<Shared<H>>) {
    let _ = stream.set_nodelay(true);
    let Some(tls) = &shared.tls else {
        return Box::pin(serve(stream, false, slot, shared)).await;
    };
    let handshake = tokio::select! {
        biased;
        () = slot.is_cut() => return,
        () = shared.stop.cancelled() => return,
        handshake = timeout(shared.limits.handshake, tls.accept(stream)) => handshake,
    };
    match handshake {
        Ok(Ok(stream)) => {
            let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            Box::pin(serve(stream, is_h2, slot, shared)).await;
        }
        Ok(Err(error)) => debug!(%error, "a TLS handshake failed"),
        Err(_) => debug!("a TLS handshake took too long"),
    }
}

async fn serve<S, H: Handler>(stream: S, is_h2: bool, slot: Arc<Slot>, shared: Arc<Shared<H>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answering = (Arc::clone(&shared), Arc::clone(&slot));
    let service = service_fn(move |request| {
        let (shared, slot) = (Arc::clone(&answering.0), Arc::clone(&answering.1));
        request::answer(shared, slot, request)
    });
    let io = TokioIo::new(stream);
    if is_h2 {
        let mut builder = conn::http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(shared.limits.streams)
            .max_header_list_size(HEAD_BYTES);
        builder.initial_connection_window_size(WINDOW).initial_stream_window_size(WINDOW / 4);
        drive(builder.serve_connection(io, service), &slot, &shared).await;
    } else {
        let mut builder = conn::http1::Builder::new();
        // It would also close a connection that waits for its next request, while a client reuses it.
        builder.timer(TokioTimer::new()).header_read_timeout(None);
        builder.max_buf_size(HEAD_BYTES as usize);
        drive(builder.serve_connection(io, service), &slot, &shared).await;
    }
}

async fn drive<H>(connection: impl GracefulConnection, slot: &Slot, shared: &Shared<H>) {
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        () = slot.is_cut() => return,
        () = no_progress(slot, &shared.limits) => return,
        () = shared.stop.cancelled() => {}
        _ = connection.as_mut() => return,
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        biased;
        () = no_progress(slot, &shared.limits) => {}
        _ = connection => {}
    }
}

/// Resolves when nothing has gone on for too long: no request, or an answer that nobody takes. A head that arrives byte by
/// byte is no request, so this also bounds how long one may take.
async fn no_progress(slot: &Slot, limits: &Limits) {
    // What goes on meanwhile moves the end, and another limit may begin to hold: looks again as soon as any could be reached.
    let shortest = limits.head.min(limits.progress).min(limits.idle);
    loop {
        let limit = match (slot.is_idle(), slot.has_asked()) {
            (false, _) => limits.progress,
            (true, false) => limits.head,
            (true, true) => limits.idle,
        };
        let (now, end) = (Instant::now(), slot.last_progress() + limit);
        if end <= now {
            return;
        }
        tokio::time::sleep_until(end.min(now + shortest)).await;
    }
}

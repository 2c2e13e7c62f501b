//! `/healthz` and `/readyz`.

use std::{convert::Infallible, sync::Arc, time::Duration};

use capm3_provider::Provider;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::Semaphore};
use tracing::warn;

/// Connections at once; a probe needs one.
const CONNECTIONS: usize = 32;

/// Serves until it is dropped.
pub async fn serve(listener: TcpListener, provider: Arc<Provider>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                warn!(%error, "cannot accept a health probe");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let provider = Arc::clone(&provider);
        tokio::spawn(async move {
            let answer =
                service_fn(|request| std::future::ready(Ok::<_, Infallible>(answer(&request, &provider))));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(5))
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answer);
            if let Err(error) = connection.await {
                warn!(%error, "a health probe broke off");
            }
            drop(place);
        });
    }
}

fn answer<B>(request: &Request<B>, provider: &Provider) -> Response<Full<Bytes>> {
    let (status, text) = match request.uri().path() {
        "/healthz" => (StatusCode::OK, "ok"),
        "/readyz" if !provider.caches().are_synced() => {
            (StatusCode::SERVICE_UNAVAILABLE, "waiting for the first lists from the API server")
        }
        "/readyz" if !provider.caches().are_current() => {
            (StatusCode::SERVICE_UNAVAILABLE, "the API server does not answer; what is known may be old")
        }
        "/readyz" => (StatusCode::OK, "ok"),
        _ => (StatusCode::NOT_FOUND, "try /healthz or /readyz"),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}

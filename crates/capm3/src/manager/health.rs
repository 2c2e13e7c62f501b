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
        "/healthz" => (StatusCode::OK, "ok".to_owned()),
        "/readyz" => match unready(provider) {
            None => (StatusCode::OK, "ok".to_owned()),
            Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why),
        },
        _ => (StatusCode::NOT_FOUND, "try /healthz or /readyz".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}

/// Why the provider is not ready: every kind that it reads and cannot rely on, one per line.
fn unready(provider: &Provider) -> Option<String> {
    let unhealthy = provider.caches().health().filter_map(|health| {
        let (kind, state) = (health.kind(), health.state());
        (!state.is_healthy()).then(|| format!("{} {} {state}", kind.kind, kind.api_version()))
    });
    let lines: Vec<String> = unhealthy.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

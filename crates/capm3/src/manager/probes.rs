//! `/healthz` and `/readyz`.
//!
//! Takes a listener and why the manager is not healthy or not ready; answers one request a connection. Connections that send nothing
//! must not keep a probe waiting: none waits for another, and when there are too many the oldest one is closed.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc, time::Duration};

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};
use tracing::{debug, warn};

/// Connections at once, where the limit of open files allows it. A connection that sends nothing costs a few hundred
/// bytes, one that has begun a request a buffer of some kilobytes.
const CONNECTIONS: u64 = 2048;

/// How long a connection may take to begin a request, and then to end its headers.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The smallest buffer that hyper takes: a probe has few headers.
const BUFFER: usize = 8192;

/// Why something is not as it should be, one reason per line; none if it is.
pub type Reasons = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// What is asked.
#[derive(Clone)]
pub struct Probes {
    /// Why only a restart can help.
    pub unhealthy: Reasons,
    /// Why the manager cannot do its work now.
    pub unready: Reasons,
}

/// Serves until it is dropped.
pub async fn serve(listener: TcpListener, probes: Probes) {
    let most = most_connections(getrlimit(Resource::Nofile).current);
    let mut tasks = JoinSet::new();
    let mut open: BTreeMap<u64, AbortHandle> = BTreeMap::new();
    let mut is_refused = false;
    for number in 0_u64.. {
        let accepted = loop {
            tokio::select! {
                biased;
                Some(ended) = tasks.join_next() => if let Ok(number) = ended {
                    open.remove(&number);
                },
                accepted = listener.accept() => break accepted,
            }
        };
        match accepted {
            Ok((stream, _)) => {
                if open.len() >= most {
                    close_oldest(&mut open);
                }
                let probes = probes.clone();
                let task = async move {
                    talk(stream, probes).await;
                    number
                };
                open.insert(number, tasks.spawn(task));
                is_refused = false;
            }
            Err(error) => {
                if !is_refused {
                    warn!(%error, "cannot accept a health probe; retries every second");
                }
                is_refused = true;
                close_oldest(&mut open);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// Half of the files that may be open, so that the others are left for the API server.
fn most_connections(open_files: Option<u64>) -> usize {
    let most = open_files.map_or(CONNECTIONS, |files| CONNECTIONS.min(files / 2)).max(1);
    usize::try_from(most).unwrap_or(usize::MAX)
}

fn close_oldest(open: &mut BTreeMap<u64, AbortHandle>) {
    if let Some((_, oldest)) = open.pop_first() {
        oldest.abort();
    }
}

/// Answers one request. Nothing is set up before its first byte.
async fn talk(stream: TcpStream, probes: Probes) {
    if !matches!(tokio::time::timeout(TIMEOUT, stream.readable()).await, Ok(Ok(()))) {
        return;
    }
    let answer = service_fn(|request| std::future::ready(Ok::<_, Infallible>(answer(&request, &probes))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(TIMEOUT)
        .max_buf_size(BUFFER)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    match tokio::time::timeout(2 * TIMEOUT, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "a health probe ended early"),
        Err(_) => debug!("a health probe does not read its answer"),
    }
}

fn answer<B>(request: &Request<B>, probes: &Probes) -> Response<Full<Bytes>> {
    let reasons = match request.uri().path() {
        "/healthz" => Some((probes.unhealthy)()),
        "/readyz" => Some((probes.unready)()),
        _ => None,
    };
    let (status, text) = match reasons {
        Some(None) => (StatusCode::OK, "ok".to_owned()),
        Some(Some(why)) => (StatusCode::SERVICE_UNAVAILABLE, why),
        None => (StatusCode::NOT_FOUND, "try /healthz or /readyz".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use rustix::process::{Rlimit, setrlimit};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn start(unhealthy: Option<&'static str>, unready: Option<&'static str>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let reasons = |why: Option<&'static str>| Arc::new(move || why.map(str::to_owned));
        tokio::spawn(serve(listener, Probes { unhealthy: reasons(unhealthy), unready: reasons(unready) }));
        address
    }

    /// Waits a minute at most.
    async fn in_time<T>(work: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(60), work).await.unwrap()
    }

    /// A connection that sends this.
    async fn send(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// Code and text of an answer.
    async fn get(address: SocketAddr, path: &str) -> (u16, String) {
        let mut stream = send(address, &format!("GET {path} HTTP/1.1\r\nhost: h\r\n\r\n")).await;
        let mut answer = String::new();
        in_time(stream.read_to_string(&mut answer)).await.unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    #[tokio::test]
    async fn each_path_has_its_answer() {
        let ready = start(None, None).await;
        let unready = start(None, Some("A is not served\nB is not synced yet")).await;
        let unhealthy = start(Some("C does not accept connections"), None).await;
        assert_eq!(get(ready, "/readyz").await, (200, "ok".to_owned()));
        assert_eq!(get(unready, "/readyz").await, (503, "A is not served\nB is not synced yet".to_owned()));
        assert_eq!(get(unready, "/healthz").await, (200, "ok".to_owned()), "it is alive all the same");
        assert_eq!(get(unhealthy, "/healthz").await, (503, "C does not accept connections".to_owned()));
        assert_eq!(get(ready, "/").await.0, 404);
    }

    /// Whether the server has closed a connection, without waiting for it.
    fn is_closed(stream: &TcpStream) -> bool {
        !matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    }

    /// Raises the limit of open files as far as it goes; how many connections with both ends in this process fit in.
    fn room() -> usize {
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        setrlimit(Resource::Nofile, raised).unwrap();
        usize::try_from(limit.maximum.unwrap_or(1 << 20) / 2).unwrap() - 200
    }

    /// Connections that say nothing, or only the beginning of a request; not too many of them are left open.
    #[tokio::test]
    async fn probes_are_answered_beside_thousands_of_idle_connections() {
        let room = room();
        let most = most_connections(getrlimit(Resource::Nofile).current);
        for (idle, bytes) in [(1000, ""), (3000, ""), (1000, "GET /"), (3000, "GET /")] {
            let idle = room.min(idle);
            let address = start(None, None).await;
            let connections = in_time(async {
                let mut connections = Vec::new();
                for _ in 0..idle {
                    connections.push(send(address, bytes).await);
                }
                connections
            });
            let connections = connections.await;
            assert_eq!(get(address, "/healthz").await.0, 200, "beside {idle} with {bytes:?}");
            assert_eq!(get(address, "/readyz").await.0, 200, "beside {idle} with {bytes:?}");
            let open = connections.iter().filter(|stream| !is_closed(stream)).count();
            assert!(open <= most, "{open} are open, {most} may be");
            println!("{open} of {idle} connections with {bytes:?} are open");
        }
    }

    #[test]
    fn half_of_the_open_files_are_left_for_others() {
        for (files, expected) in
            [(None, 2048), (Some(1), 1), (Some(256), 128), (Some(1024), 512), (Some(1 << 20), 2048)]
        {
            assert_eq!(most_connections(files), expected);
        }
    }
}

//! A bearer token in a file that somebody replaces while we run, as the kubelet does.
//!
//! Takes a file, gives a layer that puts the token into each request. The file is read again once a minute and at once after the
//! server has refused the token. If it cannot be read, the last token is used: the server judges it.

use std::{
    fs, io,
    path::PathBuf,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::{HeaderValue, Request, Response, StatusCode, header::AUTHORIZATION};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{Layer, Service};
use tracing::{info, warn};

/// For how long a token is used without looking at its file.
const FRESH: Duration = Duration::from_secs(60);

/// Why a file gives no token. Never quotes it.
#[derive(Debug)]
pub(super) enum TokenProblem {
    Unreadable(io::Error),
    Empty,
    Malformed,
}

/// A token that follows its file. Copies are one token.
#[derive(Clone)]
pub(super) struct BearerToken(Arc<Source>);

struct Source {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// The last token that could be read.
    header: HeaderValue,
    read_at: Instant,
    /// The server did not take it.
    is_refused: bool,
    /// The file could not be read the last time.
    is_lost: bool,
}

impl BearerToken {
    /// The token in that file, which must be there now.
    pub(super) fn of_file(path: PathBuf) -> Result<Self, TokenProblem> {
        let header = read(&path)?;
        let state = State { header, read_at: Instant::now(), is_refused: false, is_lost: false };
        Ok(Self(Arc::new(Source { path, state: Mutex::new(state) })))
    }

    /// The header for a request that is sent now.
    fn header(&self) -> HeaderValue {
        let mut state = self.0.state.lock();
        if state.is_refused || state.read_at.elapsed() >= FRESH {
            let file = self.0.path.display();
            match read(&self.0.path) {
                Ok(header) => {
                    if header != state.header {
                        info!(%file, "uses a new token");
                    }
                    (state.header, state.is_lost) = (header, false);
                }
                Err(problem) => {
                    if !state.is_lost {
                        warn!(%file, ?problem, "cannot read the token; uses the previous one");
                    }
                    state.is_lost = true;
                }
            }
            (state.read_at, state.is_refused) = (Instant::now(), false);
        }
        state.header.clone()
    }

    fn refused(&self) {
        self.0.state.lock().is_refused = true;
    }
}

fn read(path: &PathBuf) -> Result<HeaderValue, TokenProblem> {
    let text = fs::read_to_string(path).map_err(TokenProblem::Unreadable)?;
    let token = text.trim();
    if token.is_empty() {
        return Err(TokenProblem::Empty);
    }
    let header = HeaderValue::try_from(format!("Bearer {token}"));
    let mut header = header.map_err(|_| TokenProblem::Malformed)?;
    header.set_sensitive(true);
    Ok(header)
}

impl<S> Layer<S> for BearerToken {
    type Service = WithToken<S>;

    fn layer(&self, inner: S) -> WithToken<S> {
        WithToken { inner, token: self.clone() }
    }
}

/// A service whose requests carry a token.
#[derive(Clone)]
pub(super) struct WithToken<S> {
    inner: S,
    token: BearerToken,
}

impl<S, A, B> Service<Request<A>> for WithToken<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: 'static,
    B: 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<B>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<A>) -> Self::Future {
        request.headers_mut().insert(AUTHORIZATION, self.token.header());
        let token = self.token.clone();
        let answer = self.inner.call(request).inspect_ok(move |response| {
            if response.status() == StatusCode::UNAUTHORIZED {
                token.refused();
            }
        });
        answer.boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tower::{ServiceExt, service_fn};

    use super::*;

    /// Sends a request to a server that takes only this token; the token that it carried.
    async fn send(token: &BearerToken, taken: &'static str) -> String {
        let server = service_fn(move |request: Request<()>| async move {
            let header = request.headers()[AUTHORIZATION].clone();
            assert!(header.is_sensitive());
            let mut response = Response::new(header.to_str().unwrap().to_owned());
            if header != taken {
                *response.status_mut() = StatusCode::UNAUTHORIZED;
            }
            Ok::<_, Infallible>(response)
        });
        let server = server.map_future(FutureExt::boxed);
        token.layer(server).oneshot(Request::new(())).await.unwrap().into_body()
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_token_is_used_within_a_minute_and_at_once_after_a_refusal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "one\n").unwrap();
        let token = BearerToken::of_file(path.clone()).unwrap();
        fs::write(&path, "two").unwrap();
        assert_eq!(send(&token, "Bearer one").await, "Bearer one");
        tokio::time::advance(FRESH).await;
        assert_eq!(send(&token, "Bearer two").await, "Bearer two");
        fs::write(&path, "three").unwrap();
        assert_eq!(send(&token, "Bearer three").await, "Bearer two", "refused");
        assert_eq!(send(&token, "Bearer three").await, "Bearer three");
        fs::remove_file(&path).unwrap();
        tokio::time::advance(FRESH).await;
        assert_eq!(send(&token, "Bearer three").await, "Bearer three", "the last one is kept");
        fs::write(&path, "").unwrap();
        tokio::time::advance(FRESH).await;
        assert_eq!(send(&token, "Bearer three").await, "Bearer three");
        fs::write(&path, "four").unwrap();
        tokio::time::advance(FRESH).await;
        assert_eq!(send(&token, "Bearer four").await, "Bearer four");
    }
}

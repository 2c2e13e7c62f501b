//! When anything last arrived from a server, whatever it was: an answer, an event or the answer to an HTTP/2 ping.
//!
//! Takes a connector; gives one whose connections note each read. It must not look at what is read.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::Service;

/// When something last arrived on any connection of a client.
#[derive(Debug, Clone)]
pub struct Activity(Arc<Mutex<Instant>>);

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Activity {
    /// Something arrived now.
    pub(crate) fn note(&self) {
        *self.0.lock() = Instant::now();
    }

    /// When something last arrived; before the first time, when the client was made.
    pub fn last(&self) -> Instant {
        *self.0.lock()
    }
}

/// A connector whose connections note what arrives.
#[derive(Clone)]
pub(super) struct Noting<C> {
    pub(super) connector: C,
    pub(super) activity: Activity,
}

impl<C> Service<Uri> for Noting<C>
where
    C: Service<Uri>,
    C::Response: Send + 'static,
    C::Error: Send + 'static,
    C::Future: Send + 'static,
{
    type Response = NotingStream<C::Response>;
    type Error = C::Error;
    type Future = BoxFuture<'static, Result<Self::Response, C::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let activity = self.activity.clone();
        self.connector.call(uri).map_ok(|stream| NotingStream { stream, activity }).boxed()
    }
}

/// A connection that notes what arrives.
pub(super) struct NotingStream<S> {
    stream: S,
    activity: Activity,
}

impl<S: Connection> Connection for NotingStream<S> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

impl<S: Read + Unpin> Read for NotingStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if matches!(read, Poll::Ready(Ok(()))) {
            self.activity.note();
        }
        read
    }
}

impl<S: Write + Unpin> Write for NotingStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::super::over_network;

    /// Answers one request with an empty object.
    async fn answer_once(listener: TcpListener) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
    }

    #[tokio::test]
    async fn an_answer_over_the_network_is_activity_and_a_refused_connection_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kubeconfig = format!(
            "{{apiVersion: v1, kind: Config, current-context: c, users: [], \
             clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}], \
             contexts: [{{name: c, context: {{cluster: c, user: ''}}}}]}}"
        );
        let client = over_network(&kubeconfig, None, "test").await.unwrap();
        let made = client.activity().unwrap().last();
        let (_, ()) = tokio::join!(answer_once(listener), client.probe());
        let answered = client.activity().unwrap().last();
        assert!(answered > made);
        let client = over_network(&kubeconfig, None, "test").await.unwrap();
        let made = client.activity().unwrap().last();
        client.probe().await;
        assert_eq!(client.activity().unwrap().last(), made);
    }
}

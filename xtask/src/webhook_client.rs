//! Asks a webhook server on loopback as an API server does: over HTTPS, by HTTP/2 or HTTP/1.1.

use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The name in the certificates of servers on this machine.
const NAME: &str = "localhost";

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
}

/// A client of one connection.
pub enum Client {
    Http1(conn::http1::SendRequest<Full<Bytes>>),
    /// Clones share the connection, each with requests of its own.
    Http2(conn::http2::SendRequest<Full<Bytes>>),
}

/// Status and body of an answer.
pub struct Answer {
    pub code: u16,
    pub body: Bytes,
}

impl Client {
    /// Connects to a port of loopback, to a server whose certificate is of this authority, PEM.
    pub async fn connect(port: u16, authority: &str, protocol: Protocol) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        let is_h2 = protocol == Protocol::Http2;
        config.alpn_protocols = vec![if is_h2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let stream =
            TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(NAME)?, stream).await?;
        let io = TokioIo::new(stream);
        if is_h2 {
            let (client, connection) = conn::http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Ok(Self::Http2(client))
        } else {
            let (client, connection) = conn::http1::handshake(io).await?;
            tokio::spawn(connection);
            Ok(Self::Http1(client))
        }
    }

    /// Posts a review.
    pub async fn post(&mut self, path: &str, body: Bytes) -> Result<Answer> {
        let request = Request::post(format!("https://{NAME}{path}"))
            .header(header::HOST, NAME)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        let response = match self {
            Self::Http1(client) => {
                client.ready().await?;
                client.send_request(request).await?
            }
            Self::Http2(client) => {
                client.ready().await?;
                client.send_request(request).await?
            }
        };
        let code = response.status().as_u16();
        Ok(Answer { code, body: response.into_body().collect().await?.to_bytes() })
    }
}

//! A server of this process and its clients.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use capm3_admission::https::{Limits, Served, Server, TlsOptions, certified, serve};
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Name by which an API server calls the webhooks.
pub const NAME: &str = "capm3-webhook-service.capm3-system.svc";

/// A certificate for [`NAME`] and its key, PEM.
pub fn pair() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([NAME.to_owned()]).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// A server and the certificate by which it is known.
pub struct Webhooks {
    pub server: Server,
    pub certificate: String,
}

impl Webhooks {
    pub async fn start(limits: Limits) -> Self {
        let (certificate, key) = pair();
        let served = Served::new(certified(certificate.as_bytes(), key.as_bytes()).unwrap());
        Self { server: start(served, limits).await, certificate }
    }

    /// A connection that speaks this protocol.
    pub async fn connect(&self, protocol: &str) -> TlsStream<TcpStream> {
        connect(self.server.local_addr(), &self.certificate, protocol).await.unwrap()
    }
}

pub async fn start(served: Served, limits: Limits) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    serve(listener, Some(TlsOptions::default().server(served).unwrap()), capm3_admission::Webhooks, limits)
        .unwrap()
}

/// A connection to a server that is known by this certificate.
pub async fn connect(
    address: SocketAddr,
    certificate: &str,
    protocol: &str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(NAME).unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
    Ok(stream)
}

/// A client of one connection.
pub enum Client {
    Http1(conn::http1::SendRequest<Full<Bytes>>),
    Http2(conn::http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub async fn over(stream: TlsStream<TcpStream>) -> Self {
        let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        if is_h2 {
            let (client, connection) = conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            tokio::spawn(connection);
            Self::Http2(client)
        } else {
            let (client, connection) = conn::http1::handshake(io).await.unwrap();
            tokio::spawn(connection);
            Self::Http1(client)
        }
    }

    /// Posts a review; status and body of the answer.
    pub async fn post(&mut self, path: &str, body: impl Into<Bytes>) -> (u16, String) {
        let request = Request::post(format!("https://{NAME}{path}"))
            .header(header::HOST, NAME)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body.into()))
            .unwrap();
        self.send(request).await
    }

    pub async fn send(&mut self, request: Request<Full<Bytes>>) -> (u16, String) {
        let response = match self {
            Self::Http1(client) => {
                client.ready().await.unwrap();
                client.send_request(request).await.unwrap()
            }
            Self::Http2(client) => {
                client.ready().await.unwrap();
                client.send_request(request).await.unwrap()
            }
        };
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }
}

/// Sends text as it is, and gives everything that comes until the other side closes; a minute at most.
pub async fn exchange(stream: &mut TlsStream<TcpStream>, text: &[u8]) -> String {
    stream.write_all(text).await.unwrap();
    stream.flush().await.unwrap();
    until_closed(stream).await
}

pub async fn until_closed(stream: &mut TlsStream<TcpStream>) -> String {
    let mut answer = Vec::new();
    // How it is closed does not matter.
    let _end = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}

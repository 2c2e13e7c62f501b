//! Clients of the tests: with the client certificate or without, reading answers or not.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// For one request of somebody who waits for the answer: as long as kubectl waits for a handshake.
const PROBE_LIMIT: Duration = Duration::from_secs(10);
/// How long an attack goes on when everybody is there.
const ATTACK: Duration = Duration::from_secs(1);

/// Who calls.
#[derive(Clone, Copy)]
pub enum Caller {
    Authenticated,
    Unauthenticated,
}

/// How a client that does not read calls.
#[derive(Clone, Copy)]
pub enum Protocol {
    UnreadHttp1,
    UnreadHttp2,
}

/// What a client takes from the kubeconfig.
#[derive(Clone)]
pub struct TestClient {
    address: SocketAddr,
    authenticated: [TlsConnector; 2],
    unauthenticated: [TlsConnector; 2],
}

/// A connection whose answers nobody reads.
pub enum Connection {
    Http1(Box<TlsStream<TcpStream>>),
    Http2 { sender: http2::SendRequest<Full<Bytes>>, answers: Vec<http::Response<hyper::body::Incoming>> },
}

fn tls(config: &Value, caller: Caller, protocol: &str) -> TlsConnector {
    let pem = |value: &Value| BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap();
    let mut roots = RootCertStore::empty();
    let authority = pem(&config["clusters"][0]["cluster"]["certificate-authority-data"]);
    roots.add(CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let user = &config["users"][0]["user"];
    let mut tls = match caller {
        Caller::Unauthenticated => builder.with_no_client_auth(),
        Caller::Authenticated => {
            let certificate = CertificateDer::from_pem_slice(&pem(&user["client-certificate-data"])).unwrap();
            let key = PrivateKeyDer::from_pem_slice(&pem(&user["client-key-data"])).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        }
    };
    tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    TlsConnector::from(Arc::new(tls))
}

impl TestClient {
    pub fn read(kubeconfig: &str) -> Self {
        let config: Value = serde_saphyr::from_str(kubeconfig).unwrap();
        let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap();
        let both = |caller| ["http/1.1", "h2"].map(|protocol| tls(&config, caller, protocol));
        Self {
            address: server.strip_prefix("https://").unwrap().parse().unwrap(),
            authenticated: both(Caller::Authenticated),
            unauthenticated: both(Caller::Unauthenticated),
        }
    }

    async fn connect(&self, caller: Caller, protocol: Protocol) -> std::io::Result<TlsStream<TcpStream>> {
        let [http1, http2] = match caller {
            Caller::Authenticated => &self.authenticated,
            Caller::Unauthenticated => &self.unauthenticated,
        };
        let tls = match protocol {
            Protocol::UnreadHttp1 => http1,
            Protocol::UnreadHttp2 => http2,
        };
        // By its address, as kubectl does.
        let name = ServerName::from(self.address.ip());
        tls.connect(name, TcpStream::connect(self.address).await?).await
    }

    /// A connection that reads nothing but heads, and those only of HTTP/2.
    pub async fn open(&self, caller: Caller, protocol: Protocol) -> Result<Connection, String> {
        let stream = timeout(PROBE_LIMIT, self.connect(caller, protocol)).await;
        let stream = stream.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
        if matches!(protocol, Protocol::UnreadHttp1) {
            return Ok(Connection::Http1(Box::new(stream)));
        }
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(0);
        let (sender, connection) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
        tokio::spawn(connection);
        Ok(Connection::Http2 { sender, answers: Vec::new() })
    }

    /// The attack goes on for a while when everybody is there.
    pub async fn hold_on(&self) {
        tokio::time::sleep(ATTACK).await;
    }

    /// One request on a connection of its own, answered whole.
    pub async fn call(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), String> {
        let call = async {
            let stream = self
                .connect(Caller::Authenticated, Protocol::UnreadHttp2)
                .await
                .map_err(|e| e.to_string())?;
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .map_err(|e| e.to_string())?;
            tokio::spawn(connection);
            let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|e| e.to_string())?.to_bytes();
            Ok((head.status, body))
        };
        timeout(PROBE_LIMIT, call).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    /// Asks as somebody with credentials who reads the whole answer.
    pub async fn probe(&self) -> Result<(), String> {
        let request =
            Request::get("https://localhost/api/v1/namespaces/metal3").body(Full::default()).unwrap();
        let (code, body) = self.call(request).await?;
        let body: Value = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        if code == 200 && body["metadata"]["name"] == "metal3" {
            Ok(())
        } else {
            Err(format!("{code}: {body}"))
        }
    }

    pub async fn create(&self, path: &str, object: &Value) {
        let request =
            Request::post(format!("https://localhost{path}")).header("content-type", "application/json");
        let answer = self.call(request.body(Full::from(object.to_string())).unwrap()).await;
        assert_eq!(answer.map(|(code, _)| code), Ok(StatusCode::CREATED));
    }

    pub async fn patch(&self, path: &str, patch: &Value) -> StatusCode {
        let request = Request::patch(format!("https://localhost{path}"))
            .header("content-type", "application/merge-patch+json")
            .body(Full::from(patch.to_string()))
            .unwrap();
        self.call(request).await.unwrap().0
    }
}

impl Connection {
    /// Asks for something that is never read.
    pub async fn ask(&mut self, path: &str) -> Result<(), String> {
        match self {
            Self::Http1(stream) => {
                let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
                stream.write_all(request.as_bytes()).await.map_err(|e| e.to_string())?;
                stream.flush().await.map_err(|e| e.to_string())
            }
            Self::Http2 { sender, answers } => {
                let request = Request::get(format!("https://localhost{path}")).body(Full::default()).unwrap();
                let answer = timeout(PROBE_LIMIT, sender.send_request(request)).await;
                answers.push(answer.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?);
                Ok(())
            }
        }
    }

    /// Whether the server has closed it.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Http1(_) => false,
            Self::Http2 { sender, .. } => sender.is_closed(),
        }
    }
}

//! The listener: who gets in, by which protocol, how many, and how it ends.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use capm3_apiserver::https::{self, ListenError, ListenOptions, Listener};
use common::*;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// What a client takes from the kubeconfig.
struct Config(Value);

impl Config {
    fn of(listener: &Listener) -> Self {
        Self(serde_saphyr::from_str(&listener.kubeconfig()).unwrap())
    }

    fn pem(value: &Value) -> Vec<u8> {
        BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap()
    }

    fn token(&self) -> String {
        format!("Bearer {}", self.0["users"][1]["user"]["token"].as_str().unwrap())
    }

    fn tls(&self, with_certificate: bool, protocol: &str) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        let authority = Self::pem(&self.0["clusters"][0]["cluster"]["certificate-authority-data"]);
        roots.add(CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let user = &self.0["users"][0]["user"];
        let mut config = if with_certificate {
            let certificate =
                CertificateDer::from_pem_slice(&Self::pem(&user["client-certificate-data"])).unwrap();
            let key = PrivateKeyDer::from_pem_slice(&Self::pem(&user["client-key-data"])).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        TlsConnector::from(Arc::new(config))
    }
}

async fn connect(
    listener: &Listener,
    config: &Config,
    with_certificate: bool,
    protocol: &str,
) -> Option<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(listener.local_addr()).await.ok()?;
    let name = ServerName::try_from("localhost").unwrap();
    config.tls(with_certificate, protocol).connect(name, stream).await.ok()
}

fn request(path: &str, token: Option<&str>) -> Request<Full<Bytes>> {
    let mut request = Request::get(path).header("host", "localhost");
    if let Some(token) = token {
        request = request.header("authorization", token);
    }
    request.body(Full::default()).unwrap()
}

/// Sends one request on a connection of its own and waits for the head of the answer.
async fn begin(stream: TlsStream<TcpStream>, request: Request<Full<Bytes>>) -> Option<Response<Incoming>> {
    let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let io = TokioIo::new(stream);
    if is_h2 {
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.ok()?;
        tokio::spawn(connection);
        let (mut parts, body) = request.into_parts();
        parts.uri = format!("https://localhost{}", parts.uri).parse().unwrap();
        sender.send_request(Request::from_parts(parts, body)).await.ok()
    } else {
        let (mut sender, connection) = http1::handshake(io).await.ok()?;
        tokio::spawn(connection);
        sender.send_request(request).await.ok()
    }
}

/// Sends one request on a connection of its own.
async fn ask(stream: TlsStream<TcpStream>, request: Request<Full<Bytes>>) -> Option<(u16, Value)> {
    let response = begin(stream, request).await?;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.ok()?.to_bytes();
    Some((code, serde_json::from_slice(&body).unwrap_or_default()))
}

fn listen(connections: usize) -> Listener {
    https::serve(server(), ListenOptions { connections, ..ListenOptions::default() }).unwrap()
}

const NAMESPACE: &str = "/api/v1/namespaces/default";

#[tokio::test]
async fn a_certificate_or_a_token_opens_on_both_protocols_and_nothing_else_does() {
    let listener = listen(16);
    let config = Config::of(&listener);
    let token = config.token();
    for protocol in ["http/1.1", "h2"] {
        let table = [
            (true, None, 200),
            (false, Some(token.as_str()), 200),
            (false, None, 401),
            (false, Some("Bearer wrong"), 401),
        ];
        for (with_certificate, token, code) in table {
            let stream = connect(&listener, &config, with_certificate, protocol).await.unwrap();
            let (found, body) = ask(stream, request(NAMESPACE, token)).await.unwrap();
            assert_eq!(found, code, "{protocol} {with_certificate} {token:?}: {body}");
            let kind = if code == 200 { "Namespace" } else { "Status" };
            assert_eq!(body["kind"], kind);
        }
    }
}

#[tokio::test]
async fn the_certificate_of_another_listener_does_not_open() {
    let (listener, other) = (listen(4), listen(4));
    let (mut config, foreign) = (Config::of(&listener), Config::of(&other));
    config.0["users"] = foreign.0["users"].clone();
    let stream = connect(&listener, &config, true, "http/1.1").await;
    let answer = match stream {
        Some(stream) => ask(stream, request(NAMESPACE, None)).await,
        None => None,
    };
    assert_eq!(answer, None);
}

#[tokio::test]
async fn a_taken_port_and_a_public_address_are_different_errors() {
    let listener = listen(4);
    let taken = ListenOptions { address: listener.local_addr(), ..ListenOptions::default() };
    assert!(matches!(https::serve(server(), taken), Err(ListenError::AddressInUse(_))));
    let public = ListenOptions { address: "0.0.0.0:0".parse().unwrap(), ..ListenOptions::default() };
    assert!(matches!(https::serve(server(), public), Err(ListenError::NotLoopback(_))));
}

#[tokio::test]
async fn connections_that_send_nothing_do_not_keep_others_out() {
    let listener = listen(32);
    let config = Config::of(&listener);
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(TcpStream::connect(listener.local_addr()).await.unwrap());
    }
    for _ in 0..40 {
        // Connections that could speak but do not.
        idle.push(connect(&listener, &config, true, "h2").await.unwrap().into_inner().0);
    }
    let stream = connect(&listener, &config, true, "h2").await.unwrap();
    assert_eq!(ask(stream, request(NAMESPACE, None)).await.unwrap().0, 200);
}

/// For what happens at once, unless somebody else is waited for.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn refusals_that_nobody_reads_hold_no_place() {
    let listener = listen(4);
    let config = Config::of(&listener);
    let mut unread = Vec::new();
    for number in 0..40 {
        let refused = tokio::time::timeout(SOON, async {
            let stream = connect(&listener, &config, false, "h2").await.unwrap();
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.initial_stream_window_size(0);
            let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
            tokio::spawn(connection);
            let request =
                Request::get(format!("https://localhost{NAMESPACE}")).body(Full::<Bytes>::default()).unwrap();
            (sender.send_request(request).await.unwrap(), sender)
        });
        let (response, sender) = refused.await.unwrap_or_else(|_| panic!("{number} is kept out"));
        assert_eq!(response.status().as_u16(), 401);
        unread.push((response, sender));
    }
    let known = async {
        let stream = connect(&listener, &config, true, "h2").await.unwrap();
        ask(stream, request(NAMESPACE, None)).await.unwrap().0
    };
    assert_eq!(tokio::time::timeout(SOON, known).await, Ok(200));
    assert!(unread.iter().any(|(_, sender)| sender.is_closed()), "some made room");
}

#[tokio::test]
async fn a_body_that_is_too_large_gets_a_status() {
    let listener = listen(4);
    let config = Config::of(&listener);
    for protocol in ["http/1.1", "h2"] {
        let stream = connect(&listener, &config, true, protocol).await.unwrap();
        let body = Full::from(vec![b' '; 20 * 1024 * 1024]);
        let request = Request::post("/api/v1/namespaces").header("host", "localhost").body(body).unwrap();
        let (code, status) = ask(stream, request).await.unwrap();
        assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")), "{protocol}");
        let stream = connect(&listener, &config, true, protocol).await.unwrap();
        assert_eq!(ask(stream, self::request(NAMESPACE, None)).await.unwrap().0, 200);
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_gets_a_status() {
    let listener = listen(4);
    let config = Config::of(&listener);
    for protocol in ["http/1.1", "h2"] {
        for (bytes, code) in [(60_000, 200), (70_000, 431)] {
            let stream = connect(&listener, &config, true, protocol).await.unwrap();
            let mut request = request(NAMESPACE, None);
            request.headers_mut().insert("x-large", "x".repeat(bytes).parse().unwrap());
            let (found, body) = ask(stream, request).await.unwrap();
            assert_eq!(found, code, "{protocol} {bytes}");
            assert_eq!(body["kind"], if code == 200 { "Namespace" } else { "Status" }, "{protocol} {body}");
        }
    }
}

#[tokio::test]
async fn head_gets_headers_only_on_both_protocols_even_without_credentials() {
    let listener = listen(4);
    let config = Config::of(&listener);
    for protocol in ["http/1.1", "h2"] {
        for (with_certificate, path, code) in
            [(true, "/healthz", 200), (true, NAMESPACE, 405), (false, NAMESPACE, 401)]
        {
            let stream = connect(&listener, &config, with_certificate, protocol).await.unwrap();
            let mut request = request(path, None);
            *request.method_mut() = Method::HEAD;
            let response = begin(stream, request).await.unwrap();
            assert_eq!(response.status().as_u16(), code, "{protocol} {path}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert!(body.is_empty(), "{protocol} {path}: {body:?}");
        }
    }
}

#[tokio::test]
async fn stopping_ends_watches_in_an_orderly_way_and_frees_the_port() {
    let listener = listen(4);
    let address = listener.local_addr();
    let config = Config::of(&listener);
    let stream = connect(&listener, &config, true, "h2").await.unwrap();
    let watch = begin(stream, request("/api/v1/namespaces?watch=true", None)).await.unwrap();
    assert_eq!(watch.status().as_u16(), 200);
    listener.stop().await;
    let events = tokio::time::timeout(Duration::from_secs(30), watch.into_body().collect()).await.unwrap();
    assert!(events.is_ok(), "the watch ends in an orderly way");
    let again = https::serve(server(), ListenOptions { address, ..ListenOptions::default() });
    assert_eq!(again.unwrap().local_addr(), address);
}

#[tokio::test]
async fn dropping_a_listener_stops_it() {
    let listener = listen(4);
    let (address, ended) = (listener.local_addr(), listener.ended());
    drop(listener);
    tokio::time::timeout(Duration::from_secs(30), ended).await.expect("it ends");
    assert!(TcpStream::connect(address).await.is_err(), "it still listens");
}

#[tokio::test]
async fn a_kubeconfig_leads_to_the_management_api_or_to_one_cluster() {
    let server = server();
    server.add_cluster("metal3/c1");
    let listener = https::serve(server, ListenOptions::default()).unwrap();
    let url = |text: &str| {
        serde_saphyr::from_str::<Value>(text).unwrap()["clusters"][0]["cluster"]["server"].clone()
    };
    let base = format!("https://{}", listener.local_addr());
    assert_eq!(url(&listener.kubeconfig()), json!(base));
    assert_eq!(
        url(&listener.kubeconfig_of_cluster("metal3/c1")),
        json!(format!("{base}/clusters/metal3/c1"))
    );
    // A namespace may look like a number or a truth value, and is text anyway.
    for (text, namespace) in [(listener.kubeconfig(), "default"), (listener.kubeconfig_in("123"), "123")] {
        let config: Value = serde_saphyr::from_str(&text).unwrap();
        let contexts = config["contexts"].as_array().unwrap();
        let of: Vec<&Value> = contexts.iter().map(|context| &context["context"]["namespace"]).collect();
        assert_eq!(of, [namespace, namespace]);
    }
    let with: Value =
        serde_saphyr::from_str(&listener.kubeconfig_with("metal3", &[("c1", "metal3/c1")])).unwrap();
    let context = with["contexts"].as_array().unwrap().iter().find(|it| it["name"] == "c1").unwrap();
    assert_eq!(context["context"], json!({"cluster": "c1", "user": "capm3"}));
    let clusters = with["clusters"].as_array().unwrap();
    let cluster = clusters.iter().find(|it| it["name"] == "c1").unwrap();
    assert_eq!(cluster["cluster"]["server"], json!(format!("{base}/clusters/metal3/c1")));
    assert_eq!(with["current-context"], "capm3");
    let config = Config::of(&listener);
    let stream = connect(&listener, &config, true, "h2").await.unwrap();
    let (code, _) = ask(stream, request("/clusters/metal3/c1/api/v1/nodes", None)).await.unwrap();
    assert_eq!(code, 200);
}

//! Metrics and the log level of a manager: who may see them over HTTPS, and what everybody sees without it.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use capm3_api::v1beta2::Metal3Cluster;
use capm3_engine::{ObjectKey, ResourceKind, client::over_network};
use capm3_install::rights::{Fails, Right, Says, TABLE, Without};
use capm3_lab::faults::Access;
use rustls::{
    ALL_VERSIONS, ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
    SupportedProtocolVersion,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
    version::{TLS12, TLS13},
};
use serde_json::json;

use crate::{
    common::{Up, repository},
    process::Manager,
    site::Site,
};

/// Accepts any certificate, as a scraper with `insecure_skip_verify` does: the manager signs its own.
#[derive(Debug)]
struct Anybody(CryptoProvider);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Code, head and body of the answer.
struct Answer {
    code: u16,
    head: String,
    body: String,
}

fn exchange(mut stream: impl Read + Write, request: &str) -> Answer {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { code, head: head.to_lowercase(), body: body.to_owned() }
}

fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", address.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

fn https(address: SocketAddr, request: &str) -> Answer {
    exchange(encrypted(address, ALL_VERSIONS), request)
}

/// A connection of a client that speaks these versions of TLS.
fn encrypted(
    address: SocketAddr,
    versions: &[&'static SupportedProtocolVersion],
) -> StreamOwned<ClientConnection, TcpStream> {
    let provider = ring::default_provider();
    let config = ClientConfig::builder_with_provider(Arc::new(provider.clone()));
    let config = config.with_protocol_versions(versions).unwrap().dangerous();
    let config = config.with_custom_certificate_verifier(Arc::new(Anybody(provider))).with_no_client_auth();
    let name = ServerName::try_from("capm3-diagnostics").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(connection, tcp(address))
}

fn request(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

fn token(up: &Up) -> String {
    token_of(&std::fs::read_to_string(&up.kubeconfig).unwrap())
}

/// The header with the token of a kubeconfig.
fn token_of(kubeconfig: &str) -> String {
    let token = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token: ")).unwrap();
    format!("authorization: Bearer {token}\r\n")
}

/// Changes the Metal3Cluster, so that it is reconciled.
fn label_cluster(up: &Up) {
    let text = std::fs::read_to_string(&up.kubeconfig).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = over_network(&text, None, "test").await.unwrap();
        let clusters = ResourceKind::of::<Metal3Cluster>();
        let patch = json!({"metadata": {"labels": {"changed-by": "a-test"}}});
        client.merge_patch(&clusters, &ObjectKey::new("metal3", "my-cluster"), None, &patch).await.unwrap();
    });
}

/// The value of a series.
fn value(metrics: &str, series: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

/// Metrics are served over HTTPS to a user whom the API server knows and lets `get` the path, and to nobody else; there is no
/// profiler.
#[test]
fn op143_metrics_are_shown_to_a_user_who_may_see_them_and_to_nobody_else() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let manager = Manager::start(&up);
    manager.until_readyz(200, "ready");
    let at = manager.diagnostics.unwrap();
    let token = token(&up);
    let scrape = |headers: &str| https(at, &request("GET /metrics", headers, ""));
    for headers in ["", "authorization: Bearer wrong\r\n", "authorization: Basic dTpw\r\n"] {
        let refused = scrape(headers);
        assert_eq!(refused.code, 401, "{headers}");
        assert!(refused.head.contains("www-authenticate: bearer"), "{}", refused.head);
        assert!(!refused.body.contains("capm3_"), "{}", refused.body);
    }
    let metrics = scrape(&token);
    assert_eq!(metrics.code, 200, "{}", metrics.body);
    assert!(metrics.head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"));
    assert!(value(&metrics.body, "capm3_build_info{version=\"0.1.0\"}").is_some(), "{}", metrics.body);
    assert_eq!(value(&metrics.body, "capm3_watch_healthy{kind=\"BareMetalHost\"}"), Some(1.0));
    let lists = metrics
        .body
        .lines()
        .filter(|it| it.starts_with("rest_client_requests_total{code=\"200\",method=\"GET\","));
    assert_eq!(lists.count(), 1, "{}", metrics.body);
    let open = scrape(&format!("{token}accept: application/openmetrics-text; version=1.0.0\r\n"));
    assert!(open.head.contains("content-type: application/openmetrics-text; version=1.0.0"));
    assert!(open.body.ends_with("# EOF\n"));
    assert_eq!(https(at, &request("POST /metrics", &token, "")).code, 405);
    assert_eq!(https(at, &request("GET /debug/pprof/", &token, "")).code, 404);
    if let Some(file) = std::env::var_os("CAPM3_SCRAPE") {
        std::fs::write(file, metrics.body).unwrap();
    }
    let logs = format!("{:?}", manager.logs.lock().unwrap());
    assert!(!logs.contains(token.trim().rsplit(' ').next().unwrap()), "a token is logged");
}

/// Without the right to ask whose a token is, or what its user may, nobody is shown metrics and the log says so; each row of
/// the table for this.
#[test]
fn without_a_right_to_ask_about_users_metrics_are_shown_to_nobody_until_it_is_granted() {
    let rights: Vec<&'static Right> =
        TABLE.iter().filter(|it| it.without.fails == Fails::Diagnostics).collect();
    let resources: Vec<&str> = rights.iter().map(|right| right.resource).collect();
    assert_eq!(resources, ["tokenreviews", "subjectaccessreviews"]);
    let site = Site::start();
    let token = token_of(&site.users_kubeconfig());
    for right in rights {
        let Right { group, resource, without: Without { says, .. }, .. } = right;
        site.allow(move |it| (it.group.as_str(), it.resource.as_str()) != (*group, *resource));
        let manager = Manager::start_at(site.kubeconfig(), &["--webhook-port=0"]);
        let scrape = || https(manager.diagnostics.unwrap(), &request("GET /metrics", &token, ""));
        site.take_refused();
        let refused = scrape();
        assert_eq!(refused.code, 503, "without {resource}: {}", refused.body);
        assert!(!refused.body.contains("capm3_"), "{}", refused.body);
        let asked = site.take_refused();
        let is_it = |it: &Access| (it.verb.as_str(), it.resource.as_str()) == ("create", *resource);
        assert!(asked.iter().any(is_it), "{resource} is not asked for: {asked:?}");
        let Says::Log(text) = says else { panic!("{says}") };
        manager.until_entry(resource, |entry| {
            let fields = &entry["fields"];
            let cause = fields["cause"].as_str().unwrap_or_default();
            fields["message"] == *text && entry["level"] == "WARN" && cause.contains(resource)
        });
        site.allow(|_| true);
        let shown = scrape();
        assert_eq!(shown.code, 200, "with {resource}: {}", shown.body);
        assert!(shown.body.contains("\ncapm3_"), "{}", shown.body);
    }
}

/// The log level is changed while the manager runs, by a user who may `put` the path.
#[test]
fn op143_the_log_level_of_a_running_manager_is_set_by_put() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let manager = Manager::start(&up);
    manager.until_readyz(200, "ready");
    let at = manager.diagnostics.unwrap();
    let token = token(&up);
    let put = |headers: &str, body: &str| https(at, &request("PUT /debug/flags/v", headers, body));
    assert_eq!(put("", "4").code, 401);
    assert_eq!(put(&token, "loud").code, 400);
    assert_eq!(put(&token, "00000000000000000004").code, 413, "no number is that long");
    let debug = |manager: &Manager| {
        manager.logs.lock().unwrap().iter().filter(|entry| entry["level"] == "DEBUG").count()
    };
    assert_eq!(debug(&manager), 0);
    let answer = put(&token, "4");
    assert_eq!((answer.code, answer.body.as_str()), (200, "verbosity 4: logs info,capm3=debug\n"));
    let clock = capm3_engine::clock::Stopwatch::start();
    label_cluster(&up);
    while debug(&manager) == 0 {
        assert!(clock.elapsed() < Duration::from_secs(90), "nothing is logged at debug");
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert_eq!(put(&token, "0").code, 200);
}

/// The lowest version of TLS and the ciphers count for diagnostics as for webhooks.
#[test]
fn op143_diagnostics_take_the_lowest_version_of_tls_and_the_ciphers_of_the_flags() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let request = request("GET /metrics", "", "");
    let newer = Manager::start_with(&up, &["--webhook-port=0", "--tls-min-version=VersionTLS13"]);
    let at = newer.diagnostics.unwrap();
    assert_eq!(exchange(encrypted(at, &[&TLS13]), &request).code, 401);
    let refused = encrypted(at, &[&TLS12]).write_all(request.as_bytes()).unwrap_err().to_string();
    assert!(refused.contains("ProtocolVersion"), "{refused}");
    let suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";
    let suites = format!("--tls-cipher-suites={suite}");
    let one = Manager::start_with(&up, &["--webhook-port=0", "--tls-min-version=VersionTLS12", &suites]);
    let mut stream = encrypted(one.diagnostics.unwrap(), &[&TLS12]);
    stream.write_all(request.as_bytes()).unwrap();
    assert_eq!(format!("{:?}", stream.conn.negotiated_cipher_suite().unwrap().suite()), suite);
}

/// With `--insecure-diagnostics` metrics are served over plain HTTP to everybody, and nothing else is.
#[test]
fn op143_insecure_diagnostics_show_metrics_to_everybody_and_nothing_else() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let manager = Manager::start_with(&up, &["--webhook-port=0", "--insecure-diagnostics"]);
    let at = manager.diagnostics.unwrap();
    let metrics = exchange(tcp(at), &request("GET /metrics", "", ""));
    assert_eq!(metrics.code, 200);
    assert!(
        metrics
            .body
            .contains("\ncontroller_runtime_max_concurrent_reconciles{controller=\"metal3machine\"} 10")
    );
    assert_eq!(exchange(tcp(at), &request("PUT /debug/flags/v", "", "4")).code, 404);
}

#[test]
fn diagnostics_that_cannot_be_served_end_the_manager_and_0_serves_none() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let first = Manager::start(&up);
    let taken = format!("--diagnostics-address={}", first.diagnostics.unwrap());
    let arguments = ["manager", "--health-addr=127.0.0.1:0", "--webhook-port=0", &taken, "--kubeconfig"];
    let arguments: Vec<&str> = arguments.into_iter().chain([up.kubeconfig.as_str()]).collect();
    let run = crate::common::capm3(&arguments, "");
    assert_eq!(run.code, 3, "{}", run.text());
    assert!(run.stderr.contains("choose another port, or 0 to serve no diagnostics"), "{}", run.text());
    let none = Manager::start_with(&up, &["--webhook-port=0", "--diagnostics-address=0"]);
    assert_eq!(none.diagnostics, None);
}

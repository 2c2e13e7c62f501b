//! The webhooks of a manager: what an API server asks over HTTPS, and how a manager that cannot serve them ends.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::Arc,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_engine::{ApiClient, ObjectKey, ResourceKind, client::over_network, clock::Stopwatch};
use rcgen::{CertificateParams, KeyPair};
use rustix::process::{Signal, kill_process};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};

use crate::{
    common::{self, Up, repository},
    process::Manager,
    site::Site,
};

const NAME: &str = "capm3-webhook-service.capm3-system.svc";

/// Puts a certificate and its key into a folder.
fn certificate(folder: &Path) -> CertificateDer<'static> {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([NAME.to_owned()]).unwrap().self_signed(&key).unwrap();
    fs::write(folder.join("tls.crt"), certificate.pem()).unwrap();
    fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
    certificate.der().clone()
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A connection of an API server that trusts this certificate.
fn connect(port: u16, trusted: &CertificateDer<'static>) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from(NAME).unwrap()).unwrap();
    StreamOwned::new(connection, TcpStream::connect(("127.0.0.1", port)).unwrap())
}

/// Whether the server shows this certificate.
fn shows(port: u16, trusted: &CertificateDer<'static>) -> bool {
    let StreamOwned { mut conn, mut sock } = connect(port, trusted);
    conn.complete_io(&mut sock).is_ok()
}

/// Posts a review; status and body of the answer.
fn post(port: u16, trusted: &CertificateDer<'static>, path: &str, review: &Value) -> (u16, String) {
    let mut stream = connect(port, trusted);
    let body = review.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {NAME}\r\ncontent-type: application/json\r\n");
    write!(stream, "{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

fn ask(port: u16, trusted: &CertificateDer<'static>, path: &str, review: &Value) -> Value {
    let (code, body) = post(port, trusted, path, review);
    assert_eq!(code, 200, "{body}");
    serde_json::from_str::<Value>(&body).unwrap()["response"].clone()
}

fn cluster(host: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Cluster",
        "metadata": {"name": "c1", "namespace": "ns1"},
        "spec": {"controlPlaneEndpoint": {"host": host, "port": 6443}},
    })
}

#[test]
fn a_manager_answers_reviews_over_https_until_it_stops() {
    let up = Up::start(&repository().join("examples/three-racks"));
    let folder = tempfile::tempdir().unwrap();
    let trusted = certificate(folder.path());
    let port = free_port();
    let flags = [format!("--webhook-port={port}"), format!("--webhook-cert-dir={}", folder.path().display())];
    let flags: Vec<&str> =
        flags.iter().map(String::as_str).chain(["--tls-min-version=VersionTLS13"]).collect();
    let manager = Manager::start_with(&up, &flags);
    let admission = |object| {
        let request = json!({"uid": "u", "operation": "CREATE", "object": object});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    };
    let path = "/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3cluster";
    assert_eq!(ask(port, &trusted, path, &admission(cluster("h")))["allowed"], true);
    let refused = ask(port, &trusted, path, &admission(cluster("")));
    assert_eq!((&refused["allowed"], &refused["status"]["code"]), (&json!(false), &json!(422)));
    let older = "infrastructure.cluster.x-k8s.io/v1beta1";
    let request = json!({"uid": "u", "desiredAPIVersion": older, "objects": [cluster("h")]});
    let conversion =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request});
    let converted = ask(port, &trusted, "/convert", &conversion);
    assert_eq!(converted["convertedObjects"][0]["apiVersion"], older, "{converted}");
    assert_eq!(post(port, &trusted, "/", &json!({})).0, 404);
    manager.until_readyz(200, "ready with webhooks");
    assert_eq!(manager.get("/healthz"), (200, "ok".to_owned()));
    kill_process(manager.pid(), Signal::TERM).unwrap();
    assert_eq!(manager.ended(), (Some(0), String::new()));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

/// Reads with a client of the cluster.
fn read<T>(up: &Up, ask: impl AsyncFnOnce(ApiClient) -> T) -> T {
    let text = fs::read_to_string(&up.kubeconfig).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { ask(over_network(&text, None, "test").await.unwrap()).await })
}

#[test]
fn a_manager_that_makes_its_own_certificates_is_trusted_by_the_authority_that_it_writes() {
    let up = Up::start(&repository().join("examples/three-racks"));
    read(&up, async |client| {
        let namespace = json!({"metadata": {"name": "capm3-system"}});
        client.create(&ResourceKind::namespaces(), "", namespace).await.unwrap();
    });
    let port = free_port();
    let port_flag = format!("--webhook-port={port}");
    let flags = [port_flag.as_str(), "--self-managed-certs", "--webhook-service-namespace=capm3-system"];
    let manager = Manager::start_with(&up, &flags);
    manager.until_readyz(200, "ready with its own certificate");
    let key = ObjectKey::new("", "metal3clusters.infrastructure.cluster.x-k8s.io");
    let clock = Stopwatch::start();
    let bundle = loop {
        let definition =
            read(&up, async |client| client.get::<Value>(&ResourceKind::definitions(), &key).await);
        let config = &definition.unwrap().unwrap()["spec"]["conversion"]["webhook"]["clientConfig"];
        if let Some(bundle) = config["caBundle"].as_str() {
            break bundle.to_owned();
        }
        assert!(clock.elapsed() < Duration::from_secs(90), "{config}");
        std::thread::park_timeout(Duration::from_millis(50));
    };
    let trusted = CertificateDer::from_pem_slice(&BASE64_STANDARD.decode(bundle).unwrap()).unwrap();
    let request = json!({"uid": "u", "operation": "CREATE", "object": cluster("h")});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let path = "/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3cluster";
    assert_eq!(ask(port, &trusted, path, &review)["allowed"], true);
    let logs = manager.logs.lock().unwrap().iter().map(Value::to_string).collect::<String>();
    assert!(!logs.contains("PRIVATE KEY") && !logs.contains("BEGIN"), "{logs}");
}

/// A certificate whose files are replaced is served from then on, by the same process and without a moment unready.
#[test]
fn op144_a_replaced_certificate_is_served_without_a_restart() {
    let site = Site::start();
    let folder = tempfile::tempdir().unwrap();
    let first = certificate(folder.path());
    let port = free_port();
    let flags = [format!("--webhook-port={port}"), format!("--webhook-cert-dir={}", folder.path().display())];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let manager = Manager::start_at(site.kubeconfig(), &flags);
    manager.until_readyz(200, "ready with the first certificate");
    assert!(shows(port, &first));
    let second = certificate(folder.path());
    let clock = Stopwatch::start();
    while !shows(port, &second) {
        assert_eq!(manager.get("/readyz"), (200, "ok".to_owned()));
        assert!(clock.elapsed() < Duration::from_secs(90), "the certificate is not replaced");
        std::thread::park_timeout(Duration::from_millis(200));
    }
    assert!(!shows(port, &first));
    assert_eq!(manager.get("/healthz"), (200, "ok".to_owned()));
    kill_process(manager.pid(), Signal::TERM).unwrap();
    assert_eq!(manager.ended(), (Some(0), String::new()));
}

/// Runs a manager that does not get far enough to ask its cluster.
fn run(flags: &[&str]) -> common::Run {
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    let text = "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: \
        'http://127.0.0.1:1'}}], contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}]}";
    fs::write(kubeconfig.path(), text).unwrap();
    let path = kubeconfig.path().to_str().unwrap();
    let arguments = ["manager", "--health-addr=127.0.0.1:0", "--diagnostics-address=0", "--kubeconfig", path];
    common::capm3(&arguments.iter().chain(flags).copied().collect::<Vec<_>>(), "")
}

/// Stands for what is in a key that is no PEM: it must be in no text.
const SECRET: &str = "the-bytes-of-a-key";

/// The flag of a folder with a certificate and its key, of which one file is changed.
fn spoiled(file: &str, change: impl Fn(&str) -> String) -> (String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let path = folder.path().join(file);
    fs::write(&path, change(&fs::read_to_string(&path).unwrap())).unwrap();
    (format!("--webhook-cert-dir={}", folder.path().display()), folder)
}

#[test]
fn a_manager_that_cannot_serve_webhooks_says_why_and_the_ways_out() {
    let taken = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap();
    let taken = format!("--webhook-port={}", taken.local_addr().unwrap().port());
    let empty = tempfile::tempdir().unwrap();
    let no_certificate = format!("--webhook-cert-dir={}", empty.path().display());
    let full = tempfile::tempdir().unwrap();
    certificate(full.path());
    let with_certificate = format!("--webhook-cert-dir={}", full.path().display());
    let (damaged, damaged_dir) = spoiled("tls.crt", |pem| pem.replace("MII", "!!!"));
    let (keyless, keyless_dir) = spoiled("tls.key", |_| SECRET.to_owned());
    let (swapped, swapped_dir) = spoiled("tls.key", |_| KeyPair::generate().unwrap().serialize_pem());
    let ways = "; name the folder of tls.crt and tls.key by --webhook-cert-dir DIR, have certificates made by \
        --self-managed-certs, or serve no webhooks with --webhook-port=0";
    let table = [
        (vec![no_certificate.as_str()], 3, "error: webhooks need a certificate: "),
        (vec![no_certificate.as_str()], 3, "tls.crt: No such file or directory"),
        (vec![no_certificate.as_str()], 3, "or serve no webhooks with --webhook-port=0"),
        (vec![&damaged], 3, "error: webhooks need a certificate: "),
        (vec![&damaged], 3, "the certificate cannot be read"),
        (vec![&damaged], 3, ways),
        (vec![&keyless], 3, "the private key cannot be read: expected a block BEGIN PRIVATE KEY"),
        (vec![&keyless], 3, ways),
        (vec![&swapped], 3, "certificate and private key cannot be used together: "),
        (vec![&swapped], 3, ways),
        (vec![&taken, &with_certificate], 3, "choose another port, or 0 to serve no webhooks"),
        (vec!["--tls-min-version=TLS12"], 2, "--tls-min-version: 'TLS12' cannot be used: use one of "),
        (vec!["--tls-cipher-suites=RC4"], 2, "--tls-cipher-suites: 'RC4' cannot be used: use one of "),
        (vec!["--webhook-port=many"], 2, "expected a whole number"),
    ];
    for (flags, code, text) in table {
        let run = run(&flags);
        assert_eq!(run.code, code, "{flags:?} {}", run.text());
        assert!(run.stderr.contains(text), "{flags:?} {}", run.text());
        assert!(!run.text().contains(SECRET) && !run.text().contains("-----"), "{flags:?} {}", run.text());
        let errors = run.stderr.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!(errors, 1, "{flags:?} {}", run.text());
    }
    drop([damaged_dir, keyless_dir, swapped_dir]);
}

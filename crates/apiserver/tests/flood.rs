//! A flood from a second process: malformed requests, bodies without end, a crowd of idle connections. Every request
//! that can be answered gets a Status, memory stays bounded, and service goes on.
//!
//! The second process is this test binary again; an environment variable makes it the crowd.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};

use capm3_apiserver::https::{self, ListenOptions};
use common::server;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Where the crowd finds the kubeconfig.
const CROWD: &str = "CAPM3_TEST_CROWD";
const IDLE_CONNECTIONS: usize = 5_000;
/// How often the whole table is sent.
const ROUNDS: usize = 20;
/// Each body without end.
const HUGE_BODY: usize = 64 * 1024 * 1024;
/// What the server's process may grow by while all of it comes in: less than a single one of the huge bodies.
const GROWTH_KB: u64 = 48 * 1024;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Request line, headers, body; the code that is due.
fn malformed() -> Vec<(String, &'static str, String, u16)> {
    let json = "content-type: application/json\r\n";
    let merge = "content-type: application/merge-patch+json\r\n";
    let row = |line: &str, headers, body: &str, code| (line.to_owned(), headers, body.to_owned(), code);
    vec![
        row(&format!("POST {MAPS}"), json, "{", 400),
        row(&format!("POST {MAPS}"), json, "[1, 2]", 400),
        row(&format!("POST {MAPS}"), json, &"[".repeat(100_000), 400),
        row(&format!("POST {MAPS}"), json, "\u{0}\u{1}", 400),
        row(&format!("POST {MAPS}"), "content-type: text/html\r\n", "<p>", 415),
        row(&format!("POST {MAPS}"), "content-type: ;;;\r\n", "x", 400),
        row(&format!("PATCH {MAPS}/none"), merge, "{", 400),
        row(&format!("BREW {MAPS}"), "", "", 405),
        row(&format!("PUT {MAPS}"), json, "{}", 405),
        row(&format!("GET {MAPS}?limit=many"), "", "", 400),
        row(&format!("GET {MAPS}?watch=1&resourceVersion=x"), "", "", 400),
        row(&format!("GET {MAPS}?continue=x"), "", "", 400),
        row(&format!("GET {MAPS}?labelSelector=%28%28"), "", "", 400),
        row("GET /../../etc/passwd", "", "", 404),
        row("GET /api/v1/namespaces/../../secrets", "", "", 404),
        row("GET /api/v1/namespaces/%2e%2e/configmaps/x", "", "", 404),
        row("GET //api//v9", "", "", 404),
        row("GET /%ff%fe", "", "", 404),
        row(&format!("GET {MAPS}/%00"), "", "", 404),
        row(&format!("GET /{}", "a/".repeat(8_000)), "", "", 404),
    ]
}

/// What the crowd takes from the kubeconfig.
struct TestClient {
    address: SocketAddr,
    token: String,
    tls: TlsConnector,
}

impl TestClient {
    fn read(kubeconfig: &str) -> Self {
        let config: Value = serde_saphyr::from_str(kubeconfig).unwrap();
        let cluster = &config["clusters"][0]["cluster"];
        let address = cluster["server"].as_str().unwrap().strip_prefix("https://").unwrap();
        let authority = cluster["certificate-authority-data"].as_str().unwrap();
        let authority = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, authority).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let tls = builder.unwrap().with_root_certificates(roots).with_no_client_auth();
        Self {
            address: address.parse().unwrap(),
            token: config["users"][1]["user"]["token"].as_str().unwrap().to_owned(),
            tls: TlsConnector::from(Arc::new(tls)),
        }
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        self.tls.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
    }

    fn head(&self, line: &str, headers: &str) -> String {
        let token = &self.token;
        format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n{headers}"
        )
    }

    /// Code and kind of the answer to a whole request.
    async fn ask(&self, line: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect().await;
        let request = format!("{}content-length: {}\r\n\r\n{body}", self.head(line, headers), body.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        answer(&mut stream).await.unwrap_or_default()
    }

    /// Sends a body that is far too large until the server has enough of it; `None` if it hung up before its answer
    /// could be read.
    async fn pour(&self) -> Option<(u16, String)> {
        let mut stream = self.connect().await;
        let head = self.head(&format!("POST {MAPS}"), "content-type: application/json\r\n");
        let head = format!("{head}content-length: {HUGE_BODY}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.ok()?;
        let piece = vec![b' '; 64 * 1024];
        for _ in 0..HUGE_BODY / piece.len() {
            if stream.write_all(&piece).await.is_err() {
                break;
            }
        }
        answer(&mut stream).await
    }
}

async fn answer(stream: &mut TlsStream<TcpStream>) -> Option<(u16, String)> {
    let mut bytes = Vec::new();
    // An end without goodbye is an end.
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8_lossy(&bytes);
    let code = text.split(' ').nth(1)?.parse().ok()?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    let json = body.find('{').zip(body.rfind('}')).map(|(from, to)| &body[from..=to]).unwrap_or_default();
    let kind = serde_json::from_str::<Value>(json).unwrap_or_default()["kind"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    Some((code, kind))
}

/// As many descriptors as the connections need, or as many as the system allows.
fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let wanted = most.min(IDLE_CONNECTIONS as u64 + 1_000).max(limit.current.unwrap_or(0));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).unwrap();
    usize::try_from(wanted).unwrap()
}

/// The second process: sends everything, prints each answer as a line, then holds its connections until its input ends.
#[tokio::test]
#[ignore = "the second process of the test below"]
async fn crowd() {
    let Ok(path) = std::env::var(CROWD) else { return };
    let client = TestClient::read(&std::fs::read_to_string(path).unwrap());
    for _ in 0..ROUNDS {
        for (line, headers, body, code) in malformed() {
            let (found, kind) = client.ask(&line, headers, &body).await;
            let short: String = line.chars().take(60).collect();
            println!(
                "malformed {} {found} {kind} {short} (due {code})",
                u8::from(found == code && kind == "Status")
            );
        }
        let poured = client.pour().await;
        let fine = poured.as_ref().is_none_or(|(code, kind)| *code == 413 && kind == "Status");
        println!("malformed {} a body of {HUGE_BODY} bytes: {poured:?}", u8::from(fine));
    }
    let count = IDLE_CONNECTIONS.min(descriptors() - 200);
    let mut idle = Vec::new();
    for _ in 0..count {
        idle.push(TcpStream::connect(client.address).await.unwrap());
    }
    println!("crowd {}", idle.len());
    std::io::stdin().lines().for_each(drop);
}

/// The crowd as a child; it is ended with the test.
struct Crowd(Child);

impl Crowd {
    fn start(kubeconfig: &std::path::Path) -> (Self, ChildStdin, BufReader<ChildStdout>) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crowd", "--ignored", "--nocapture"])
            .env(CROWD, kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (Self(child), input, BufReader::new(output))
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Memory of this process, which is the server's.
fn memory_kb(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_gets_statuses_costs_bounded_memory_and_does_not_end_the_service() {
    descriptors();
    let listener = https::serve(server(), ListenOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, listener.kubeconfig()).unwrap();
    let client = TestClient::read(&listener.kubeconfig());
    assert_eq!(client.ask(&format!("GET {MAPS}"), "", "").await, (200, "ConfigMapList".to_owned()));
    let before = memory_kb("VmRSS");
    let (crowd, input, output) = Crowd::start(&path);
    let reported = tokio::task::spawn_blocking(move || {
        let (mut answers, mut wrong) = (0, Vec::new());
        for line in output.lines().map(Result::unwrap) {
            match line.split_once(' ') {
                // The harness may write before the first line.
                _ if line.contains("malformed 1") => answers += 1,
                _ if line.contains("malformed 0") => wrong.push(line),
                Some(("crowd", count)) => return (answers, wrong, count.parse::<usize>().ok()),
                _ => {}
            }
        }
        (answers, wrong, None)
    });
    let (answers, wrong, idle) = reported.await.unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(answers, ROUNDS * (malformed().len() + 1));
    let idle = idle.expect("the crowd came");
    assert!(idle >= IDLE_CONNECTIONS.min(3_000), "only {idle} connections");
    // The crowd is still there.
    assert_eq!(client.ask(&format!("GET {MAPS}"), "", "").await, (200, "ConfigMapList".to_owned()));
    let body = r#"{"metadata": {"name": "after-the-flood"}}"#;
    let made = client.ask(&format!("POST {MAPS}"), "content-type: application/json\r\n", body).await;
    assert_eq!(made, (201, "ConfigMap".to_owned()));
    let (now, peak) = (memory_kb("VmRSS"), memory_kb("VmHWM"));
    println!(
        "{answers} malformed requests, {idle} idle connections: {before} kB before, {now} kB now, {peak} kB at most"
    );
    assert!(peak < before + GROWTH_KB, "the server grew from {before} kB to {peak} kB");
    drop((input, crowd));
}

//! `capm3 up` and clients that mean no good. Each attack runs against the real program on loopback, while somebody with
//! credentials goes on asking: every one of these requests is answered, memory stays bounded, and it comes back.
//!
//! `cargo test -p capm3 --test clients -- --nocapture` prints the figures.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod client;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "each test uses its own part")]
mod common;
mod watch;

use std::{sync::Mutex, time::Duration};

use client::{Caller, Connection, Protocol, TestClient};
use common::{Up, repository};
use futures::{StreamExt, stream};
use serde_json::json;
use watch::Watch;

/// What the program may grow by under an attack.
const GROWTH_KB: u64 = 150 * 1024;
/// What may be left of that afterwards, most of it history that may still be asked for, and freed memory that an idle allocator
/// has not returned yet. A leak of what is sent would be larger.
const LEFT_KB: u64 = 112 * 1024;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// More than the program serves at the same time.
const CROWD: usize = 600;

/// One attack at a time, so that the figures are those of one.
static ALONE: Mutex<()> = Mutex::new(());

/// Starts the program, waits for the memory to rest, attacks it, and judges.
fn survives<F: Future<Output = String>>(name: &str, listen: &str, attack: impl FnOnce(TestClient) -> F) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let up = Up::listening(&repository().join("examples/three-racks"), listen);
    let client = TestClient::read(&std::fs::read_to_string(&up.kubeconfig).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        assert_eq!(client.probe().await, Ok(()), "the certificate fits {listen}");
        let watch = Watch::start(up.pid());
        let prober = tokio::spawn(watch.probe(client.clone()));
        let words = tokio::time::timeout(Duration::from_secs(60), attack(client)).await.expect("the attack ends");
        watch.attack_is_over();
        let probes = prober.await.unwrap();
        let back = watch.back(LEFT_KB).await;
        println!(
            "{name}: {words}; {} of {} probes answered; {} kB at rest, {} kB at most (+{} kB), {} kB afterwards",
            probes.answered,
            probes.sent,
            watch.rest,
            watch.peak(),
            watch.peak() - watch.rest,
            back,
        );
        assert!(probes.sent >= 5, "too few probes to tell: {}", probes.sent);
        assert_eq!(probes.failures, Vec::<String>::new());
        assert!(watch.peak() <= watch.rest + GROWTH_KB, "{} kB at most", watch.peak());
        assert!(back <= watch.rest + LEFT_KB, "{back} kB afterwards");
    });
}

/// Opens connections, some at a time, and hands them over when their request is sent.
async fn crowd(
    client: &TestClient,
    caller: Caller,
    protocol: Protocol,
    path: &str,
    streams: usize,
) -> Vec<Connection> {
    let one = |_| async {
        let mut connection = client.open(caller, protocol).await.ok()?;
        for _ in 0..streams {
            // Whoever is cut is cut.
            if connection.ask(path).await.is_err() {
                break;
            }
        }
        Some(connection)
    };
    let opened = stream::iter(0..CROWD).map(one).buffer_unordered(32).collect::<Vec<_>>().await;
    opened.into_iter().flatten().collect()
}

#[test]
fn unauthenticated_clients_that_do_not_read_their_refusals_keep_nobody_out() {
    survives("unauthenticated clients", "127.0.0.2:0", |client| async move {
        let mut held = Vec::new();
        for _ in 0..2 {
            held.extend(crowd(&client, Caller::Unauthenticated, Protocol::UnreadHttp2, MAPS, 8).await);
        }
        assert!(held.len() >= 600, "only {} connections", held.len());
        client.hold_on().await;
        format!("{} unauthenticated connections with a window of 0", held.len())
    });
}

#[test]
fn large_changes_do_not_fill_the_memory() {
    const PATCHES: usize = 200;
    survives("patches", "127.0.0.1:0", |client| async move {
        client.create(MAPS, &json!({"metadata": {"name": "large"}})).await;
        let patch = |number: usize| {
            let text = char::from(b'a' + u8::try_from(number % 26).unwrap()).to_string().repeat(1024 * 1024);
            let (client, patch) = (&client, json!({"data": {"text": text}}));
            async move { client.patch(&format!("{MAPS}/large"), &patch).await }
        };
        let patched = stream::iter(0..PATCHES).map(patch).buffer_unordered(32);
        assert_eq!(patched.filter(|code| std::future::ready(*code == 200)).count().await, PATCHES);
        format!("{PATCHES} patches of 1 MB")
    });
}

#[test]
fn watches_that_nobody_reads_are_cut() {
    const WATCHES: usize = 5_000;
    /// At most; those that are cut are opened again.
    const CONNECTIONS: usize = 100;
    survives("watches", "127.1.2.3:0", |client| async move {
        for number in 0..100 {
            let data = json!({"text": "x".repeat(4096)});
            client.create(MAPS, &json!({"metadata": {"name": format!("map-{number}")}, "data": data})).await;
        }
        let (mut held, mut opened) = (Vec::new(), 0);
        while opened < WATCHES && held.len() < CONNECTIONS {
            let mut connection = client.open(Caller::Authenticated, Protocol::UnreadHttp2).await.unwrap();
            for _ in 0..250 {
                if opened == WATCHES || connection.ask(&format!("{MAPS}?watch=true")).await.is_err() {
                    break;
                }
                opened += 1;
            }
            held.push(connection);
        }
        assert_eq!(opened, WATCHES);
        client.hold_on().await;
        let cut = held.iter().filter(|connection| connection.is_closed()).count();
        assert!(cut > 0, "somebody is cut");
        format!("{opened} unread watches on {} connections, {cut} of them cut", held.len())
    });
}

#[test]
fn a_crowd_of_known_clients_that_do_not_read_keeps_nobody_out() {
    survives("known crowd", "127.0.0.1:0", |client| async move {
        let data = json!({"text": "x".repeat(900 * 1024)});
        client.create(MAPS, &json!({"metadata": {"name": "large"}, "data": data})).await;
        let lists = crowd(&client, Caller::Authenticated, Protocol::UnreadHttp1, MAPS, 1).await;
        let watches = format!("{MAPS}?watch=true");
        let watches = crowd(&client, Caller::Authenticated, Protocol::UnreadHttp1, &watches, 1).await;
        client.hold_on().await;
        format!("{} unread lists and {} unread watches of 0.9 MB", lists.len(), watches.len())
    });
}

//! What is looked at while the program is attacked: its memory, and whether it answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::client::TestClient;

/// Between two measurements of the memory.
const POLL: Duration = Duration::from_millis(10);
/// Between two requests of somebody with credentials.
const PROBE: Duration = Duration::from_millis(50);
/// Looks at the memory until it must have come back: a minute.
const LOOKS: u32 = 600;

/// Memory of a process.
fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// Watches a process until it is dropped.
pub struct Watch {
    pid: u32,
    pub rest: u64,
    peak: Arc<AtomicU64>,
    done: CancellationToken,
}

/// How the requests of somebody with credentials went.
pub struct Probes {
    pub sent: usize,
    pub answered: usize,
    pub failures: Vec<String>,
}

impl Watch {
    pub fn start(pid: u32) -> Self {
        let rest = resident_kb(pid);
        let (peak, done) = (Arc::new(AtomicU64::new(rest)), CancellationToken::new());
        let (seen, ended) = (Arc::clone(&peak), done.clone());
        // A thread of its own, so that a busy runtime does not hide a peak.
        std::thread::spawn(move || {
            while !ended.is_cancelled() {
                seen.fetch_max(resident_kb(pid), Ordering::Relaxed);
                std::thread::sleep(POLL);
            }
        });
        Self { pid, rest, peak, done }
    }

    /// Ends the probes and the search for a peak.
    pub fn attack_is_over(&self) {
        self.done.cancel();
    }

    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Asks until the attack is over.
    pub fn probe(&self, client: TestClient) -> impl Future<Output = Probes> + Send + 'static {
        let done = self.done.clone();
        async move {
            let (mut sent, mut failures) = (0, Vec::new());
            while !done.is_cancelled() {
                sent += 1;
                failures.extend(client.probe().await.err());
                tokio::time::sleep(PROBE).await;
            }
            Probes { sent, answered: sent - failures.len(), failures }
        }
    }

    /// Waits, at most a minute, for the memory to come back, and gives what it is then.
    pub async fn back(&self, left: u64) -> u64 {
        for _ in 0..LOOKS {
            if resident_kb(self.pid) <= self.rest + left {
                break;
            }
            tokio::time::sleep(POLL * 10).await;
        }
        resident_kb(self.pid)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.cancel();
    }
}

//! Workload clusters whose API servers are hostile, over real connections: what they cost, and what they cost others.
//!
//! The connections are made in a process of their own, which has nothing else in memory. It gets what to do on its
//! standard input and answers each probe with one line.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod servers;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use capm3_engine::{
    Clock, ObjectKey,
    client::{limits::Limits, over_network},
};
use capm3_provider::workload::{ConnectOverNetwork, Workload, Workloads};
use serde_json::{Value, json};
use servers::{ATTACKS, Servers, kubeconfig};

/// That of the manager, so that figures are the same.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MANAGEMENT: &str = "CAPM3_TEST_MANAGEMENT";

/// Clusters of each hostile kind.
const EACH: usize = 3;

const MIB: u64 = 1024 * 1024;

/// The process under attack.
#[test]
#[ignore = "the other test starts it"]
fn connections() {
    let Ok(management) = env::var(MANAGEMENT) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let client = runtime.block_on(over_network(&kubeconfig(&management), None, "test")).unwrap();
    // Only times are shorter than in the manager.
    let time = Duration::from_secs(3);
    let limits = Limits { answer_time: time, line_time: time, list_time: 5 * time, ..Limits::WORKLOAD };
    let connect = Arc::new(ConnectOverNetwork::new("test"));
    let workloads = Arc::new(Workloads::new(client, connect, Clock::system()).limited(limits));
    let _entered = runtime.enter();
    let mut asked = Vec::new();
    for line in std::io::stdin().lines() {
        match line.unwrap().split_once(' ') {
            Some(("ensure", name)) => {
                let cluster = ObjectKey::new("ns", name);
                workloads.ensure(&cluster);
                asked.push(cluster);
            }
            _ => println!("probe {}", probe(&workloads, &asked)),
        }
    }
}

fn probe(workloads: &Workloads, clusters: &[ObjectKey]) -> Value {
    let state = |cluster: &ObjectKey| match workloads.get(cluster) {
        Workload::Synced(store, _) => json!({"nodes": store.all().len()}),
        Workload::Unreachable { cause, .. } => json!({"cause": cause}),
        other => json!({"other": format!("{other:?}")}),
    };
    let states: BTreeMap<_, _> = clusters.iter().map(|it| (it.name.clone(), state(it))).collect();
    json!({"states": states, "used": workloads.used()})
}

/// The handle of that process.
struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(management: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "connections", "--ignored", "--nocapture"])
            .env(MANAGEMENT, management)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output).lines() }
    }

    fn ensure(&mut self, cluster: &str) {
        writeln!(self.input, "ensure {cluster}").unwrap();
    }

    fn probe(&mut self) -> Value {
        writeln!(self.input, "probe").unwrap();
        let line = self.output.by_ref().map(Result::unwrap).find(|line| line.contains("probe {"));
        let line = line.expect("the process lives");
        serde_json::from_str(line.split_once("probe ").unwrap().1).unwrap()
    }

    /// A figure of the process in bytes.
    fn memory(&self, figure: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(figure)).unwrap();
        line.trim_matches([':', ' ', '\t', 'k', 'B']).parse::<u64>().unwrap() * 1024
    }

    /// Probes until one is as wanted, which must be within the bound.
    fn until(&mut self, what: &str, seconds: u64, mut wanted: impl FnMut(&Self, &Value) -> bool) {
        for _ in 0..seconds * 20 {
            let probed = self.probe();
            if wanted(self, &probed) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{what} within {seconds} s: {}", self.probe());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _code = self.child.wait();
    }
}

fn nodes(probed: &Value, cluster: &str) -> Option<u64> {
    probed["states"][cluster]["nodes"].as_u64()
}

/// Attacks of every kind by several clusters each, beside two good clusters of which one is connected to meanwhile.
#[test]
fn hostile_clusters_cost_little_and_others_nothing() {
    let servers = Servers::start();
    let mut process = Process::start(&servers.address);
    process.ensure("good");
    process.until("the good cluster is synced", 20, |_, probed| nodes(probed, "good") >= Some(3));
    let rest = process.memory("VmRSS");

    let each = |(attack, cause): &(&'static str, &'static str)| {
        let (attack, cause) = (*attack, *cause);
        (0..EACH).map(move |i| (format!("hostile-{attack}-{i}"), attack, cause))
    };
    let hostile: Vec<_> = ATTACKS.iter().flat_map(each).collect();
    assert_eq!(hostile.len(), EACH * ATTACKS.len());
    hostile.iter().for_each(|(cluster, ..)| process.ensure(cluster));
    process.ensure("late");

    let (mut probes, mut good, mut late, mut seen) = (0, 0, false, BTreeMap::<&str, BTreeSet<String>>::new());
    let (mut received, mut kept, mut grown, mut reported) = (0, 0, Vec::new(), BTreeSet::new());
    process.until("every attack was reported and repeated", 50, |_, probed| {
        probes += 1;
        good += usize::from(nodes(probed, "good").is_some());
        grown.extend(nodes(probed, "good"));
        assert!(!late || nodes(probed, "late").is_some(), "once synced, always synced: {probed}");
        late |= nodes(probed, "late").is_some();
        received = received.max(probed["used"][0].as_u64().unwrap());
        kept = kept.max(probed["used"][1].as_u64().unwrap());
        let mut is_over = |(cluster, attack, cause): &(String, &'static str, &str)| {
            let printed = probed["states"][cluster]["cause"].as_str().unwrap_or_default();
            seen.entry(*attack).or_default().extend((!printed.is_empty()).then(|| printed.to_owned()));
            if printed.contains(cause) {
                reported.insert(cluster.clone());
            }
            reported.contains(cluster) && servers.lists(cluster) >= 2
        };
        // All are looked at, whatever the first ones say.
        hostile.iter().filter(|it| is_over(it)).count() == hostile.len() && late
    });
    let peak = process.memory("VmHWM");
    servers.end_attack();
    process.until("the memory is back", 60, |process, probed| {
        probes += 1;
        good += usize::from(nodes(probed, "good").is_some() && nodes(probed, "late").is_some());
        let is_empty = probed["used"][1].as_u64().unwrap() < 8 * MIB;
        is_empty && process.memory("VmRSS") < rest + 32 * MIB
    });
    let after = process.memory("VmRSS");
    let mib = |bytes: u64| bytes as f64 / MIB as f64;
    println!(
        "{} hostile clusters sent {:.0} MiB; memory {:.1} MiB at rest, {:.1} MiB above that at most, {:.1} MiB above \
         afterwards; budget {:.1} MiB received and {:.1} MiB kept at most; {good} of {probes} probes found the good cluster synced",
        hostile.len(),
        mib(servers.sent.load(std::sync::atomic::Ordering::SeqCst)),
        mib(rest),
        mib(peak - rest),
        mib(after.saturating_sub(rest)),
        mib(received),
        mib(kept),
    );
    seen.iter().for_each(|(attack, causes)| println!("{attack}: {causes:?}"));
    assert!(peak - rest <= 150 * MIB, "{} MiB above rest", mib(peak - rest));
    assert_eq!(good, probes, "the good cluster is always synced");
    assert!(grown.is_sorted() && grown.last() > grown.first(), "and followed: {grown:?}");
}

//! The scenario: phases, and in each of them interruptions of whoever leads, spread over its steps.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use capm3_engine::{ApiClient, Clock, client::over_network, clock::micro_text};
use rustix::process::Signal;

use super::{
    Options,
    history::{self, History},
    judge::{self, Resumed},
    phase::Phase,
    replica::{Common, Replicas},
    say, webhooks,
};
use crate::{
    e2e::Stage,
    real::{Cluster, pki::Authority, wait::Stopwatch},
};

/// How long a step of the scenario may take.
const LIMIT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Nothing may change for so long before everything counts as still.
const STILL: Duration = Duration::from_secs(3);

/// How long the garbage collector may take after that.
const GARBAGE: Duration = Duration::from_secs(120);

/// What is done to a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interruption {
    Kill,
    Stop(Duration),
}

/// Everything that the scenario needs.
pub struct Scenario<'a> {
    options: &'a Options,
    client: ApiClient,
    _stage: Stage,
    history: History,
    watch: Stopwatch,
    replicas: Replicas<'a>,
    authority: String,
    /// Seconds of each hand-over.
    hand_overs: Vec<Duration>,
    resumed: Vec<Resumed>,
}

impl<'a> Scenario<'a> {
    /// Runs it and judges.
    pub async fn run(options: &'a Options, binary: PathBuf, cluster: &'a Cluster) -> Result<()> {
        let watch = Stopwatch::start();
        let kubeconfig = fs::read_to_string(cluster.kubeconfig()).context("reading the kubeconfig")?;
        let client = over_network(&kubeconfig, None, "capm3-replicas").await?;
        let stage = Stage::set_up(&kubeconfig).await?;
        let history = History::follow(&client, &history::kinds(), watch).await?;
        let (authority, folder) = (Authority::create()?, cluster.kubeconfig().with_file_name("replicas"));
        let pair = authority.server()?;
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("tls.crt"), pair.certificate)?;
        fs::write(folder.join("tls.key"), pair.key)?;
        let common = Common { binary, cluster, options, folder };
        let mut scenario = Self {
            options,
            client,
            _stage: stage,
            history,
            watch,
            replicas: Replicas::start(common)?,
            authority: authority.certificate(),
            hand_overs: Vec::new(),
            resumed: Vec::new(),
        };
        scenario
            .until("one leads and the other one waits", async |scenario| Ok(scenario.leader()?.is_some()))
            .await?;
        for phase in Phase::ALL {
            Box::pin(scenario.run_phase(phase)).await?;
        }
        scenario.replicas.end()?;
        scenario.print_hand_overs()?;
        judge::writers(&cluster.audit_log(), &scenario.resumed)?;
        Ok(())
    }

    async fn run_phase(&mut self, phase: Phase) -> Result<()> {
        let (size, start) = (self.options.size(), self.watch.elapsed());
        phase.begin(&self.client, size).await?;
        let interruptions = self.interruptions(phase);
        for (number, interruption) in interruptions.iter().enumerate() {
            let from = phase.steps(size) * (number + 1) / (interruptions.len() + 1);
            self.until(&format!("step {from} of {}", phase.name()), async |scenario| {
                let progress = scenario.history.with_objects(|objects| phase.progress(objects, size))?;
                Ok(progress >= from && scenario.leader()?.is_some())
            })
            .await?;
            let progress = self.history.with_objects(|objects| phase.progress(objects, size))?;
            let at = format!("{}, step {progress} of {}", phase.name(), phase.steps(size));
            self.interrupt(*interruption, &at).await?;
        }
        let what = format!("{} is over", phase.name());
        self.until(&what, async |scenario| {
            scenario.history.with_objects(|objects| phase.is_over(objects, size))
        })
        .await?;
        let took = self.watch.elapsed() - start;
        self.until_still().await?;
        let found = self.judged(phase).await?;
        say(&format!("{}: done after {:.1} s; {found}", phase.name(), took.as_secs_f64()));
        Ok(())
    }

    /// The judgement of a phase. It is repeated for a while: a garbage collector on a busy machine takes longer than the pause in
    /// which nothing changes.
    async fn judged(&mut self, phase: Phase) -> Result<String> {
        let start = self.watch.elapsed();
        loop {
            let judged = judge::history(&self.history, phase, self.options.size());
            if judged.is_ok() || self.watch.elapsed() - start > GARBAGE {
                return judged;
            }
            self.replicas.tend()?;
            tokio::time::sleep(STILL).await;
        }
    }

    fn interruptions(&self, phase: Phase) -> Vec<Interruption> {
        let mut all = vec![Interruption::Kill; phase.share(self.options.kills.into())];
        let stop = Interruption::Stop(Duration::from_secs(self.options.stopped.into()));
        all.extend(vec![stop; phase.share(self.options.stops.into())]);
        all
    }

    /// The place of the leader, if the other one is there and waits.
    fn leader(&mut self) -> Result<Option<usize>> {
        let Some(holder) = self.history.holders().pop() else { return Ok(None) };
        let Some(place) = self.replicas.place_of(&holder.identity)? else { return Ok(None) };
        let other = self.replicas.at(1 - place)?;
        Ok((other.identity()?.is_some() && other.waits()?).then_some(place))
    }

    async fn interrupt(&mut self, interruption: Interruption, at: &str) -> Result<()> {
        webhooks::all_answer(self.replicas.ports(), &self.authority).await.context("while one acts")?;
        let place = self.leader()?.context("the leader ended meanwhile")?;
        let before = self.history.holders().len();
        let began = self.watch.elapsed();
        match interruption {
            Interruption::Kill => {
                self.replicas.at(place)?.process.kill()?;
                self.replicas.restart(place)?;
            }
            Interruption::Stop(_) => self.replicas.at(place)?.process.signal(Signal::STOP)?,
        }
        let what = "another one takes the Lease";
        self.until(what, async |scenario| Ok(scenario.history.holders().len() > before)).await?;
        let taken = self.history.holders().get(before).context("nobody holds the Lease")?.since;
        self.hand_overs.push(taken.saturating_sub(began));
        let seconds = taken.saturating_sub(began).as_secs_f64();
        match interruption {
            Interruption::Kill => {
                say(&format!("{at}: leader killed, another one leads after {seconds:.1} s"))
            }
            Interruption::Stop(time) => {
                say(&format!("{at}: leader stopped, another one leads after {seconds:.1} s"));
                self.resume(place, began + time).await?;
            }
        }
        Ok(())
    }

    /// Lets a stopped process go on at a time: it must end by itself, and another one takes its place.
    async fn resume(&mut self, place: usize, when: Duration) -> Result<()> {
        self.until("the pause is over", async |scenario| Ok(scenario.watch.elapsed() >= when)).await?;
        let at = micro_text(Clock::system().now());
        self.replicas.at(place)?.process.signal(Signal::CONT)?;
        let start = self.watch.elapsed();
        let status = loop {
            if let Some(status) = self.replicas.at(place)?.process.ended()? {
                break status;
            }
            ensure!(self.watch.elapsed() - start < LIMIT, "a leader that was stopped does not end");
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        let seconds = (self.watch.elapsed() - start).as_secs_f64();
        let replica = self.replicas.restart(place)?;
        ensure!(status.code() == Some(1), "a leader that was stopped ended with {status}");
        say(&format!("continued, it ended with code 1 after {seconds:.1} s"));
        self.resumed.push(Resumed { token: replica.token, at });
        Ok(())
    }

    async fn until_still(&mut self) -> Result<()> {
        let (mut seen, mut since) = (0, self.watch.elapsed());
        self.until("nothing changes any more", async |scenario| {
            let now = scenario.history.changes();
            if now != seen {
                (seen, since) = (now, scenario.watch.elapsed());
            }
            Ok(scenario.watch.elapsed() - since > STILL)
        })
        .await
    }

    /// Waits until something holds, and starts replicas again that ended.
    async fn until(
        &mut self,
        what: &str,
        mut holds: impl AsyncFnMut(&mut Self) -> Result<bool>,
    ) -> Result<()> {
        let start = self.watch.elapsed();
        while !holds(self).await? {
            self.replicas.tend()?;
            if self.watch.elapsed() - start > LIMIT {
                let holders = self.history.holders();
                bail!("not within {} s: {what}; the Lease was held by {holders:?}", LIMIT.as_secs());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// In a release build, fails if one took longer than it may: the other one sees the last renewal up to a retry period later, waits until the Lease
    /// has expired since then, and may need one more try.
    fn print_hand_overs(&self) -> Result<()> {
        let [lease, renew, retry] = self.options.election();
        let seconds = |all: &[Duration]| -> Vec<String> {
            all.iter().map(|time| format!("{:.1}", time.as_secs_f64())).collect()
        };
        say(&format!(
            "hand-over after {} s; lease duration {} s, renew deadline {} s, retry period {} s",
            seconds(&self.hand_overs).join(", "),
            lease.as_secs(),
            renew.as_secs(),
            retry.as_secs()
        ));
        if !self.replicas.ended.is_empty() {
            say(&format!("{} leaders ended by themselves: they could not renew", self.replicas.ended.len()));
        }
        let late: Vec<Duration> =
            self.hand_overs.iter().copied().filter(|time| *time > lease + 2 * retry).collect();
        if !late.is_empty() {
            let text = format!("too late: {} s", seconds(&late).join(", "));
            // A debug build on a busy machine is late by itself; the figures are judged in a release build.
            ensure!(cfg!(debug_assertions), "{text}");
            say(&text);
        }
        Ok(())
    }
}

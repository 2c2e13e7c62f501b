//! What a machine costs in a large fleet against one in a small fleet.
//!
//! Computers have faster and slower minutes, by more than what is to be measured. So the large fleet runs in a process
//! of its own that is stopped every few seconds, and in each pause a small fleet is measured: both are means over the
//! same minutes, and never run at the same time.

use std::{
    io::Read,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};

use super::figures::{Figures, Growth};
use crate::repo;

/// How long the large fleet runs between two pauses.
const STRETCH: Duration = Duration::from_secs(3);

/// Figures of the large fleet, with what the small one costs.
pub fn run(size: usize, against: usize) -> Result<Figures> {
    let mut large = Fleet::start(size)?;
    let mut small = Vec::new();
    while !large.ended_within(STRETCH)? {
        large.signal("STOP")?;
        small.push(Fleet::start(against)?.figures()?.milliseconds_each());
        large.signal("CONT")?;
    }
    ensure!(!small.is_empty(), "{size} machines are too few to be compared with {against}");
    let mean = small.iter().sum::<f64>() / small.len() as f64;
    let mut figures = large.figures()?;
    figures.growth = Some(Growth { against, ratio: figures.milliseconds_each() / mean });
    Ok(figures)
}

/// A benchmark in a process of its own, which ends with this one.
struct Fleet(Child);

impl Fleet {
    fn start(size: usize) -> Result<Self> {
        let mut command = Command::new(repo::ourselves()?);
        command.args(["bench", "machines", "--raw", "--size", &size.to_string()]);
        Ok(Self(command.stdout(Stdio::piped()).spawn()?))
    }

    fn ended_within(&mut self, time: Duration) -> Result<bool> {
        const STEP: Duration = Duration::from_millis(100);
        for _ in 0..time.as_millis() / STEP.as_millis() {
            if self.0.try_wait()?.is_some() {
                return Ok(true);
            }
            std::thread::sleep(STEP);
        }
        Ok(false)
    }

    fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status()?;
        ensure!(status.success(), "could not send {name} to a benchmark");
        Ok(())
    }

    fn figures(mut self) -> Result<Figures> {
        let mut output = Vec::new();
        let stdout = self.0.stdout.as_mut().context("a benchmark without output")?;
        stdout.read_to_end(&mut output)?;
        ensure!(self.0.wait()?.success(), "a benchmark failed");
        Figures::read(&output)
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Nothing is left to do for one that has ended.
        let _gone = self.0.kill().and_then(|()| self.0.wait());
    }
}

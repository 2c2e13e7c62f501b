//! Processor time: others may use the machine meanwhile.

use std::fs;

use anyhow::{Context, Result};

/// Seconds that this thread has run so far.
pub fn seconds() -> Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").context("reading the processor's time")?;
    let nanos: f64 = text.split_whitespace().next().context("no time")?.parse()?;
    Ok(nanos / 1e9)
}

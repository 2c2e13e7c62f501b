//! How much memory a process has had.

use std::fs;

use anyhow::{Context, Result};

/// Most memory of a process, in megabytes; `self` is this one.
pub fn peak_mb(process: &str) -> Result<u64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes / 1024)
}

//! How much memory a process has had.

use std::fs;

use anyhow::{Context, Result};

/// Most memory of a process, in megabytes; `self` is this one.
pub fn peak_mb(process: &str) -> Result<u64> {
    Ok(kilobytes(process, "VmHWM")? / 1024)
}

/// Memory that this process has now, in bytes.
pub fn resident() -> Result<u64> {
    resident_of("self")
}

/// Memory that a process has now, in bytes.
pub fn resident_of(process: &str) -> Result<u64> {
    Ok(kilobytes(process, "VmRSS")? * 1024)
}

fn kilobytes(process: &str, what: &str) -> Result<u64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':'));
    let line = line.with_context(|| format!("no {what}"))?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

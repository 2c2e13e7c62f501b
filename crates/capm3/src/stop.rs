//! Signals that stop a running command.

use std::fmt;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM.
    Terminate,
    /// Ctrl-C.
    Interrupt,
    /// The end of the terminal.
    Hangup,
}

impl StopSignal {
    /// The exit code by which a shell knows a command that this signal has ended.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
            Self::Hangup => "SIGHUP",
        })
    }
}

/// Ends with the signal that came: Ctrl-C, SIGTERM, or the end of the terminal unless that is ignored, as
/// `nohup` asks for.
pub fn stop_signal() -> std::io::Result<impl Future<Output = StopSignal>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut hangup = if ignores_hangup(&status) { None } else { Some(signal(SignalKind::hangup())?) };
    Ok(async move {
        tokio::select! {
            biased;
            _ = terminate.recv() => StopSignal::Terminate,
            _ = interrupt.recv() => StopSignal::Interrupt,
            () = next(&mut hangup) => StopSignal::Hangup,
        }
    })
}

/// Waits for ever where there is nothing to wait for.
async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether a process was started so that SIGHUP does nothing, from the text that Linux has about it.
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_under_nohup_is_known_by_its_mask() {
        assert!(ignores_hangup("Name:\tcapm3\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n"));
        assert!(!ignores_hangup("SigIgn:\t0000000000001000\n"));
        assert!(!ignores_hangup(""));
    }
}

//! `capm3 manager` as a child process with any arguments: started with a log file, signalled by its process number, ended when
//! it is dropped.

use std::{
    ffi::OsStr,
    fs::OpenOptions,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::memory;

/// A manager that was started here; dropping it kills it.
pub struct ManagerProcess {
    child: Child,
    log: PathBuf,
}

impl ManagerProcess {
    /// Starts `binary manager` with these arguments. Its log is appended to a file, one JSON document a line.
    pub fn start(binary: &Path, arguments: &[impl AsRef<OsStr>], log: &Path) -> Result<Self> {
        let output = OpenOptions::new().create(true).append(true).open(log);
        let output = output.with_context(|| format!("writing {}", log.display()))?;
        let child = Command::new(binary)
            .args(["manager", "--logging-format=json"])
            // Any free port: several run here.
            .args(["--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output)
            .spawn()
            .with_context(|| format!("starting {}", binary.display()))?;
        Ok(Self { child, log: log.to_owned() })
    }

    /// Memory that it has now, and the most that it has had, in megabytes.
    pub fn memory_mb(&self) -> Result<(u64, u64)> {
        let process = self.child.id().to_string();
        Ok((memory::resident_of(&process)? / (1024 * 1024), memory::peak_mb(&process)?))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let number = self.child.id();
        kill_process(Pid::from_child(&self.child), signal)
            .with_context(|| format!("signalling process {number}"))
    }

    /// Kills it at once, as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// What it has logged so far: one document per line, a line that is none (its last words) as `{"line": line}`.
    pub fn logged(&self) -> Result<Vec<Value>> {
        let text =
            std::fs::read_to_string(&self.log).with_context(|| format!("reading {}", self.log.display()))?;
        // The last line may be half written.
        let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
        let entry =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|_| serde_json::json!({"line": line}));
        Ok(whole.lines().map(entry).collect())
    }
}

impl Drop for ManagerProcess {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill and nothing to wait for.
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("the manager could not be ended: {error}");
        }
    }
}

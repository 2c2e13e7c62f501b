//! `capm3 up` as a process of its own, as people start it.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use anyhow::{Context, Result, bail};

/// The last line before it only serves.
const READY: &str = "Ctrl-C ends everything.";

/// A running `capm3 up` whose machines are ready; stopped when dropped.
pub struct Up {
    child: Child,
    kubeconfig: PathBuf,
}

impl Up {
    pub fn start() -> Result<Self> {
        let binary = crate::e2e::build_manager()?;
        let mut child = Command::new(&binary)
            .args(["up", "--profile", "instant", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", binary.display()))?;
        let mut lines = BufReader::new(child.stderr.take().context("it has no stderr")?).lines();
        let mut up = Self { child, kubeconfig: PathBuf::new() };
        let mut log = String::new();
        loop {
            let Some(line) = lines.next().transpose()? else { bail!("capm3 up ended:\n{log}") };
            if let Some(path) = line.strip_prefix("export KUBECONFIG=") {
                up.kubeconfig = PathBuf::from(path);
            }
            if line == READY {
                break;
            }
            log += &format!("{line}\n");
        }
        // Somebody must read on, or it stops when the pipe is full.
        thread::spawn(move || lines.for_each(drop));
        Ok(up)
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let killed = Command::new("kill").arg(self.child.id().to_string()).status();
        if let Err(error) = killed.and_then(|_| self.child.wait()) {
            eprintln!("capm3 up could not be ended: {error}");
        }
    }
}

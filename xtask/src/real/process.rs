//! Starting processes, recognising them later by their command line, and stopping exactly those.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::wait;

/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(15);

/// A process that was started for a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    pub pid: i32,
    pub binary: PathBuf,
}

/// Starts a binary whose output goes to a log file, in a process group of its own: Ctrl-C must not end all servers at
/// once, one that has lost the other takes long to end.
pub fn spawn(binary: &Path, arguments: &[String], log: &Path) -> Result<Child> {
    let output = File::create(log).with_context(|| format!("writing {}", log.display()))?;
    Command::new(binary)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0)
        .spawn()
        .with_context(|| format!("starting {}", binary.display()))
}

/// Ends a process of which we are the parent, so that its number is surely its own.
pub fn end(child: &mut Child) -> Result<()> {
    if let Ok(pid) = i32::try_from(child.id()) {
        signal(pid, Signal::TERM);
    }
    if wait::until(GRACE, || Ok(child.try_wait()?))?.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(())
}

impl Record {
    /// Whether the process lives and still is the one that was started for this folder: its number may have been
    /// given to another since.
    pub fn is_running(&self, folder: &Path) -> bool {
        command_line(self.pid).is_some_and(|line| is_ours(&line, &self.binary, folder))
    }

    /// Asks it to end, makes it end if it does not; returns whether it was running.
    pub fn stop(&self, folder: &Path) -> Result<bool> {
        if !self.is_running(folder) {
            return Ok(false);
        }
        for kind in [Signal::TERM, Signal::KILL] {
            signal(self.pid, kind);
            if wait::until(GRACE, || Ok((!self.is_running(folder)).then_some(())))?.is_some() {
                return Ok(true);
            }
        }
        bail!("{} (pid {}) does not end: end it by hand", self.name, self.pid)
    }
}

fn signal(pid: i32, kind: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may have ended since we looked, which is what we want.
        kill_process(pid, kind).ok();
    }
}

/// The words of a living process's command line with spaces between; one that only waits to be reaped has none.
fn command_line(pid: i32) -> Option<String> {
    if Path::new("/proc/self/cmdline").exists() {
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        return Some(String::from_utf8_lossy(&bytes).replace('\0', " "));
    }
    let pid = pid.to_string();
    let output = Command::new("ps").args(["-ww", "-o", "args=", "-p", &pid]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_ours(command_line: &str, binary: &Path, folder: &Path) -> bool {
    command_line.starts_with(&format!("{} ", binary.display()))
        && command_line.contains(&format!("={}/", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sleeper {
        folder: tempfile::TempDir,
        child: Child,
        record: Record,
    }

    impl Sleeper {
        fn start() -> Self {
            let folder = tempfile::tempdir().unwrap();
            // Short naps: what the shell leaves behind when it is stopped is gone after one.
            let script = "while :; do sleep 1; done".to_owned();
            let marker = format!("--data={}/x", folder.path().display());
            let arguments = ["-c".to_owned(), script, marker];
            let log = folder.path().join("log");
            let child = spawn(Path::new("/bin/sh"), &arguments, &log).unwrap();
            let record = Record {
                name: "sleeper".to_owned(),
                pid: i32::try_from(child.id()).unwrap(),
                binary: "/bin/sh".into(),
            };
            let sleeper = Self { folder, child, record };
            // A process has no command line yet when its start is reported.
            let running = || Ok(sleeper.record.is_running(sleeper.folder.path()).then_some(()));
            wait::until(Duration::from_secs(10), running).unwrap().unwrap();
            sleeper
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            end(&mut self.child).unwrap();
        }
    }

    #[test]
    fn a_process_is_ours_only_with_our_binary_and_our_folder() {
        let ours = |line: &str| is_ours(line, Path::new("/bin/etcd"), Path::new("/run/up"));
        assert!(ours("/bin/etcd --data-dir=/run/up/etcd"));
        assert!(!ours("/bin/etcd2 --data-dir=/run/up/etcd"));
        assert!(!ours("/bin/etcd --data-dir=/run/up2/etcd"));
        assert!(!ours("/bin/editor --file=/run/up/etcd"));
        assert!(!ours(""));
    }

    #[test]
    fn a_running_process_is_stopped_once() {
        let sleeper = Sleeper::start();
        let folder = sleeper.folder.path();
        assert!(sleeper.record.stop(folder).unwrap());
        assert!(!sleeper.record.is_running(folder));
        assert!(!sleeper.record.stop(folder).unwrap());
    }

    #[test]
    fn a_process_of_another_folder_is_left_alone() {
        let mut sleeper = Sleeper::start();
        assert!(!sleeper.record.stop(Path::new("/run/other")).unwrap());
        assert_eq!(sleeper.child.try_wait().unwrap(), None);
    }
}

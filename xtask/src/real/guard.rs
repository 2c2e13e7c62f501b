//! Cleans up when we cannot: after Ctrl-C, a kill, a closed terminal.
//!
//! A second process of ours waits for the end of its input, which comes however we end, and then does what
//! `real down` does.

use std::{
    env,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

use super::folder::RunFolder;

/// The waiting process. Dropping it lets it do its work, if there is any left.
pub struct Guard(Child);

impl Guard {
    /// Takes care of a folder from now on.
    pub fn of(folder: &RunFolder) -> Result<Self> {
        let ourselves = ourselves()?;
        let child = Command::new(&ourselves)
            .args(["real", "down", "--when-input-ends", "--dir"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // What ends us must not end it too.
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting {}", ourselves.display()))?;
        Ok(Self(child))
    }

    /// What it took care of shall stay.
    pub fn dismiss(mut self) {
        self.0.kill().ok();
    }
}

/// Our own binary. A stage of `ci` builds the workspace anew and with it us, so the file that we run from may be gone
/// by now; Linux has a name for it that lasts as long as we do.
fn ourselves() -> Result<PathBuf> {
    let lasting = Path::new("/proc/self/exe");
    if lasting.exists() {
        return Ok(lasting.to_owned());
    }
    env::current_exe().context("finding our own binary")
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}

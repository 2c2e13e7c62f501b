//! Cleans up when we cannot: after Ctrl-C, a kill, a closed terminal.
//!
//! A second process of ours waits for the end of its input, which comes however we end, and then does what
//! `real down` does.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

use super::folder::RunFolder;
use crate::repo;

/// The waiting process. Dropping it lets it do its work, if there is any left.
pub struct Guard(Child);

impl Guard {
    /// Takes care of a folder from now on.
    pub fn of(folder: &RunFolder) -> Result<Self> {
        let ourselves = repo::ourselves()?;
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

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}

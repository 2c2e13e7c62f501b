//! The pinned kubectl as the administrator of one cluster.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::real::{self, Cluster};

/// kubectl for one cluster.
pub struct Kubectl {
    binary: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    pub fn new(cluster: &Cluster) -> Result<Self> {
        Ok(Self { binary: real::kubectl_path()?, kubeconfig: cluster.kubeconfig() })
    }

    pub fn say(&self, what: &str) {
        eprintln!("install: {what}");
    }

    /// Runs it; what it prints. A failure and a warning are errors.
    pub fn run(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut child = Command::new(&self.binary)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting kubectl")?;
        let mut stdin = child.stdin.take().context("kubectl has no input")?;
        let text = input.to_owned();
        // It may answer before it has read everything.
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output()?;
        let written = writer.join();
        let (printed, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr));
        if !output.status.success() || !stderr.trim().is_empty() {
            bail!("kubectl {}: {}\n{stderr}", arguments.join(" "), output.status);
        }
        ensure!(matches!(written, Ok(Ok(()))), "kubectl {} did not read its input", arguments.join(" "));
        Ok(printed)
    }

    /// Applies a text as the only owner of its fields, with strict validation; how many objects there were.
    pub fn apply(&self, what: &str, text: &str) -> Result<usize> {
        let flags = ["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"];
        let printed = self.run(&flags, text).with_context(|| what.to_owned())?;
        let applied = printed.lines().filter(|line| line.ends_with(" serverside-applied")).count();
        self.say(&format!("{what}: {applied} objects are accepted"));
        self.run(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"], "")?;
        Ok(applied)
    }
}

//! Runs a command of the script and records its output.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::{mask, script::Step};
use crate::{mask::Rules, real::wait};

/// How long a watch may take to show a change.
const LIMIT: Duration = Duration::from_secs(20);

/// The pinned kubectl, pointed at a server.
pub struct Kubectl {
    path: OsString,
    kubeconfig: PathBuf,
    input: PathBuf,
    /// kubectl caches what it reads of a server there; another run must not see it.
    home: TempDir,
    mask: Rules,
}

impl Kubectl {
    pub fn new(binary: &Path, kubeconfig: &Path, input: &Path) -> Result<Self> {
        let others = env::var_os("PATH").unwrap_or_default();
        let ours = binary.parent().map(Path::to_owned);
        Ok(Self {
            path: env::join_paths(ours.into_iter().chain(env::split_paths(&others)))?,
            kubeconfig: kubeconfig.to_owned(),
            input: input.to_owned(),
            home: tempfile::tempdir()?,
            mask: mask::rules()?,
        })
    }

    /// A folder that goes with this value.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Runs a step; the result is the text of its expected file.
    pub fn run(&self, step: &Step) -> Result<String> {
        let command = &step.command;
        if step.changes.is_empty() {
            let output = self.output(command)?;
            let code = output.status.code().context("it was ended by a signal")?;
            let text = answer(command, &format!("exit code {code}"), &output.stdout, &output.stderr);
            return Ok(self.mask.apply(&text));
        }
        let (stdout, stderr) = self.watch(step)?;
        Ok(self.mask.apply(&answer(command, "ended by the script", &stdout, &stderr)))
    }

    /// Runs a command to its end.
    pub fn output(&self, command: &str) -> Result<Output> {
        self.shell(command).output().with_context(|| format!("starting `{command}`"))
    }

    fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(&self.input)
            .env("PATH", &self.path)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.home.path())
            // An object's text in an editor is nobody's business but its own.
            .env("TMPDIR", self.home.path())
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        shell
    }

    /// Makes the changes of a step while its command watches, one when the one before was seen.
    fn watch(&self, step: &Step) -> Result<(Vec<u8>, Vec<u8>)> {
        let (out, err) = (self.home().join("watch.out"), self.home().join("watch.err"));
        let mut shell = self.shell(&format!("exec {}", step.command));
        let child = shell.stdout(File::create(&out)?).stderr(File::create(&err)?).spawn()?;
        let _watcher = Watcher(child);
        let lines = || -> Result<usize> { Ok(fs::read_to_string(&out)?.lines().count()) };
        // Nothing may be there when a watch begins, so all it can be given is a moment.
        let begun = wait::until(Duration::from_secs(2), || Ok((lines()? >= 2).then_some(())))?;
        let mut seen = if begun.is_some() { lines()? } else { 0 };
        for change in &step.changes {
            let output = self.output(change)?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "`{change}` failed: {stderr}");
            // The first row of a watch comes with its header.
            seen += if seen == 0 { 2 } else { 1 };
            if wait::until(LIMIT, || Ok((lines()? >= seen).then_some(())))?.is_none() {
                bail!("the watch does not show `{change}`:\n{}", fs::read_to_string(&out)?);
            }
        }
        Ok((fs::read(&out)?, fs::read(&err)?))
    }
}

/// A running watch, ended when dropped.
struct Watcher(Child);

impl Drop for Watcher {
    fn drop(&mut self) {
        let ended = self.0.kill().and_then(|()| self.0.wait());
        if let Err(error) = ended {
            eprintln!("a watch could not be ended: {error}");
        }
    }
}

fn answer(command: &str, end: &str, stdout: &[u8], stderr: &[u8]) -> String {
    let mut text = format!("$ {command}\n{end}\n");
    for (name, bytes) in [("stdout", stdout), ("stderr", stderr)] {
        if !bytes.is_empty() {
            let printed = String::from_utf8_lossy(bytes);
            text += &format!("--- {name}\n{printed}");
            if !printed.ends_with('\n') {
                text += "\n(no newline at the end)\n";
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_holds_the_command_its_exit_code_and_both_outputs() {
        assert_eq!(
            answer("x", "exit code 1", b"out", b"err\n"),
            "$ x\nexit code 1\n--- stdout\nout\n(no newline at the end)\n--- stderr\nerr\n"
        );
        assert_eq!(answer("x", "exit code 0", b"", b""), "$ x\nexit code 0\n");
    }
}

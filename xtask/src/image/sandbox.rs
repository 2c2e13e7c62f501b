//! Runs a program of an unpacked image as a container engine would: its root and nothing else, read-only, as the user of the image
//! and process 1, without capabilities. It stays in the network of this machine, on loopback.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::real::wait;

/// Mounts what follows up to `--`, makes the root read-only, and becomes the program.
const SCRIPT: &str = r#"
root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; mount -o remount,bind,ro "$root$2"; shift 2; done
shift
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs --inh-caps=-all chroot --userspec=65532:65532 --groups= "$root" "$@"
"#;

/// Devices that every container has.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/random", "/dev/urandom"];

/// An unpacked image and what is mounted in it.
pub struct Sandbox {
    root: PathBuf,
    /// What is there of this machine: where it is, and where in the image.
    mounts: Vec<(PathBuf, &'static str)>,
    environment: Vec<(&'static str, String)>,
}

/// A program in a sandbox; dropping it kills it.
pub struct Running(Child);

impl Sandbox {
    /// The image that was unpacked to a folder.
    pub fn at(root: &Path) -> Result<Self> {
        for folder in ["proc", "dev"] {
            fs::create_dir_all(root.join(folder))?;
        }
        for device in DEVICES {
            fs::write(root.join(device.trim_start_matches('/')), "")?;
        }
        let mounts = DEVICES.iter().map(|device| (PathBuf::from(device), *device)).collect();
        Ok(Self { root: root.to_owned(), mounts, environment: Vec::new() })
    }

    /// Mounts a file or a folder, where an engine would make the place for it. The user of the image may read it.
    pub fn mount(&mut self, from: &Path, to: &'static str) -> Result<()> {
        let place = self.root.join(to.trim_start_matches('/'));
        fs::create_dir_all(place.parent().context("a place without a folder")?)?;
        match from.is_dir() {
            true => {
                fs::create_dir_all(&place)?;
                fs::set_permissions(from, fs::Permissions::from_mode(0o755))?;
                for file in fs::read_dir(from)? {
                    fs::set_permissions(file?.path(), fs::Permissions::from_mode(0o644))?;
                }
            }
            false => {
                fs::write(&place, "")?;
                fs::set_permissions(from, fs::Permissions::from_mode(0o644))?;
            }
        }
        self.mounts.push((from.to_owned(), to));
        Ok(())
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &'static str, value: String) {
        self.environment.push((name, value));
    }

    /// What a program printed, and how it ended.
    pub fn output(&self, program: &[&str]) -> Result<(ExitStatus, String)> {
        let output = self.command(program).stdin(Stdio::null()).output().context("starting unshare")?;
        let text = [output.stdout, output.stderr].concat();
        Ok((output.status, String::from_utf8_lossy(&text).into_owned()))
    }

    /// Starts a program; what it says goes to a file.
    pub fn start(&self, program: &[&str], log: &Path) -> Result<Running> {
        let log = fs::File::create(log).with_context(|| format!("writing {}", log.display()))?;
        let mut command = self.command(program);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Running(command.spawn().context("starting unshare")?))
    }

    fn command(&self, program: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", SCRIPT, "sandbox"]);
        command.arg(&self.root);
        for (from, to) in &self.mounts {
            command.arg(from).arg(to);
        }
        command.arg("--").args(program);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.envs(self.environment.iter().map(|(name, value)| (*name, value)));
        command
    }
}

impl Running {
    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.0.try_wait()?)
    }

    /// User and group under which the program runs, as the system sees it.
    pub fn user(&self) -> Result<(u32, u32)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.inner()?))?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        number("Uid:").zip(number("Gid:")).context("a process without a user")
    }

    /// Asks it to end, as a kubelet does, and says how it did.
    pub fn stop(&mut self, limit: Duration) -> Result<ExitStatus> {
        let pid = Pid::from_raw(self.inner()?).context("a process number that is none")?;
        kill_process(pid, Signal::TERM).context("signalling it")?;
        wait::until(limit, || self.ended())?
            .with_context(|| format!("it runs on {} s after SIGTERM", limit.as_secs()))
    }

    /// The number of the program: `unshare` has no other child.
    fn inner(&self) -> Result<i32> {
        let outer = self.0.id();
        let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"))?;
        children
            .split_whitespace()
            .next()
            .and_then(|pid| pid.parse().ok())
            .context("the program does not run")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A change of the user has undone what `--kill-child` asks of the system, so the program itself is killed. It may have
        // ended already.
        if let Some(pid) = self.inner().ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::KILL).ok();
        }
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Why there is no sandbox here.
pub fn possible() -> Result<()> {
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "--pid",
        "--fork",
        "sh",
        "-c",
        "mount --make-rprivate / && command -v setpriv chroot",
    ]);
    let output = unshare.output().context("starting unshare")?;
    ensure!(output.status.success(), "no namespaces here: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

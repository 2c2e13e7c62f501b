//! Skopeo and umoci of Debian on an archive: what others make of it must be what was put in.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::oci::{Archive, ENTRYPOINT, USER};
use crate::{
    debian::{self, finish},
    repo,
};

/// Both programs, unpacked below `target/`.
pub struct Tools {
    root: PathBuf,
    libraries: PathBuf,
}

impl Tools {
    /// Fetches them once.
    pub fn fetch() -> Result<Self> {
        // Skopeo needs these beside what every system has; their names change with their versions.
        let libraries = || debian::needed_by("skopeo", &["libgpgme", "libassuan", "libsubid"]);
        let needed = libraries().or_else(|_| debian::update().and_then(|()| libraries()))?;
        let packages: Vec<String> =
            ["skopeo", "umoci"].map(str::to_owned).into_iter().chain(needed).collect();
        let root = debian::unpacked("image-tools", &packages)?;
        let tools = Self { libraries: root.join("usr/lib/x86_64-linux-gnu"), root };
        for name in ["skopeo", "umoci"] {
            let output = tools.command(name).arg("--version").output();
            let output = output.with_context(|| format!("starting {name}"))?;
            ensure!(
                output.status.success(),
                "{name} does not run: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(tools)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.root.join("usr/bin").join(name));
        command.env("LD_LIBRARY_PATH", &self.libraries);
        command
    }

    /// Checks what they read, and unpacks it; gives the folder that would be `/`.
    pub fn unpack(&self, file: &Path, archive: &Archive) -> Result<PathBuf> {
        let work = repo::root().join("target/image/unpacked");
        if work.exists() {
            fs::remove_dir_all(&work)?;
        }
        fs::create_dir_all(&work)?;
        let source = format!("oci-archive:{}", file.display());
        let seen = self.inspect(&["inspect", &source])?;
        ensure!(at(&seen, "/Digest") == archive.digest, "skopeo sees {}", at(&seen, "/Digest"));
        let config = self.inspect(&["inspect", "--config", &source])?;
        for (pointer, expected) in [
            ("/config/User", USER),
            ("/config/Entrypoint/0", ENTRYPOINT),
            ("/config/Labels/org.opencontainers.image.title", "capm3"),
            ("/architecture", "amd64"),
        ] {
            ensure!(at(&config, pointer) == expected, "skopeo sees {pointer} {:?}", at(&config, pointer));
        }
        // Every blob is read and its digest compared.
        let (layout, bundle) = (work.join("layout"), work.join("bundle"));
        let mut copy = self.command("skopeo");
        copy.args(["--insecure-policy", "copy", "--quiet", &source]);
        finish(copy.arg(format!("oci:{}:checked", layout.display())))?;
        let mut unpack = self.command("umoci");
        unpack.args(["--log=error", "unpack", "--image"]).arg(format!("{}:checked", layout.display()));
        finish(unpack.arg(&bundle))?;
        let runtime: Value = serde_json::from_slice(&fs::read(bundle.join("config.json"))?)?;
        let user = (runtime.pointer("/process/user/uid"), runtime.pointer("/process/user/gid"));
        ensure!(user == (Some(&65532.into()), Some(&65532.into())), "umoci sees the user {user:?}");
        Ok(bundle.join("rootfs"))
    }

    fn inspect(&self, arguments: &[&str]) -> Result<Value> {
        let output = self.command("skopeo").args(arguments).output().context("starting skopeo")?;
        if !output.status.success() {
            bail!("skopeo {arguments:?} failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        serde_json::from_slice(&output.stdout).context("the answer of skopeo")
    }
}

fn at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

//! What an image is built from: a folder, its commit and the time of that.
//!
//! Gives the static program. Its bytes depend on the sources, the compiler and the C library, and not on the folder that they are
//! in or on when they are built.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::TARGET;
use crate::debian::finish;

/// How variables begin that would change what is built, or build it again each time.
const FOREIGN: [&str; 7] = [
    "RUSTFLAGS",
    "CARGO_TARGET_",
    "CARGO_PROFILE_",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_BIN_",
    "CARGO_CRATE_",
];

/// The sources of an image.
#[derive(Debug, Clone)]
pub struct Source {
    pub folder: PathBuf,
    pub commit: String,
    /// Of the commit, since 1970.
    seconds: i64,
}

impl Source {
    /// What is checked out in a folder. `CAPM3_COMMIT` and `SOURCE_DATE_EPOCH` win, for a folder without its repository.
    pub fn of(folder: &Path) -> Result<Self> {
        let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let git = |arguments: &[&str]| {
            let output = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let changed = || git(&["status", "--porcelain"]).is_some_and(|changes| !changes.is_empty());
        let mark = |commit: String| if changed() { format!("{commit}-dirty") } else { commit };
        let commit = given("CAPM3_COMMIT").or_else(|| git(&["rev-parse", "HEAD"]).map(mark));
        let seconds = given("SOURCE_DATE_EPOCH").or_else(|| git(&["log", "-1", "--format=%ct"]));
        let seconds = seconds.map_or(Ok(0), |text| text.parse());
        Ok(Self {
            folder: folder.to_owned(),
            commit: commit.unwrap_or_else(|| "unknown".to_owned()),
            seconds: seconds.context("SOURCE_DATE_EPOCH is not a number of seconds")?,
        })
    }

    /// The same commit in another folder.
    pub fn copied_to(&self, folder: &Path) -> Result<Self> {
        copy(&self.folder, folder)?;
        Ok(Self { folder: folder.to_owned(), ..self.clone() })
    }

    /// The time of the commit as RFC 3339.
    pub fn created(&self) -> Result<String> {
        Ok(jiff::Timestamp::from_second(self.seconds)?.to_string())
    }

    /// Builds the program.
    pub fn program(&self) -> Result<Vec<u8>> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
            bail!("the image is built on Linux on x86_64 with glibc: use the Dockerfile, or such a machine");
        }
        let folder = self.folder.join("target/image");
        let mut cargo =
            self.cargo(&["build", "--release", "--locked", "--package", "capm3", "--target", TARGET]);
        finish(cargo.arg("--target-dir").arg(&folder).env("CAPM3_COMMIT", &self.commit))?;
        let program = folder.join(TARGET).join("release/capm3");
        fs::read(&program).with_context(|| format!("reading {}", program.display()))
    }

    /// Cargo in the folder, with the flags of the static program. They say what is linked, so `metadata` needs them too.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let replaced = replaced(&self.folder);
        let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
        flags
            .extend(replaced.iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display())));
        let c: Vec<String> =
            replaced.iter().map(|(from, to)| format!("-ffile-prefix-map={}={to}", from.display())).collect();
        let mut cargo = Command::new("cargo");
        cargo.args(arguments).current_dir(&self.folder);
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        cargo.env(format!("CFLAGS_{}", TARGET.replace('-', "_")), c.join(" "));
        // Neither flags nor profiles of somebody's environment may get in, nor what our own cargo says of this program: build
        // scripts look at it.
        for (name, _) in env::vars().filter(|(name, _)| FOREIGN.iter().any(|it| name.starts_with(it))) {
            cargo.env_remove(name);
        }
        // C sources that name the time of their compilation get this one.
        cargo.env("SOURCE_DATE_EPOCH", "0");
        cargo
    }
}

/// Copies a folder without what was built in it and without its history.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let to = to.join(&name);
        match entry.is_dir() {
            true if name == "target" || name == ".git" => {}
            true => copy(&entry, &to)?,
            false => drop(fs::copy(&entry, &to).with_context(|| format!("copying {}", entry.display()))?),
        }
    }
    Ok(())
}

/// Folders whose names the program must not have, and what it has instead.
fn replaced(folder: &Path) -> Vec<(PathBuf, &'static str)> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    home.map(|home| (home, "/cargo")).into_iter().chain([(folder.to_owned(), "/capm3")]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_written_as_registries_want_it() {
        let source = Source { folder: PathBuf::new(), commit: String::new(), seconds: 1_700_000_000 };
        assert_eq!(source.created().unwrap(), "2023-11-14T22:13:20Z");
    }

    #[test]
    fn a_copy_has_the_files_of_the_repository_and_nothing_that_was_built() {
        let folder = tempfile::tempdir().unwrap();
        let source = Source { folder: crate::repo::root(), commit: "c".to_owned(), seconds: 0 };
        let copy = source.copied_to(folder.path()).unwrap();
        assert_eq!((copy.commit.as_str(), copy.folder.as_path()), ("c", folder.path()));
        assert!(folder.path().join("crates/capm3/src/main.rs").exists());
        assert!(!folder.path().join("target").exists() && !folder.path().join(".git").exists());
    }
}

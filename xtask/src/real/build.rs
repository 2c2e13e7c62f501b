//! Builds the pinned binaries once into a cache.
//!
//! `CAPM3_KUBE_CACHE` names a cache that outlives the target folder; CI keeps it between runs.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::{
    folder, go,
    pins::{Binary, Pin},
    wait::{self, Stopwatch},
};

const HEARTBEAT: Duration = Duration::from_secs(15);

/// Path of the binary, built if it is not in the cache.
pub fn ensure(binary: Binary) -> Result<PathBuf> {
    let pin = Pin::load(binary)?;
    let folder = folder_of(&pin);
    let path = folder.join(binary.name());
    if !path.is_file() {
        build(binary, &pin, &folder, &path)?;
    }
    Ok(path)
}

/// Where the binaries of a pin are kept.
pub(super) fn folder_of(pin: &Pin) -> PathBuf {
    cache().join("bin").join(pin.digest())
}

/// Whether this machine can build them; says what is missing if not.
pub fn can() -> Result<()> {
    go::command().map(|_| ())
}

/// Builds every binary of the API server that is not in the cache.
pub fn all() -> Result<()> {
    for binary in [Binary::Etcd, Binary::ApiServer, Binary::ControllerManager, Binary::Kubectl] {
        ensure(binary)?;
    }
    Ok(())
}

fn cache() -> PathBuf {
    match env::var_os("CAPM3_KUBE_CACHE") {
        Some(named) => std::path::absolute(&named).unwrap_or_else(|_| named.into()),
        None => folder::kube(),
    }
}

fn build(binary: Binary, pin: &Pin, folder: &Path, path: &Path) -> Result<()> {
    let mut go = go::command()?;
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    // Beside its place and moved there when complete: an interrupted or a second build leaves no half binary.
    let beside =
        tempfile::tempdir_in(folder).with_context(|| format!("writing into {}", folder.display()))?;
    let output = beside.path().join(binary.name());
    let name = format!("{} {}", binary.name(), pin.version);
    eprintln!("building {name}; minutes on a cold machine, once");
    let watch = Stopwatch::start();
    go.args(pin.build_arguments(&output.display().to_string())).current_dir(&pin.folder);
    run_with_heartbeat(&mut go, &name)?;
    fs::rename(&output, path)
        .with_context(|| format!("moving {} to {}", output.display(), path.display()))?;
    eprintln!("built {name} in {} s", watch.elapsed().as_secs());
    Ok(())
}

fn run_with_heartbeat(go: &mut Command, name: &str) -> Result<()> {
    let mut child = go.spawn().context("starting `go`")?;
    let watch = Stopwatch::start();
    loop {
        match wait::until(HEARTBEAT, || Ok(child.try_wait()?))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => bail!(
                "building {name} failed: {status}; `go` says why above (a cold machine needs to reach a Go module proxy)"
            ),
            None => eprintln!("... still building {name}, {} s", watch.elapsed().as_secs()),
        }
    }
}

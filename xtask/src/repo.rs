//! Where the repository is and what files it has.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// Root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Rust files below a folder, by path.
pub fn rust_files(below: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Our own binary. A stage of `ci` builds the workspace again and with it us, so the file that we run from may be gone
/// by now; Linux has a name for it that lasts as long as we do.
pub fn ourselves() -> Result<PathBuf> {
    let lasting = Path::new("/proc/self/exe");
    if lasting.exists() {
        return Ok(lasting.to_owned());
    }
    env::current_exe().context("finding our own binary")
}

//! Says from which commit and for which target the program is built.
//!
//! `CAPM3_COMMIT` wins: whoever builds an image sets it. Otherwise a release build reads it from the repository, and again only
//! when that has moved; where there is no repository, and in a development build, which must not be built again for each
//! commit, it is `unknown`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

const COMMIT: &str = "CAPM3_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let given = env::var(COMMIT).ok().filter(|commit| !commit.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = given.or_else(|| if is_release { of_repository() } else { None });
    println!("cargo::rustc-env={COMMIT}={}", commit.as_deref().unwrap_or("unknown"));
    println!("cargo::rustc-env=CAPM3_TARGET={}", env::var("TARGET").unwrap_or_default());
}

/// The commit that is checked out. Without git, which need not be there: its files are enough.
fn of_repository() -> Option<String> {
    let git = folder()?;
    let head = git.join("HEAD");
    watch(&head);
    // Written by each commit, also where the branch has no file of its own yet.
    watch(&git.join("logs/HEAD"));
    let text = fs::read_to_string(head).ok()?;
    let Some(branch) = text.trim().strip_prefix("ref: ") else { return as_commit(&text) };
    // A worktree has its branches where the repository has them.
    let shared = fs::read_to_string(git.join("commondir"));
    let shared = shared.map_or_else(|_| git.clone(), |path| git.join(path.trim()));
    watch(&shared.join(branch));
    if let Ok(text) = fs::read_to_string(shared.join(branch)) {
        return as_commit(&text);
    }
    let packed = shared.join("packed-refs");
    watch(&packed);
    let text = fs::read_to_string(packed).ok()?;
    text.lines().find_map(|line| as_commit(line.strip_suffix(branch)?.strip_suffix(' ')?))
}

/// The folder `.git`, or where a file of that name leads.
fn folder() -> Option<PathBuf> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").ok()?).join("../..");
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = fs::read_to_string(&git).ok()?;
    Some(root.join(text.trim().strip_prefix("gitdir: ")?))
}

/// A file that is not there would count as changed each time.
fn watch(file: &Path) {
    if file.exists() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

fn as_commit(text: &str) -> Option<String> {
    let text = text.trim();
    (text.len() >= 40 && text.chars().all(|it| it.is_ascii_hexdigit())).then(|| text.to_owned())
}

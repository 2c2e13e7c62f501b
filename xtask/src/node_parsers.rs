//! `cargo xtask node-parsers`: has the programs of a node judge what the model says of them: cloud-init with all renderers,
//! netplan's `generate`, NetworkManager's `nmcli --offline`, and a validator of JSON schemas for that of Nova.
//!
//! All are Debian's own, with the Python and the libraries that they need, unpacked below `target/`; nothing is installed.

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    process::{Command, ExitStatus},
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{debian, repo};

/// What is unpacked: a package, and what names of packages that it needs begin with. The C library is the machine's.
const PACKAGES: [(&str, &[&str]); 3] = [
    ("cloud-init", &["cloud-init", "python3", "libpython3"]),
    (
        "netplan.io",
        &[
            "netplan.io",
            "libnetplan",
            "libyaml",
            "libglib2",
            "libffi",
            "libpcre2",
            "libuuid",
            "libsystemd0",
            "libcap2",
            "libgcrypt",
            "liblz4",
            "liblzma",
            "libzstd",
            "libgpg-error",
        ],
    ),
    (
        "libnm0",
        &[
            "libnm0",
            "libgnutls",
            "libudev",
            "libmount",
            "libselinux",
            "libgmp",
            "libhogweed",
            "libidn2",
            "libnettle",
            "libp11",
            "libtasn1",
            "libunistring",
            "libblkid",
            "zlib1g",
        ],
    ),
];
/// What is unpacked alone: `nmcli` needs little of what its package needs.
const ALONE: [&str; 3] = ["network-manager", "libreadline8", "libtinfo6"];

const WORK: &str = "node-parsers";
const TEST: [&str; 8] = [
    "test",
    "--locked",
    "--package",
    "capm3-offline",
    "--test",
    "node_parsers",
    "the_model_says_of_every_document_what_the_programs_of_a_node_make_of_it",
    "--",
];

/// Which documents.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// How many documents are generated
    #[arg(long, value_name = "N", default_value_t = 80)]
    documents: u32,
    /// Other seeds, other documents
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only the document of this number
    #[arg(long, value_name = "NUMBER")]
    document: Option<u64>,
}

impl Options {
    /// What CI tries.
    pub fn sample() -> Self {
        Self { documents: 80, seed: 1, document: None }
    }
}

/// Why it cannot run here at all; unpacks the packages if they are not there.
pub fn obstacle() -> Option<String> {
    unpacked().err().map(|error| format!("{error:#}"))
}

/// Has the programs judge the documents.
pub fn run(options: &Options) -> Result<()> {
    let root = unpacked()?;
    let mut cargo = Command::new("cargo");
    cargo.args(TEST).args(["--ignored", "--nocapture"]).current_dir(repo::root());
    cargo.env("CAPM3_NODE_PARSERS", &root).env("CAPM3_SEED", options.seed.to_string());
    cargo.env("CAPM3_DOCUMENTS", options.documents.to_string());
    if let Some(number) = options.document {
        cargo.env("CAPM3_DOCUMENT", number.to_string());
    }
    let status: ExitStatus = cargo.status()?;
    ensure!(status.success(), "the model and the programs disagree: {status}");
    Ok(())
}

/// The folder that would be `/`, with the version of cloud-init in a file.
fn unpacked() -> Result<PathBuf> {
    let folder = repo::root().join("target").join(WORK);
    let root = if folder.join("root").exists() {
        folder.join("root")
    } else {
        debian::unpacked(WORK, &packages()?)?
    };
    let file = root.join("cloud-init.version");
    if !file.exists() {
        fs::write(&file, version(&root)?)?;
    }
    Ok(root)
}

fn packages() -> Result<Vec<String>> {
    // Without lists of packages nobody knows what is needed.
    let first = PACKAGES.first().map(|(package, _)| *package).unwrap_or_default();
    if debian::needed_by(first, &[first])?.is_empty() {
        debian::update()?;
    }
    let mut packages: BTreeSet<String> = ALONE.into_iter().map(str::to_owned).collect();
    for (package, beginnings) in PACKAGES {
        packages.extend(debian::needed_by(package, beginnings)?);
    }
    Ok(packages.into_iter().collect())
}

/// The version of the package, from the head of its changelog: `cloud-init (VERSION) SUITE; ...`.
fn version(root: &std::path::Path) -> Result<String> {
    let changelog = root.join("usr/share/doc/cloud-init/changelog.Debian.gz");
    let output = Command::new("gzip").args(["--decompress", "--stdout"]).arg(&changelog).output();
    let output = output.context("starting gzip")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(version, _)| version.to_owned());
    version.with_context(|| format!("{} names no version", changelog.display()))
}

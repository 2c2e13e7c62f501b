//! The local repository from which clusterctl installs: releases of Cluster API and ours, one folder a provider and version, and
//! the configuration that names them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::real::components::{Components, METADATA, PROVIDERS};

/// Our version, as a release has it.
const OURS: &str = concat!("v", env!("CARGO_PKG_VERSION"));
/// Our folder in a repository.
const OUR_LABEL: &str = "infrastructure-metal3";

/// A repository that is removed when it is dropped.
pub struct Repository {
    folder: TempDir,
    /// What `clusterctl init` is asked for.
    pub wanted: Vec<String>,
}

impl Repository {
    /// Writes the releases; ours is what `capm3 manifests` gives.
    pub fn create(binary: &Path, components: &Components) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let version = components.version.as_str();
        let (mut providers, mut wanted) = (Vec::new(), Vec::new());
        for provider in PROVIDERS {
            let release = release(folder.path(), provider.label, version)?;
            for file in [provider.file, METADATA] {
                fs::copy(components.folder.join(file), release.join(file)).context("copying a release")?;
            }
            let url = release.join(provider.file);
            providers.push(json!({"name": provider.name, "type": provider.kind, "url": url}));
            let flag = provider.kind.trim_end_matches("Provider");
            let flag = if flag == "ControlPlane" { "control-plane".to_owned() } else { flag.to_lowercase() };
            wanted.push(format!("--{flag}={}:{version}", provider.name));
        }
        let release = release(folder.path(), OUR_LABEL, OURS)?;
        let mut manifests = Command::new(binary);
        manifests.args(["manifests", "--format=clusterctl", "--enable-ipam", "--output"]).arg(&release);
        let output = manifests.output().context("starting capm3")?;
        ensure!(output.status.success(), "capm3 manifests: {}", String::from_utf8_lossy(&output.stderr));
        let url = release.join("infrastructure-components.yaml");
        providers.push(json!({"name": "metal3", "type": "InfrastructureProvider", "url": url}));
        wanted.push(format!("--infrastructure=metal3:{OURS}"));
        let repository = Self { folder, wanted };
        // JSON is YAML.
        fs::write(repository.configuration(), json!({"providers": providers}).to_string())?;
        Ok(repository)
    }

    /// The configuration of clusterctl.
    pub fn configuration(&self) -> PathBuf {
        self.folder.path().join("clusterctl.yaml")
    }

    /// Where clusterctl may keep what it keeps for a user.
    pub fn home(&self) -> &Path {
        self.folder.path()
    }

    /// The example of the variables in our release, as names and values.
    pub fn variables(&self) -> Result<Vec<(String, String)>> {
        let file = self.folder.path().join(OUR_LABEL).join(OURS).join("example_variables.rc");
        let script = format!("env -i sh -c 'set -a; . {}; env -0'", file.display());
        let output = Command::new("sh").args(["-c", &script]).output().context("starting sh")?;
        let text = String::from_utf8(output.stdout)?;
        let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
        let ours: Vec<(String, String)> = pairs
            .filter(|(name, _)| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        ensure!(!ours.is_empty(), "{} sets no variable", file.display());
        Ok(ours)
    }
}

fn release(repository: &Path, label: &str, version: &str) -> Result<PathBuf> {
    let folder = repository.join(label).join(version);
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder)
}

/// Documents of a YAML text.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).context("reading YAML")?;
    Ok(all.into_iter().filter(|it| !it.is_null()).collect())
}

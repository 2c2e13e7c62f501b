//! The components of Cluster API as its release has them: made by kustomize from the pinned module, once, into the cache of the
//! binaries.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    build, go,
    pins::{Binary, CLUSTER_API, Pin},
};

/// A provider of Cluster API itself.
#[derive(Debug, Clone, Copy)]
pub struct Provider {
    /// Value of the label by which clusterctl knows its objects, and its folder in a repository.
    pub label: &'static str,
    /// The name in the configuration of clusterctl, and the kind.
    pub name: &'static str,
    pub kind: &'static str,
    pub binary: Binary,
    /// Where its objects are.
    pub namespace: &'static str,
    /// Its service account.
    pub account: &'static str,
    /// The file of its release.
    pub file: &'static str,
    /// The folder for kustomize in the module.
    folder: &'static str,
}

/// Core, bootstrap and control plane.
pub const PROVIDERS: [Provider; 3] = [
    Provider {
        label: "cluster-api",
        name: "cluster-api",
        kind: "CoreProvider",
        binary: Binary::ClusterApi,
        namespace: "capi-system",
        account: "capi-manager",
        file: "core-components.yaml",
        folder: "core/config/default",
    },
    Provider {
        label: "bootstrap-kubeadm",
        name: "kubeadm",
        kind: "BootstrapProvider",
        binary: Binary::KubeadmBootstrap,
        namespace: "capi-kubeadm-bootstrap-system",
        account: "capi-kubeadm-bootstrap-manager",
        file: "bootstrap-components.yaml",
        folder: "bootstrap/kubeadm/config/default",
    },
    Provider {
        label: "control-plane-kubeadm",
        name: "kubeadm",
        kind: "ControlPlaneProvider",
        binary: Binary::KubeadmControlPlane,
        namespace: "capi-kubeadm-control-plane-system",
        account: "capi-kubeadm-control-plane-manager",
        file: "control-plane-components.yaml",
        folder: "controlplane/kubeadm/config/default",
    },
];

/// The file that tells clusterctl which contract a version fulfils.
pub const METADATA: &str = "metadata.yaml";

/// Components of a version of Cluster API.
pub struct Components {
    pub version: String,
    /// Folder with the file of each provider and [`METADATA`].
    pub folder: PathBuf,
}

/// The components, made if they are not in the cache.
pub fn ensure() -> Result<Components> {
    let pin = Pin::load(Binary::Clusterctl)?;
    let binaries = build::folder_of(&pin);
    let folder = binaries.join("components");
    if !folder.is_dir() {
        make(&pin, &binaries, &folder)?;
    }
    Ok(Components { version: pin.version, folder })
}

fn make(pin: &Pin, binaries: &Path, folder: &Path) -> Result<()> {
    let module = module(pin)?;
    fs::create_dir_all(binaries).with_context(|| format!("creating {}", binaries.display()))?;
    let beside = tempfile::tempdir_in(binaries)?;
    let kubectl = build::ensure(Binary::Kubectl)?;
    for provider in PROVIDERS {
        let mut kustomize = Command::new(&kubectl);
        kustomize.arg("kustomize").arg(module.join(provider.folder));
        let built = succeeded(&mut kustomize)?.stdout;
        let path = beside.path().join(provider.file);
        fs::write(&path, built).with_context(|| format!("writing {}", path.display()))?;
    }
    fs::copy(module.join(METADATA), beside.path().join(METADATA)).context("copying the metadata")?;
    // Moved there when complete, as the binaries are.
    let made = beside.keep();
    fs::rename(&made, folder).with_context(|| format!("moving {} to {}", made.display(), folder.display()))
}

/// Where the source of the module is, fetched if it is not there.
fn module(pin: &Pin) -> Result<PathBuf> {
    let mut go = go::command()?;
    go.args(["mod", "download", "-json", CLUSTER_API]).current_dir(&pin.folder);
    let module: Value =
        serde_json::from_slice(&succeeded(&mut go)?.stdout).context("reading what `go` says")?;
    let folder = module.get("Dir").and_then(Value::as_str).context("`go` names no folder of the module")?;
    Ok(folder.into())
}

fn succeeded(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("starting {:?}", command.get_program()))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output)
}

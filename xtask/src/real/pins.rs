//! Which binaries the real server needs and which versions `tools/kube` pins.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::repo;

/// A binary that is built from a pinned Go module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Etcd,
    ApiServer,
    ControllerManager,
    Kubectl,
    /// Cluster API's manager of Clusters, Machines, MachineSets and MachineDeployments.
    ClusterApi,
    KubeadmBootstrap,
    KubeadmControlPlane,
    Clusterctl,
}

/// The module of Cluster API.
pub const CLUSTER_API: &str = "sigs.k8s.io/cluster-api";

impl Binary {
    /// File name of the binary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::ClusterApi => "cluster-api-manager",
            Self::KubeadmBootstrap => "kubeadm-bootstrap-manager",
            Self::KubeadmControlPlane => "kubeadm-control-plane-manager",
            Self::Clusterctl => "clusterctl",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::ApiServer => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::ControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::ClusterApi => "sigs.k8s.io/cluster-api/core",
            Self::KubeadmBootstrap => "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
            Self::KubeadmControlPlane => "sigs.k8s.io/cluster-api/controlplane/kubeadm",
            Self::Clusterctl => "sigs.k8s.io/cluster-api/cmd/clusterctl",
        }
    }

    /// The Go module whose version is the version of the binary.
    fn module(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::ApiServer | Self::ControllerManager | Self::Kubectl => "k8s.io/kubernetes",
            Self::ClusterApi | Self::KubeadmBootstrap | Self::KubeadmControlPlane | Self::Clusterctl => {
                CLUSTER_API
            }
        }
    }

    fn folder(self) -> PathBuf {
        let name = match self {
            Self::Etcd => "etcd",
            Self::ApiServer | Self::ControllerManager | Self::Kubectl => "kubernetes",
            Self::ClusterApi | Self::KubeadmBootstrap | Self::KubeadmControlPlane | Self::Clusterctl => {
                "cluster-api"
            }
        };
        repo::root().join("tools/kube").join(name)
    }
}

/// How one binary is built: its module files and the arguments for `go`.
#[derive(Debug)]
pub struct Pin {
    /// Folder with `go.mod`, where `go` runs.
    pub folder: PathBuf,
    /// Version such as `v1.36.3`.
    pub version: String,
    package: &'static str,
    go_mod: String,
    go_sum: String,
}

impl Pin {
    /// Reads the module files of a binary.
    pub fn load(binary: Binary) -> Result<Self> {
        let folder = binary.folder();
        let read = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
        };
        let go_mod = read("go.mod")?;
        let version = required_version(&go_mod, binary.module())
            .with_context(|| {
                let file = folder.join("go.mod");
                format!("{} requires no version of {}", file.display(), binary.module())
            })?
            .to_owned();
        Ok(Self { version, package: binary.package(), go_sum: read("go.sum")?, go_mod, folder })
    }

    /// Arguments for `go`.
    pub fn build_arguments(&self, output: &str) -> Vec<String> {
        let flags = format!("-s -w{}", version_flags(self.package, &self.version));
        ["build", "-mod=readonly", "-trimpath", "-ldflags", &flags, "-o", output, self.package]
            .map(str::to_owned)
            .to_vec()
    }

    /// Changes when the pin, the recipe or the machine changes.
    pub fn digest(&self) -> String {
        let recipe = self.build_arguments("").join("\n");
        digest(&[&self.go_mod, &self.go_sum, &recipe, std::env::consts::OS, std::env::consts::ARCH])
    }
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // With its length, so that text that moves from one part to the next is a change.
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Kubernetes and Cluster API get their versions from the linker; without them clients find a server whose version they cannot
/// parse, and clusterctl refuses to work.
fn version_flags(package: &str, version: &str) -> String {
    let package = match package.split_once('/') {
        Some(("k8s.io", _)) => "k8s.io/component-base/version",
        Some(("sigs.k8s.io", _)) => "sigs.k8s.io/cluster-api/version",
        _ => return String::new(),
    };
    let (major, minor) = major_minor(version);
    [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)]
        .map(|(name, value)| format!(" -X {package}.{name}={value}"))
        .concat()
}

fn required_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let mut words = line.trim().trim_start_matches("require ").split_whitespace();
        let is_it = words.next() == Some(module);
        words.next().filter(|word| is_it && word.starts_with('v'))
    })
}

fn major_minor(version: &str) -> (&str, &str) {
    let mut numbers = version.trim_start_matches('v').split('.');
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Binary; 8] = [
        Binary::Etcd,
        Binary::ApiServer,
        Binary::ControllerManager,
        Binary::Kubectl,
        Binary::ClusterApi,
        Binary::KubeadmBootstrap,
        Binary::KubeadmControlPlane,
        Binary::Clusterctl,
    ];

    #[test]
    fn a_version_is_read_from_a_line_and_from_a_block() {
        let text =
            "require a.b/c v1.2.3\nrequire (\n\td.e/f/v2 v2.0.1 // indirect\n)\nreplace g.h => g.h v0.1.0\n";
        assert_eq!(required_version(text, "a.b/c"), Some("v1.2.3"));
        assert_eq!(required_version(text, "d.e/f/v2"), Some("v2.0.1"));
        assert_eq!(required_version(text, "g.h"), None);
    }

    #[test]
    fn every_binary_has_a_pin_and_is_a_tool_of_its_module() {
        for binary in ALL {
            let pin = Pin::load(binary).unwrap();
            assert!(pin.version.starts_with('v'), "{binary:?}: {}", pin.version);
            assert!(pin.go_mod.contains(binary.package()), "{binary:?}");
        }
    }

    #[test]
    fn the_staging_modules_are_of_the_pinned_release() {
        let pin = Pin::load(Binary::ApiServer).unwrap();
        let staging = pin.version.replacen("v1.", "v0.", 1);
        let replaced: Vec<&str> = pin.go_mod.lines().filter(|line| line.contains("=>")).collect();
        assert!(!replaced.is_empty());
        for line in replaced {
            assert!(line.ends_with(&format!(" {staging}")), "{line} is not {staging}");
        }
    }

    #[test]
    fn kubernetes_is_built_with_its_version() {
        let flags = version_flags(Binary::ApiServer.package(), "v1.36.3");
        for (name, value) in [("gitVersion", "v1.36.3"), ("gitMajor", "1"), ("gitMinor", "36")] {
            let flag = format!(" -X k8s.io/component-base/version.{name}={value}");
            assert!(flags.contains(&flag), "{flags}");
        }
        assert_eq!(version_flags(Binary::Etcd.package(), "v3.6.16"), "");
    }

    #[test]
    fn cluster_api_is_built_with_its_version_and_its_api_is_of_the_same() {
        let pin = Pin::load(Binary::Clusterctl).unwrap();
        let flags = version_flags(pin.package, &pin.version);
        assert!(flags.contains(&format!(" -X sigs.k8s.io/cluster-api/version.gitVersion={}", pin.version)));
        let replaced: Vec<&str> = pin.go_mod.lines().filter(|line| line.contains("=>")).collect();
        assert_eq!(replaced.len(), 1, "{replaced:?}");
        assert!(replaced[0].ends_with(&format!("/api {}", pin.version)), "{replaced:?}");
    }

    #[test]
    fn the_package_is_the_last_argument_of_a_build() {
        let arguments = Pin::load(Binary::Kubectl).unwrap().build_arguments("out");
        assert_eq!(arguments.first().unwrap(), "build");
        assert_eq!(arguments.last().unwrap(), "k8s.io/kubernetes/cmd/kubectl");
    }

    #[test]
    fn a_changed_part_changes_the_digest() {
        assert_eq!(digest(&["a", "b"]), digest(&["a", "b"]));
        assert_ne!(digest(&["a", "b"]), digest(&["a", "c"]));
        assert_ne!(digest(&["ab", ""]), digest(&["a", "b"]));
    }
}

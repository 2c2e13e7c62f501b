//! Where things are: the folder of one running cluster and the files in it.

use std::{
    env, fs,
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::repo;

/// What belongs to the real server below the target folder.
pub fn kube() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| repo::root().join("target"), PathBuf::from);
    let kube = target.join("kube");
    std::path::absolute(&kube).unwrap_or(kube)
}

/// Folder of the folders of running clusters.
pub fn runs() -> PathBuf {
    kube().join("run")
}

/// The folder of one cluster: data, keys, logs. Only its owner may look inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// A folder that may or may not exist.
    pub fn at(path: &Path) -> Self {
        Self(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// The folder that `real up` and `real down` mean when none is named.
    pub fn usual() -> Self {
        Self(runs().join("up"))
    }

    /// A folder with a name of its own that does not exist yet.
    pub fn unused() -> Self {
        let mut number = 1;
        loop {
            let path = runs().join(format!("{}-{number}", std::process::id()));
            if !path.exists() {
                return Self(path);
            }
            number += 1;
        }
    }

    /// Makes the folder; an empty one is taken as it is, one with foreign content is left alone.
    pub fn create(&self) -> Result<()> {
        let context = || format!("creating {}", self.0.display());
        if fs::read_dir(&self.0).is_ok_and(|mut entries| entries.next().is_some()) {
            bail!("{} is not empty and holds no cluster of ours: name another --dir", self.0.display());
        }
        if let Some(parent) = self.0.parent() {
            fs::create_dir_all(parent).with_context(context)?;
        }
        if self.0.is_dir() {
            fs::remove_dir(&self.0).with_context(context)?;
        }
        fs::DirBuilder::new().mode(0o700).create(&self.0).with_context(context)
    }

    /// Removes the folder and everything in it.
    pub fn remove(&self) -> Result<()> {
        fs::remove_dir_all(&self.0).with_context(|| format!("removing {}", self.0.display()))
    }

    /// Writes a file that only its owner may read.
    pub fn write(&self, file: &Path, text: &str) -> Result<()> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut open = options.open(file).with_context(|| format!("writing {}", file.display()))?;
        open.write_all(text.as_bytes()).with_context(|| format!("writing {}", file.display()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn state(&self) -> PathBuf {
        self.0.join("state.json")
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.0.join("kubeconfig")
    }

    pub fn controller_manager_kubeconfig(&self) -> PathBuf {
        self.0.join("kube-controller-manager.kubeconfig")
    }

    pub fn authority(&self) -> PathBuf {
        self.0.join("ca.crt")
    }

    pub fn server_certificate(&self) -> PathBuf {
        self.0.join("server.crt")
    }

    pub fn server_key(&self) -> PathBuf {
        self.0.join("server.key")
    }

    pub fn token_private_key(&self) -> PathBuf {
        self.0.join("service-account.key")
    }

    pub fn token_public_key(&self) -> PathBuf {
        self.0.join("service-account.pub")
    }

    pub fn etcd_data(&self) -> PathBuf {
        self.0.join("etcd")
    }

    pub fn audit_policy(&self) -> PathBuf {
        self.0.join("audit-policy.yaml")
    }

    pub fn audit_log(&self) -> PathBuf {
        self.0.join("audit.log")
    }

    /// A file of the API server of a workload cluster.
    pub fn of_workload(&self, name: &str, what: &str) -> PathBuf {
        self.0.join(format!("{name}.{what}"))
    }

    /// What a process prints.
    pub fn log(&self, process: &str) -> PathBuf {
        self.0.join(format!("{process}.log"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn keys_can_be_read_by_their_owner_only() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(&temporary.path().join("a/b"));
        folder.create().unwrap();
        folder.write(&folder.server_key(), "secret").unwrap();
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(&folder.server_key()), 0o600);
        folder.remove().unwrap();
        assert!(!folder.path().exists());
    }

    #[test]
    fn a_folder_with_foreign_content_is_left_alone() {
        let temporary = tempfile::tempdir().unwrap();
        fs::write(temporary.path().join("diary"), "mine").unwrap();
        let refusal = RunFolder::at(temporary.path()).create().unwrap_err().to_string();
        assert!(refusal.contains("is not empty"), "{refusal}");
        assert!(temporary.path().join("diary").exists());
    }
}

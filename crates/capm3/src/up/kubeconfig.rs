//! The kubeconfig of a running `up`: a file of its own, never the user's default one, gone when `up` ends.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use capm3_engine::{manifests::Document, rng::unguessable};
use serde_json::Value;

use crate::{exit, quote::quoted};

/// A kubeconfig on disk; dropping it removes it.
pub struct KubeconfigFile {
    folder: PathBuf,
    path: PathBuf,
}

impl KubeconfigFile {
    /// Writes it into a folder below `parent` that only its owner can read. Its name has the port, which must be ours
    /// already, and the process: what an earlier `up` on that port was killed too fast to remove goes. It ends in
    /// something that nobody can guess, so that nobody else can make the folder before us.
    pub fn write(parent: &Path, port: u16, text: &str) -> io::Result<Self> {
        let parent = std::path::absolute(parent)?;
        remove_stale_folders(&parent, port);
        let chance = unguessable()?;
        let folder = parent.join(format!("{}{}-{chance}", folder_prefix(port), std::process::id()));
        let of_folder =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
        DirBuilder::new().mode(0o700).create(&folder).map_err(of_folder)?;
        let file = Self { path: folder.join("kubeconfig"), folder };
        let mut handle = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.path)?;
        handle.write_all(text.as_bytes())?;
        Ok(file)
    }

    /// The command that makes kubectl use it.
    pub fn export(&self) -> String {
        format!("export KUBECONFIG={}", quoted(&self.path.to_string_lossy()))
    }
}

/// The namespace that its context names: that of the manifests if all share one.
pub fn namespace(documents: &[Document]) -> String {
    let mut namespaces =
        documents.iter().map(|document| document.key().namespace).filter(|name| !name.is_empty());
    let first = namespaces.next();
    first.filter(|first| namespaces.all(|next| next == *first)).unwrap_or_else(|| "default".to_owned())
}

/// A context for a simulated workload cluster.
#[derive(Debug, PartialEq, Eq)]
pub struct Context {
    /// How kubectl is asked for it.
    pub name: String,
    /// `namespace/name` of the Cluster.
    pub cluster: String,
}

/// Names of the contexts for the management API.
const TAKEN: [&str; 2] = ["capm3", "capm3-token"];

/// The context of each Cluster of the manifests: named as the Cluster, and after its namespace too if that name is taken.
pub fn contexts(documents: &[Document]) -> Vec<Context> {
    let mut contexts: Vec<Context> = Vec::new();
    for key in documents.iter().filter(|it| is_cluster(it)).map(Document::key) {
        let namespace = if key.namespace.is_empty() { "default" } else { &key.namespace };
        let is_taken = |name: &str| TAKEN.contains(&name) || contexts.iter().any(|it| it.name == name);
        let full = format!("{namespace}-{}", key.name);
        let name = if is_taken(&key.name) { full } else { key.name.clone() };
        if !is_taken(&name) {
            contexts.push(Context { name, cluster: format!("{namespace}/{}", key.name) });
        }
    }
    contexts
}

fn is_cluster(document: &Document) -> bool {
    let text = |member: &str| document.value.get(member).and_then(Value::as_str).unwrap_or_default();
    text("kind") == "Cluster" && text("apiVersion").starts_with("cluster.x-k8s.io/")
}

fn folder_prefix(port: u16) -> String {
    format!("capm3-up-{port}-")
}

/// The process that made a folder of this name for this port; `None` if no `up` gives such a name. Older ones end with
/// the process.
fn owner(name: &str, port: u16) -> Option<&str> {
    let rest = name.strip_prefix(&folder_prefix(port))?;
    let (process, chance) = rest.split_once('-').unwrap_or((rest, "0"));
    let is_number = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    let is_chance = !chance.is_empty() && chance.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_number && is_chance).then_some(process)
}

/// What cannot be removed, such as a folder of another user, stays.
fn remove_stale_folders(parent: &Path, port: u16) {
    // Another one may run on the same port of another loopback address.
    let is_left = |name: &str| owner(name, port).is_some_and(|id| !Path::new("/proc").join(id).exists());
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_left) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            exit::say(format_args!("cannot remove {}: {error}", self.folder.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_its_owner_can_read_it_and_it_goes_with_the_program() {
        let parent = tempfile::tempdir().unwrap();
        let file = KubeconfigFile::write(parent.path(), 1, "text").unwrap();
        let path = file.path.clone();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&file.folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_one_left_on_the_same_port_goes_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let running = format!("capm3-up-7-{}-0af3", std::os::unix::process::parent_id());
        let names = [
            "capm3-up-7-99999999",
            "capm3-up-7-99999999-0af3",
            &running,
            "capm3-up-7-mine",
            "capm3-up-7-99999999-mine",
            "capm3-up-77-99999999-0af3",
            "other",
        ];
        for name in names {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        let _file = KubeconfigFile::write(parent.path(), 7, "text").unwrap();
        let left: Vec<_> = names.into_iter().filter(|name| parent.path().join(name).exists()).collect();
        let stays =
            [&running, "capm3-up-7-mine", "capm3-up-7-99999999-mine", "capm3-up-77-99999999-0af3", "other"];
        assert_eq!(left, stays);
    }

    #[test]
    fn the_context_names_the_namespace_that_all_manifests_share() {
        let document = |kind: &str, namespace: Option<&str>| {
            let metadata = serde_json::json!({"name": "x", "namespace": namespace});
            Document::made("f", serde_json::json!({"kind": kind, "metadata": metadata}))
        };
        let space = document("Namespace", None);
        let (a, b, none) =
            (document("Secret", Some("a")), document("Cluster", Some("b")), document("Secret", None));
        let table = [
            (vec![], "default"),
            (vec![&space], "default"),
            (vec![&space, &a, &a], "a"),
            (vec![&none], "default"),
            (vec![&a, &space, &b], "default"),
            (vec![&a, &none], "default"),
        ];
        for (documents, expected) in table {
            let documents: Vec<Document> = documents.into_iter().cloned().collect();
            assert_eq!(namespace(&documents), expected, "{documents:?}");
        }
    }

    #[test]
    fn each_cluster_has_a_context_of_its_name_or_of_its_namespace_and_name() {
        let document = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| {
            let metadata = serde_json::json!({"name": name, "namespace": namespace});
            Document::made(
                "f",
                serde_json::json!({"apiVersion": api_version, "kind": kind, "metadata": metadata}),
            )
        };
        let cluster = |namespace, name| document("cluster.x-k8s.io/v1beta2", "Cluster", namespace, name);
        let documents = [
            cluster(Some("a"), "c"),
            document("v1", "Secret", Some("a"), "s"),
            document("postgresql.cnpg.io/v1", "Cluster", Some("a"), "other"),
            cluster(Some("b"), "c"),
            cluster(None, "capm3"),
        ];
        let found: Vec<String> =
            contexts(&documents).iter().map(|it| format!("{} {}", it.name, it.cluster)).collect();
        assert_eq!(found, ["c a/c", "b-c b/c", "default-capm3 default/capm3"]);
    }

    #[test]
    fn the_name_of_the_folder_cannot_be_guessed() {
        let parent = tempfile::tempdir().unwrap();
        let name = |file: &KubeconfigFile| file.folder.file_name().unwrap().to_str().unwrap().to_owned();
        let one = KubeconfigFile::write(parent.path(), 1, "text").unwrap();
        let other = KubeconfigFile::write(parent.path(), 1, "text").unwrap();
        let known = format!("capm3-up-1-{}-", std::process::id());
        for file in [&one, &other] {
            let chance = name(file).strip_prefix(&known).map(str::to_owned).unwrap();
            assert_eq!(chance.len(), 32, "{chance}");
        }
        assert_ne!(name(&one), name(&other));
    }

    #[test]
    fn the_command_can_be_pasted_whatever_the_path() {
        let parent = tempfile::tempdir().unwrap();
        let odd = parent.path().join("it's here");
        fs::create_dir(&odd).unwrap();
        let export = KubeconfigFile::write(&odd, 1, "text").unwrap().export();
        assert!(export.contains(r"it'\''s here/capm3-up-1-"), "{export}");
        let plain = KubeconfigFile::write(parent.path(), 1, "text").unwrap().export();
        assert!(!plain.contains('\''), "{plain}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let error = KubeconfigFile::write(Path::new("/nowhere/at/all"), 1, "text").err().unwrap();
        assert!(error.to_string().starts_with("/nowhere/at/all/capm3-up-1-"), "{error}");
    }
}

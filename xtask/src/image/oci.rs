//! The documents of an OCI image and the archive that holds them, from trees of files and what describes them.
//!
//! Nothing in it depends on where or when it is made: the same input gives the same digest.

use std::{
    fs,
    io::{Seek, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tar::{self, Node, Tree};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// An image before it is put together.
pub struct Image {
    /// Name and tag.
    pub reference: String,
    /// `org.opencontainers.image.*`.
    pub labels: Value,
    /// When, as in RFC 3339.
    pub created: String,
    /// What each layer adds, and what it is.
    pub layers: Vec<(&'static str, Tree)>,
}

/// An archive and the digest by which a registry would know its image.
pub struct Archive {
    pub bytes: Vec<u8>,
    pub digest: String,
    /// Bytes of the layers before they are compressed.
    pub unpacked: usize,
}

/// User and group of the process, whom the Deployment names too.
pub const USER: &str = "65532:65532";
/// What is started: existing Deployments name it.
pub const ENTRYPOINT: &str = "/manager";

impl Image {
    /// Puts it together.
    pub fn archive(&self) -> Result<Archive> {
        let mut files =
            Tree::from([("blobs".to_owned(), Node::Folder), ("blobs/sha256".to_owned(), Node::Folder)]);
        let (mut layers, mut ids, mut unpacked) = (Vec::new(), Vec::new(), 0);
        for (_, tree) in &self.layers {
            let plain = tar::archive(tree)?;
            unpacked += plain.len();
            ids.push(digest(&plain));
            layers.push(add(&mut files, LAYER, gzip(&plain)?));
        }
        let config = add(&mut files, CONFIG, document(&self.config(&ids)));
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        let mut manifest = add(&mut files, MANIFEST, document(&manifest));
        let digest = manifest.get("digest").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(manifest) = manifest.as_object_mut() {
            // The first for Podman and Skopeo, the second for containerd.
            let names = json!({"org.opencontainers.image.ref.name": self.reference, "io.containerd.image.name": self.reference});
            manifest.insert("annotations".to_owned(), names);
            manifest.insert("platform".to_owned(), json!({"architecture": "amd64", "os": "linux"}));
        }
        let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]});
        // Versions of Docker that know no OCI archive read this one.
        let docker = json!([{"Config": path(&config), "RepoTags": [self.reference], "Layers": layers.iter().map(path).collect::<Vec<_>>()}]);
        for (name, content) in [
            ("oci-layout", json!({"imageLayoutVersion": "1.0.0"})),
            ("index.json", index),
            ("manifest.json", docker),
        ] {
            files.insert(name.to_owned(), Node::File(document(&content)));
        }
        Ok(Archive { bytes: tar::archive(&files)?, digest, unpacked })
    }

    fn config(&self, ids: &[String]) -> Value {
        let step = |(what, _): &(&str, Tree)| json!({"created": self.created, "created_by": format!("cargo xtask image: {what}")});
        json!({
            "architecture": "amd64",
            "os": "linux",
            "created": self.created,
            "config": {
                "User": USER,
                "Entrypoint": [ENTRYPOINT],
                "WorkingDir": "/",
                "Env": ["PATH=/"],
                "ExposedPorts": {"8443/tcp": {}, "9440/tcp": {}, "9443/tcp": {}},
                "Labels": self.labels,
            },
            "rootfs": {"type": "layers", "diff_ids": ids},
            "history": self.layers.iter().map(step).collect::<Vec<_>>(),
        })
    }
}

fn document(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Adds a blob; gives its descriptor.
fn add(files: &mut Tree, kind: &str, content: Vec<u8>) -> Value {
    let descriptor = json!({"mediaType": kind, "digest": digest(&content), "size": content.len()});
    files.insert(path(&descriptor), Node::File(content));
    descriptor
}

/// Where a blob is in the archive.
fn path(descriptor: &Value) -> String {
    let digest = descriptor.get("digest").and_then(Value::as_str).unwrap_or_default();
    format!("blobs/{}", digest.replace(':', "/"))
}

/// The digest of some bytes, with its algorithm.
pub fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Compresses by the program of the system, which with `-n` writes neither name nor time.
fn gzip(plain: &[u8]) -> Result<Vec<u8>> {
    let mut input = tempfile::tempfile()?;
    input.write_all(plain)?;
    input.rewind()?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-n", "-9", "-c"]).stdin(input).stderr(Stdio::inherit()).env_remove("GZIP");
    let output = gzip.output().context("starting gzip")?;
    ensure!(output.status.success(), "{gzip:?} failed: {}", output.status);
    Ok(output.stdout)
}

/// Writes the files of an image to a folder that is empty or not there.
pub fn write(image: &Image, folder: &Path) -> Result<()> {
    let empty = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    ensure!(empty, "{} is not empty", folder.display());
    fs::create_dir_all(folder)?;
    for (path, node) in image.layers.iter().flat_map(|(_, tree)| tree) {
        let path = folder.join(path);
        let written = match node {
            Node::Folder => fs::create_dir_all(&path),
            Node::File(content) => fs::write(&path, content).and_then(|()| mode(&path, 0o644)),
            Node::Program(content) => fs::write(&path, content).and_then(|()| mode(&path, 0o755)),
            Node::Link(target) => std::os::unix::fs::symlink(target, &path),
        };
        written.with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(test)]
#[path = "oci_tests.rs"]
mod tests;

//! What is in the image: the program, who its user is, the authorities that the world trusts, licence and bill of materials.
//!
//! No shell, no libraries, no `/tmp`: nothing is written. What a pod brings (hosts, resolv.conf, its service account,
//! certificates) is mounted.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    oci::Image,
    source::Source,
    tar::{Node, Tree},
};

/// Where the bill of materials is.
pub const BILL: &str = "usr/share/sbom/capm3.cdx.json";

const PASSWD: &str = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nnonroot:x:65532:\n";

/// The image of a program that was built from a source.
pub fn image(source: &Source, program: Vec<u8>, bill: &Value) -> Result<Image> {
    let licence = source.folder.join("LICENSE");
    let licence = fs::read(&licence).with_context(|| format!("reading {}", licence.display()))?;
    Ok(Image {
        reference: capm3_install::default_image(),
        labels: labels(source),
        created: source.created()?,
        layers: vec![("users and authorities", base()), ("capm3", product(program, licence, bill))],
    })
}

fn labels(source: &Source) -> Value {
    json!({
        "org.opencontainers.image.title": "capm3",
        "org.opencontainers.image.description": "Cluster API Provider Metal3 in Rust",
        "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
        "org.opencontainers.image.revision": source.commit,
        "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
    })
}

/// What changes seldom.
fn base() -> Tree {
    let file = |text: String| Node::File(text.into_bytes());
    tree([
        ("etc/passwd", file(PASSWD.to_owned())),
        ("etc/group", file(GROUP.to_owned())),
        ("etc/ssl/certs/ca-certificates.crt", file(authorities())),
    ])
}

fn product(program: Vec<u8>, licence: Vec<u8>, bill: &Value) -> Tree {
    tree([
        ("capm3", Node::Program(program)),
        // Existing Deployments start this; under that name it is `capm3 manager`.
        ("manager", Node::Link("capm3".to_owned())),
        ("usr/share/licenses/capm3/LICENSE", Node::File(licence)),
        (BILL, Node::File(format!("{bill:#}\n").into_bytes())),
    ])
}

/// Nodes with the folders that they are in.
fn tree<const N: usize>(nodes: [(&str, Node); N]) -> Tree {
    let mut tree = Tree::new();
    for (path, node) in nodes {
        for folder in Path::new(path).ancestors().skip(1).filter_map(Path::to_str).filter(|it| !it.is_empty())
        {
            tree.insert(folder.to_owned(), Node::Folder);
        }
        tree.insert(path.to_owned(), node);
    }
    tree
}

/// The authorities of Mozilla's list, for an API server of a workload cluster whose kubeconfig names no authority of its own: such
/// a certificate is one that everybody trusts. They come from a crate, so that Cargo.lock pins them.
fn authorities() -> String {
    let pem = |certificate: &[u8]| {
        let text = BASE64_STANDARD.encode(certificate);
        let lines: Vec<&str> =
            text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    };
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|certificate| pem(certificate)).collect()
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::{CertificateDer, pem::PemObject};

    use super::*;

    #[test]
    fn the_authorities_are_read_back_as_they_are() {
        let text = authorities();
        let read: Vec<CertificateDer<'_>> =
            CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<_, _>>().unwrap();
        assert!(read.len() > 100, "{}", read.len());
        assert_eq!(read, webpki_root_certs::TLS_SERVER_ROOT_CERTS);
    }

    #[test]
    fn every_folder_of_a_path_is_in_the_tree() {
        let paths: Vec<String> = tree([("a/b/c", Node::Link("d".to_owned()))]).into_keys().collect();
        assert_eq!(paths, ["a", "a/b", "a/b/c"]);
    }
}

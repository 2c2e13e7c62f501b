//! A tar archive (ustar) that depends on nothing but its contents: sorted names, no times, everything owned by root.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

const BLOCK: usize = 512;

/// What is at a path of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Folder,
    File(Vec<u8>),
    /// A file that may be started.
    Program(Vec<u8>),
    /// A symbolic link to this path.
    Link(String),
}

/// Nodes by path, without a slash at the beginning.
pub type Tree = BTreeMap<String, Node>;

/// The archive of a tree. Folders that a path needs must be in it.
pub fn archive(tree: &Tree) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (path, node) in tree {
        let content: &[u8] = match node {
            Node::File(content) | Node::Program(content) => content,
            Node::Folder | Node::Link(_) => &[],
        };
        bytes.extend(header(path, node, content.len()).with_context(|| format!("{path} in an archive"))?);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    }
    // Two empty blocks end it.
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    Ok(bytes)
}

fn header(path: &str, node: &Node, size: usize) -> Result<Vec<u8>> {
    let (kind, mode, target) = match node {
        Node::Folder => ("5", 0o755, ""),
        Node::File(_) => ("0", 0o644, ""),
        Node::Program(_) => ("0", 0o755, ""),
        Node::Link(target) => ("2", 0o777, target.as_str()),
    };
    let path = if *node == Node::Folder { format!("{path}/") } else { path.to_owned() };
    let number = |value: usize, digits: usize| format!("{value:0digits$o}\0");
    let fields = |sum: &str| {
        [
            field(&path, 100),
            field(&number(mode, 7), 8),
            field(&number(0, 7), 8),
            field(&number(0, 7), 8),
            field(&number(size, 11), 12),
            field(&number(0, 11), 12),
            field(sum, 8),
            field(kind, 1),
            field(target, 100),
            field("ustar\x0000", 8),
        ]
        .into_iter()
        .collect::<Result<Vec<_>>>()
        .map(|fields| fields.concat())
    };
    // The sum is of a header in which itself is spaces.
    let sum: usize = fields("        ")?.iter().map(|byte| usize::from(*byte)).sum();
    let mut header = fields(&format!("{}\0 ", number(sum, 6).trim_end_matches('\0')))?;
    header.resize(BLOCK, 0);
    Ok(header)
}

fn field(text: &str, size: usize) -> Result<Vec<u8>> {
    ensure!(text.len() <= size, "{text:?} has more than {size} bytes");
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(size, 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, process::Command};

    use super::*;

    fn tree() -> Tree {
        let nodes = [
            ("etc", Node::Folder),
            ("etc/text", Node::File(vec![b'x'; 700])),
            ("empty", Node::File(Vec::new())),
            ("program", Node::Program(b"#!/bin/sh\necho runs\n".to_vec())),
            ("another", Node::Link("program".to_owned())),
        ];
        nodes.into_iter().map(|(path, node)| (path.to_owned(), node)).collect()
    }

    #[test]
    fn the_tar_of_the_system_unpacks_what_was_put_in() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.tar");
        fs::write(&file, archive(&tree()).unwrap()).unwrap();
        let status = Command::new("tar").arg("-xpf").arg(&file).current_dir(&folder).status().unwrap();
        assert!(status.success());
        let at = |path: &str| folder.path().join(path);
        assert_eq!(fs::read(at("etc/text")).unwrap(), vec![b'x'; 700]);
        assert_eq!(fs::read(at("empty")).unwrap(), b"");
        assert_eq!(fs::read_link(at("another")).unwrap().to_str(), Some("program"));
        for (path, mode) in [("etc", 0o755), ("etc/text", 0o644), ("program", 0o755)] {
            assert_eq!(fs::metadata(at(path)).unwrap().permissions().mode() & 0o7777, mode, "{path}");
        }
        let run = Command::new(at("another")).output().unwrap();
        assert_eq!(run.stdout, b"runs\n");
        let times = Command::new("tar").arg("-tvf").arg(&file).env("TZ", "UTC").output().unwrap();
        let times = String::from_utf8(times.stdout).unwrap();
        assert!(
            times.lines().count() == 5 && times.lines().all(|line| line.contains(" 1970-01-01 00:00 ")),
            "{times}"
        );
        assert!(times.lines().all(|line| line.contains(" root/root ") || line.contains(" 0/0 ")), "{times}");
    }

    #[test]
    fn a_path_that_does_not_fit_is_an_error() {
        let tree = Tree::from([("x".repeat(101), Node::Folder)]);
        let message = format!("{:#}", archive(&tree).unwrap_err());
        assert!(message.contains("has more than 100 bytes"), "{message}");
    }
}

//! The bill of materials of the static program, as CycloneDX: every crate that is linked into it, with licence and checksum, the
//! standard library and the C library.
//!
//! It has no time and no serial number, so that the same program has the same bill.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{TARGET, source::Source};

/// The bill for the program of a source.
pub fn of(source: &Source) -> Result<Value> {
    let mut cargo =
        source.cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]);
    let output = cargo.output().context("starting cargo")?;
    ensure!(output.status.success(), "{cargo:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout).context("the answer of cargo metadata")?;
    let lock = std::fs::read_to_string(source.folder.join("Cargo.lock")).context("reading Cargo.lock")?;
    let version = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).current_dir(&source.folder).output();
        let output = output.with_context(|| format!("starting {program}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        anyhow::Ok(text.split_whitespace().nth(1).unwrap_or("unknown").to_owned())
    };
    let beside = [
        ("rust-std", version("rustc", "--version")?, "MIT OR Apache-2.0"),
        ("glibc", version("getconf", "GNU_LIBC_VERSION")?, "LGPL-2.1-or-later"),
    ];
    Ok(document(&metadata, &checksums(&lock), &beside))
}

fn document(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    beside: &[(&str, String, &str)],
) -> Value {
    let packages: BTreeMap<&str, &Value> =
        array(metadata, "/packages").map(|package| (text(package, "/id"), package)).collect();
    let links: BTreeMap<&str, Vec<&str>> =
        array(metadata, "/resolve/nodes").map(|node| (text(node, "/id"), linked(node, &packages))).collect();
    let root =
        packages.iter().find(|(_, package)| text(package, "/name") == "capm3").map_or("", |(id, _)| *id);
    let (mut reached, mut next) = (BTreeSet::new(), vec![root]);
    while let Some(id) = next.pop() {
        if reached.insert(id) {
            next.extend(links.get(id).into_iter().flatten());
        }
    }
    let purl = |id: &str| packages.get(id).map(|package| purl(package)).unwrap_or_default();
    let mut components: Vec<Value> = reached
        .iter()
        .filter(|id| **id != root)
        .filter_map(|id| packages.get(id))
        .map(|package| component(package, checksums))
        .collect();
    let others = beside.iter().map(|(name, version, licence)| {
        let purl = format!("pkg:generic/{name}@{version}");
        json!({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "licenses": [{"expression": licence}]})
    });
    components.extend(others);
    components.sort_by(|a, b| text(a, "/bom-ref").cmp(text(b, "/bom-ref")));
    let depends = |id: &&str| {
        let on: BTreeSet<String> = links.get(id).into_iter().flatten().map(|id| purl(id)).collect();
        json!({"ref": purl(id), "dependsOn": on})
    };
    let mut program = packages.get(root).map_or(Value::Null, |package| component(package, checksums));
    if let Some(program) = program.as_object_mut() {
        program.insert("type".to_owned(), "application".into());
    }
    json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": program},
        "components": components,
        "dependencies": reached.iter().map(depends).collect::<Vec<Value>>(),
    })
}

/// The packages that a package links: not what only builds or tests it, and not macros, which run in the compiler.
fn linked<'a>(node: &'a Value, packages: &BTreeMap<&str, &Value>) -> Vec<&'a str> {
    let is_linked = |dependency: &&Value| {
        array(dependency, "/dep_kinds").any(|kind| kind.get("kind") == Some(&Value::Null))
    };
    let is_macro = |id: &str| {
        packages.get(id).is_some_and(|package| {
            array(package, "/targets").any(|target| array(target, "/kind").any(|kind| kind == "proc-macro"))
        })
    };
    array(node, "/deps").filter(is_linked).map(|it| text(it, "/pkg")).filter(|id| !is_macro(id)).collect()
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version, purl) = (text(package, "/name"), text(package, "/version"), purl(package));
    let mut component =
        json!({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl});
    if let Some(members) = component.as_object_mut() {
        // Older crates separate licences by a slash, which is no expression.
        let licence = text(package, "/license").replace('/', " OR ");
        if !licence.is_empty() {
            members.insert("licenses".to_owned(), json!([{"expression": licence}]));
        }
        if let Some(sum) = checksums.get(&(name.to_owned(), version.to_owned())) {
            members.insert("hashes".to_owned(), json!([{"alg": "SHA-256", "content": sum}]));
        }
    }
    component
}

fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "/name"), text(package, "/version"))
}

/// The checksums of Cargo.lock by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
        Some(line.trim_matches('"').to_owned())
    };
    let entry = |block| Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?));
    lock.split("[[package]]").filter_map(entry).collect()
}

fn array<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo;

    /// The bill of materials of an image names every crate that is linked into the program, with version, licence and checksum, and
    /// the libraries of Rust and C; what only builds or tests it is not in it.
    #[test]
    fn pk149_the_bill_names_what_is_linked_and_nothing_else() {
        let bill = of(&Source::of(&repo::root()).unwrap()).unwrap();
        let names: BTreeSet<&str> = array(&bill, "/components").map(|it| text(it, "/name")).collect();
        for name in ["capm3-engine", "kube-client", "rustls", "hickory-resolver", "rust-std", "glibc"] {
            assert!(names.contains(name), "{name} is not in it");
        }
        for name in ["capm3", "xtask", "proptest", "tempfile", "serde_derive", "cc"] {
            assert!(!names.contains(name), "{name} is in it");
        }
        assert_eq!(text(&bill, "/metadata/component/name"), "capm3");
        let foreign = |it: &&Value| {
            !text(it, "/name").starts_with("capm3-") && text(it, "/purl").starts_with("pkg:cargo/")
        };
        let mut count = 0;
        for component in array(&bill, "/components").filter(foreign) {
            assert_eq!(text(component, "/hashes/0/content").len(), 64, "{component}");
            assert!(!text(component, "/licenses/0/expression").is_empty(), "{component}");
            count += 1;
        }
        assert!(count > 100, "{count} crates");
        let refs: BTreeSet<&str> = array(&bill, "/components").map(|it| text(it, "/bom-ref")).collect();
        let depends: Vec<&str> = array(&bill, "/dependencies")
            .flat_map(|it| array(it, "/dependsOn"))
            .filter_map(Value::as_str)
            .collect();
        assert!(depends.len() > count && depends.iter().all(|it| refs.contains(it)));
    }
}

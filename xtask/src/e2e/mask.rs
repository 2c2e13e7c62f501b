//! Takes out of objects what no two servers can have in common, and gives drawn names back their meaning.
//!
//! A name or a uid is not blanked but replaced by whose it is, so that a reference to the wrong object still shows.

use anyhow::{Context, Result};
use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::vocabulary::annotation;
use regex::Regex;
use serde_json::{Value, json};

use crate::{compare::Objects, mask::TIME};

/// Everything that is not compared as it is, and why. Nothing else may differ.
pub const MASKED: &[(&str, &str)] = &[
    ("metadata.uid and uids in references", "drawn by the server; replaced by the object they belong to"),
    ("names and hashes of Machines and MachineSets", "end in drawn letters; replaced by host and deployment"),
    ("times", "two runs are not at the same second; that there is a time is compared"),
    ("metadata.resourceVersion", "a counter of the whole server"),
    ("metadata.managedFields", "the embedded server does not keep them"),
    ("digest of what a Secret was rendered from", "counts drawn names; that of the content is compared"),
    ("provisioning ID of a host", "the host operator makes it from the host's uid"),
    (
        "Node status.daemonEndpoints",
        "a real server fills it in; the embedded one is known not to, see conformance",
    ),
    ("kubeconfig in a Secret", "names the server and holds its certificates"),
];

/// Masks every object of a server.
pub fn masked(mut objects: Vec<Value>) -> Result<Objects> {
    for object in &mut objects {
        open(object);
    }
    let replacements = replacements(&objects);
    let time = Regex::new(TIME)?;
    let mut masked = Objects::new();
    for object in objects {
        let mut text = object.to_string();
        for (from, to) in &replacements {
            text = text.replace(from, to);
        }
        let object: Value = serde_json::from_str(&time.replace_all(&text, "<time>"))
            .context("a replacement broke an object")?;
        masked.insert(title(&object), object);
    }
    Ok(masked)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn title(object: &Value) -> String {
    format!("{}/{}", text(object, "/kind"), text(object, "/metadata/name"))
}

/// Drops what is the server's own and shows what a Secret holds.
fn open(object: &mut Value) {
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
        let annotations = metadata.get_mut("annotations");
        if let Some(digest) = annotations.and_then(|all| all.get_mut(annotation::INPUTS_DIGEST)) {
            *digest = json!("<digest>");
        }
    }
    if let Some(id) = object.pointer_mut("/status/provisioning/ID") {
        *id = json!("<ID>");
    }
    if let Some(status) = object.pointer_mut("/status").and_then(Value::as_object_mut) {
        status.remove("daemonEndpoints");
    }
    if text(object, "/kind") != "Secret" {
        return;
    }
    let holds_kubeconfig = text(object, "/metadata/name").ends_with("-kubeconfig");
    let data = object.pointer_mut("/data").and_then(Value::as_object_mut);
    for (_, value) in data.into_iter().flatten() {
        let decoded = BASE64_STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
        let content = String::from_utf8_lossy(&decoded).into_owned();
        *value = json!(if holds_kubeconfig { "<kubeconfig>".to_owned() } else { content });
    }
}

/// What stands for what; the longest first, so that no name is replaced inside a longer one.
fn replacements(objects: &[Value]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for object in objects {
        let name = text(object, "/metadata/name");
        let meaning = match text(object, "/kind") {
            "Metal3Machine" => {
                let annotations = object.pointer("/metadata/annotations");
                let host = annotations.and_then(|all| all.get(annotation::HOST)).and_then(Value::as_str);
                host.map(|host| format!("<machine on {host}>"))
            }
            "MachineSet" => {
                let labels = object.pointer("/metadata/labels");
                let label = labels.and_then(|all| all.get("cluster.x-k8s.io/deployment-name"));
                label.and_then(Value::as_str).map(|deployment| format!("<set of {deployment}>"))
            }
            _ => None,
        };
        if let ("MachineSet", Some(set)) = (text(object, "/kind"), &meaning) {
            let hash = text(object, "/metadata/labels/machine-template-hash");
            // The hash of a set ends in drawn letters too, and all that its machines make carries it.
            found.extend((!hash.is_empty()).then(|| (hash.to_owned(), format!("<hash of {set}>"))));
        }
        found.extend(meaning.map(|meaning| (name.to_owned(), meaning)));
        let uid = text(object, "/metadata/uid");
        if !uid.is_empty() {
            found.push((uid.to_owned(), format!("<uid of {}>", title(object))));
        }
    }
    // A uid's replacement holds a name, which is replaced in its turn: uids first.
    found.sort_by_key(|(from, to)| (!to.starts_with("<uid of "), std::cmp::Reverse(from.len())));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_names_and_uids_become_whose_they_are() {
        let machine = json!({"kind": "Metal3Machine", "metadata": {"name": "w-x-1", "uid": "u1", "resourceVersion": "7",
            "annotations": {"metal3.io/BareMetalHost": "metal3/h1"}, "creationTimestamp": "2026-01-01T00:00:00Z"}});
        let owner = json!({"kind": "Metal3Machine", "name": "w-x-1", "uid": "u1"});
        let set = json!({"kind": "MachineSet", "metadata": {"name": "w-x", "labels": {"cluster.x-k8s.io/deployment-name": "w",
            "machine-template-hash": "77-x"}}});
        let secret = json!({"kind": "Secret", "metadata": {"name": "w-x-1-data", "ownerReferences": [owner]},
            "data": {"value": BASE64_STANDARD.encode("name: w-x-1\nset: w-x\nhash: 77-x\n")}});
        let masked = masked(vec![machine, set, secret]).unwrap();
        let names: Vec<&String> = masked.keys().collect();
        assert_eq!(
            names,
            [
                "MachineSet/<set of w>",
                "Metal3Machine/<machine on metal3/h1>",
                "Secret/<machine on metal3/h1>-data"
            ]
        );
        let secret = &masked["Secret/<machine on metal3/h1>-data"];
        assert_eq!(
            secret["data"]["value"],
            "name: <machine on metal3/h1>\nset: <set of w>\nhash: <hash of <set of w>>\n"
        );
        let owner = &secret["metadata"]["ownerReferences"][0];
        assert_eq!(owner["uid"], "<uid of Metal3Machine/<machine on metal3/h1>>");
        let machine = &masked["Metal3Machine/<machine on metal3/h1>"];
        assert_eq!(machine["metadata"]["creationTimestamp"], "<time>");
        assert!(machine["metadata"].get("resourceVersion").is_none());
    }

    #[test]
    fn a_kubeconfig_is_not_compared() {
        let secret =
            json!({"kind": "Secret", "metadata": {"name": "c-kubeconfig"}, "data": {"value": "eA=="}});
        assert_eq!(masked(vec![secret]).unwrap()["Secret/c-kubeconfig"]["data"]["value"], "<kubeconfig>");
    }
}

//! The objects of the example that `explain` comes with, to be changed and explained.

use std::fs;

use capm3_engine::manifests;
use serde_json::{Value, json};

use crate::common::{Run, capm3, is_expected, repository};

/// Objects of one namespace, with a machine in each of a few situations.
pub const SITE: &str = "examples/explain/namespace.yaml";

/// Explains a machine of the site as it is.
pub fn from_files(machine: &str, more: &[&str]) -> Run {
    capm3(&[&["explain", machine, "-f", SITE], more].concat(), "")
}

/// Every object of the site, to be changed.
pub struct Objects(pub Vec<Value>);

impl Objects {
    pub fn of_site() -> Self {
        let text = fs::read_to_string(repository().join(SITE)).unwrap();
        let documents = manifests::parse("namespace.yaml", &text).into_result().unwrap();
        Self(documents.into_iter().map(|document| document.value).collect())
    }

    pub fn without(mut self, kind: &str, name: &str) -> Self {
        let before = self.0.len();
        self.0.retain(|object| object["kind"] != kind || object["metadata"]["name"] != name);
        assert_eq!(self.0.len() + 1, before, "{kind} {name}");
        self
    }

    pub fn with(mut self, kind: &str, name: &str, pointer: &str, value: Value) -> Self {
        let mut objects = self.0.iter_mut();
        let object =
            objects.find(|object| object["kind"] == kind && object["metadata"]["name"] == name).unwrap();
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("{kind} {name} has no {parent}"));
        parent[member.replace("~1", "/")] = value;
        self
    }

    /// An object as a server has given it out, whatever it would take today.
    pub fn given_out(self, kind: &str, name: &str) -> Self {
        self.with(kind, name, "/metadata/resourceVersion", json!("1"))
    }

    pub fn explain(&self, machine: &str) -> Run {
        self.explain_as(machine, "text")
    }

    pub fn explain_as(&self, machine: &str, output: &str) -> Run {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.0});
        capm3(&["explain", machine, "-f", "-", "-o", output], &list.to_string())
    }

    /// Compares text and JSON of a machine.
    pub fn both_are_expected(&self, name: &str, machine: &str) -> Run {
        let json = is_expected(&format!("explain/{name}-json"), self.explain_as(machine, "json"));
        let text = is_expected(&format!("explain/{name}"), self.explain(machine));
        assert_eq!((json.code, text.code), (0, 0), "whatever the state, it was explained");
        for host in json.json()["hosts"].as_array().unwrap() {
            assert!(text.stdout.contains(host["name"].as_str().unwrap()), "{host}");
        }
        text
    }
}

//! A namespace as the Go provider leaves it, put together from files: a cluster, its machines, and what a state changes in them.

use std::{fs, path::PathBuf};

use capm3_lab::{StoredAs, manifests::Manifest};
use serde_json::Value;

/// Both versions in which the provider's own kinds were ever stored by a release that can be upgraded.
pub const VERSIONS: [StoredAs; 2] = [StoredAs::V1Beta1, StoredAs::V1Beta2];

/// Name of a machine, number, host.
type Machine = (&'static str, u32, String);

/// The objects of the namespace.
pub struct Namespace {
    machines: Vec<Machine>,
    objects: Vec<Value>,
    /// The version in which they are stored.
    pub stored_as: StoredAs,
}

/// The text of a file of this folder.
pub fn file_text(file: &str) -> String {
    // Tests of another crate read the same files.
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/takeover").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Namespace {
    /// One machine of the control plane, two workers, and a host that nobody has used.
    pub fn running(stored_as: StoredAs) -> Self {
        Self::with_hosts(stored_as, ["node-0", "node-1", "node-2"])
    }

    /// The same with other names of the hosts.
    pub fn with_hosts(stored_as: StoredAs, hosts: [&str; 3]) -> Self {
        let own = match stored_as {
            StoredAs::V1Beta1 => "v1beta1.yaml",
            StoredAs::V1Beta2 => "v1beta2.yaml",
        };
        let names = ["cp-0", "worker-1", "worker-2"].into_iter().zip(0..).zip(hosts);
        let machines = names.map(|((name, n), host)| (name, n, host.to_owned())).collect();
        let mut namespace = Self { machines, objects: Vec::new(), stored_as };
        for file in ["cluster/neighbours.yaml", "cluster/free-hosts.yaml"] {
            namespace.merge(file);
        }
        namespace.merge(&format!("cluster/{own}"));
        namespace.merge("machine/neighbours.yaml");
        namespace.merge(&format!("machine/{own}"));
        namespace.merge("machine/control-plane.yaml");
        namespace
    }

    /// What a state changes. A file about `{machine}` is about each of them.
    pub fn after(mut self, states: &[&str]) -> Self {
        assert!(!states.is_empty());
        states.iter().for_each(|state| self.merge(&format!("states/{state}.yaml")));
        self
    }

    fn merge(&mut self, file: &str) {
        let text = file_text(file).replace("{host of worker-2}", &self.machines[2].2);
        let texts: Vec<String> = match text.contains("{n}") || text.contains("{machine}") {
            false => vec![text],
            true => self.machines.iter().map(|machine| about(machine, &text)).collect(),
        };
        for text in texts {
            let documents: Vec<Value> =
                serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(!documents.is_empty(), "{file}");
            documents.into_iter().for_each(|document| self.put(file, document));
        }
    }

    /// Adds an object, changes the one of that kind and name, or takes it out.
    fn put(&mut self, file: &str, document: Value) {
        let name = |object: &Value| (object["kind"].clone(), object["metadata"]["name"].clone());
        let found = self.objects.iter().position(|object| name(object) == name(&document));
        match found {
            Some(at) if document["absent"] == true => drop(self.objects.remove(at)),
            Some(at) => json_patch::merge(&mut self.objects[at], &document),
            None => {
                assert!(document["apiVersion"].is_string(), "{file}: there is no {:?}", name(&document));
                self.objects.push(document);
            }
        }
    }

    /// The objects, ready to be stored.
    pub fn manifests(&self) -> Vec<Manifest> {
        let manifest = |object: &Value| Manifest { file: "takeover".to_owned(), object: object.clone() };
        self.objects.iter().map(manifest).collect()
    }
}

fn about((machine, n, host): &Machine, text: &str) -> String {
    text.replace("{machine}", machine).replace("{n}", &n.to_string()).replace("{host}", host)
}

//! The vectors of cloud-init: documents, and what each version made of them.
//!
//! They lie in `tests/golden/cloud-init`, or in the folder that `CAPM3_CLOUD_INIT` names.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use capm3_domain::cloud_init::Nics;
use serde_json::{Map, Value};

/// The folder that the user names.
pub fn elsewhere() -> Option<PathBuf> {
    std::env::var_os("CAPM3_CLOUD_INIT").map(PathBuf::from)
}

/// The folder of the repository.
pub fn own() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/cloud-init"))
}

/// Documents and results.
pub struct Vectors {
    nics: Nics,
    /// Documents by name.
    pub documents: BTreeMap<String, Value>,
    /// Results by version, then by document.
    pub results: BTreeMap<String, BTreeMap<String, Value>>,
}

impl Vectors {
    pub fn read(folder: &Path) -> Self {
        let documents = yaml(&folder.join("documents.yaml"));
        let nics = nics(&documents["host_nics"]);
        let mut files: BTreeMap<String, Value> = BTreeMap::new();
        for entry in std::fs::read_dir(folder).expect("the folder of vectors is readable") {
            let path = entry.expect("an entry of the folder is readable").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let version = name.strip_prefix("results-").and_then(|name| name.strip_suffix(".yaml"));
            if let Some(version) = version {
                files.insert(version.to_owned(), yaml(&path));
            }
        }
        let documents: BTreeMap<String, Value> =
            documents["documents"].as_object().expect("documents").clone().into_iter().collect();
        let results = files
            .iter()
            .map(|(version, file)| {
                let base = file["base"].as_str().map(|base| &files[base]);
                let of = |name: &String| {
                    (
                        name.clone(),
                        completed(base.map(|base| &base["documents"][name]), &file["documents"][name]),
                    )
                };
                (version.clone(), documents.keys().map(of).collect())
            })
            .collect();
        Self { nics, documents, results }
    }

    /// The folder's documents and results; without `CAPM3_CLOUD_INIT`, our own.
    pub fn find() -> Self {
        Self::read(&elsewhere().unwrap_or_else(own))
    }

    /// The NICs that a document is for.
    pub fn nics_of(&self, document: &Value) -> Nics {
        document.get("host").map_or_else(|| self.nics.clone(), nics)
    }
}

/// A result of an older version holds only the members that differ from its base; null removes one.
fn completed(base: Option<&Value>, changes: &Value) -> Value {
    let mut members = base.and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, change) in changes.as_object().into_iter().flatten() {
        if change.is_null() {
            members.remove(key);
        } else {
            members.insert(key.clone(), change.clone());
        }
    }
    Value::Object(members)
}

fn nics(table: &Value) -> Nics {
    let table: Map<String, Value> = table.as_object().expect("NICs are a table of MACs and names").clone();
    Nics::new(table.into_iter().map(|(mac, name)| (mac, name.as_str().unwrap_or_default().to_owned())))
}

fn yaml(path: &Path) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| unreachable!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| unreachable!("{}: {error}", path.display()))
}

//! Files of an installation, by path: what `capm3 manifests` writes and `config/` holds.

use std::collections::BTreeMap;

use capm3_domain::render::yaml::to_yaml;
use serde_json::{Value, json};

use crate::{Install, release, variables};

/// Paths relative to the folder, with the text of each file.
pub type Files = BTreeMap<String, String>;

/// Every object as one YAML text, with clusterctl variables.
pub fn components(install: &Install) -> String {
    quoted_fast_track(&documents(&install.objects()))
}

/// A ConfigMap holds text only. With the tag, `CAPM3_FAST_TRACK=true` is text too; without it, users would have to give the
/// variable a value with quotes.
fn quoted_fast_track(components: &str) -> String {
    components.replace("CAPM3_FAST_TRACK: ${", "CAPM3_FAST_TRACK: !!str ${")
}

/// Every object as one YAML text for `kubectl apply -f`; variables have their defaults.
pub fn plain(install: &Install) -> String {
    variables::with_defaults(&components(install))
}

/// A release for clusterctl: components, metadata, templates and an example of the variables.
pub fn clusterctl(install: &Install) -> Files {
    let mut files = release::templates();
    files.insert("infrastructure-components.yaml".to_owned(), components(install));
    files.insert("metadata.yaml".to_owned(), to_yaml(&release::metadata()));
    files
}

/// A base for kustomize: one folder per group of objects; variables have their defaults.
pub fn kustomize(install: &Install) -> Files {
    let mut files = Files::new();
    for (folder, objects) in install.groups() {
        if folder == "crd" {
            files.extend(objects.iter().map(|crd| (format!("crd/{}", crd_file(crd)), to_yaml(crd))));
        } else {
            files.insert(format!("{folder}/{folder}.yaml"), variables::with_defaults(&documents(&objects)));
        }
    }
    let resources: Vec<&String> = files.keys().collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    });
    files.insert("kustomization.yaml".to_owned(), to_yaml(&kustomization));
    files
}

/// The file of a CRD, named as others name them.
pub fn crd_file(crd: &Value) -> String {
    let word = |path: &str| crd.pointer(path).and_then(Value::as_str).unwrap_or_default();
    format!("{}_{}.yaml", word("/spec/group"), word("/spec/names/plural"))
}

fn documents(objects: &[Value]) -> String {
    let documents: Vec<String> = objects.iter().map(to_yaml).collect();
    format!("---\n{}", documents.join("---\n"))
}

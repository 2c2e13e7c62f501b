//! Owner references. An API server refuses one without the uid of its owner.

use capm3_engine::manifests::Document;
use serde_json::{Value, json};

use super::{draft::Draft, path::Path};

/// The objects of the input that can be owners, as far as their uid is known.
pub(super) struct Owners(Vec<Owner>);

struct Owner {
    kind: String,
    namespace: String,
    name: String,
    uid: String,
}

const OWN_GROUP: &str = "infrastructure.cluster.x-k8s.io/";
const OWN_VERSION: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Owners {
    /// Those in these documents.
    pub fn among(documents: &[Document]) -> Self {
        let owners = documents.iter().map(|document| Owner {
            kind: text(&document.value, "/kind"),
            namespace: text(&document.value, "/metadata/namespace"),
            name: text(&document.value, "/metadata/name"),
            uid: text(&document.value, "/metadata/uid"),
        });
        Self(owners.filter(|owner| !owner.uid.is_empty()).collect())
    }

    fn uid(&self, kind: &str, namespace: &str, name: &str) -> Option<&str> {
        let found = self
            .0
            .iter()
            .find(|owner| owner.kind == kind && owner.namespace == namespace && owner.name == name);
        found.map(|owner| owner.uid.as_str())
    }

    /// Fills in what the input knows and leaves out what an API server would refuse.
    pub fn repair(&self, draft: &mut Draft<'_>) {
        let path = Path::of("metadata.ownerReferences");
        let Some(Value::Array(references)) = path.find(&draft.value).cloned() else { return };
        let namespace = draft.text("metadata.namespace").to_owned();
        let mut kept = Vec::new();
        for (index, mut reference) in references.into_iter().enumerate() {
            let at = path.item(index);
            let (kind, name) = (text(&reference, "/kind"), text(&reference, "/name"));
            if text(&reference, "/uid").is_empty() {
                let Some(uid) = self.uid(&kind, &namespace, &name) else {
                    let why = "an API server refuses an owner without its uid; the controllers set owners themselves";
                    draft.note(&at, format!("{kind} {name}"), "removed", why);
                    continue;
                };
                draft.note(&at, "no uid", uid, "the owner is in the input");
                if let Some(map) = reference.as_object_mut() {
                    map.insert("uid".to_owned(), json!(uid));
                }
            }
            let version = text(&reference, "/apiVersion");
            if version.starts_with(OWN_GROUP) && version != OWN_VERSION {
                draft.note(&at.key("apiVersion"), version, OWN_VERSION, "the version that is stored");
                if let Some(map) = reference.as_object_mut() {
                    map.insert("apiVersion".to_owned(), json!(OWN_VERSION));
                }
            }
            kept.push(reference);
        }
        let metadata = Path::of("metadata").find_mut(&mut draft.value).and_then(Value::as_object_mut);
        let Some(metadata) = metadata else { return };
        if kept.is_empty() {
            metadata.shift_remove("ownerReferences");
        } else {
            metadata.insert("ownerReferences".to_owned(), Value::Array(kept));
        }
    }
}

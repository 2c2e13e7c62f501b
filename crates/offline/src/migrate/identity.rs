//! What a document is: its kind and version, from what it says and from its form.

use serde_json::{Map, Value, json};

use super::{draft::Draft, path::Path, shape::Shapes};
use crate::nearest::nearest;

/// Whose rules a document follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// One of the provider's kinds; a fragment is a part of one, without a name.
    Own {
        /// Whether it is only a part.
        is_fragment: bool,
    },
    /// A kind of Cluster API that has another form in v1beta2.
    ClusterApi,
    /// A Secret.
    Secret,
    /// A kind of others that has one form: only its metadata is looked at.
    Neighbour,
    /// Anything else: left as it is.
    Foreign,
}

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CORE: &str = "cluster.x-k8s.io";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

/// Kinds of others whose documents are understood: kind, group, version, and whether the form of the version changed.
const NEIGHBOURS: &[(&str, &str, &str, bool)] = &[
    ("Cluster", CORE, "v1beta2", true),
    ("Machine", CORE, "v1beta2", true),
    ("MachineSet", CORE, "v1beta2", true),
    ("MachineDeployment", CORE, "v1beta2", true),
    ("MachineHealthCheck", CORE, "v1beta2", true),
    ("KubeadmConfig", BOOTSTRAP, "v1beta2", true),
    ("KubeadmConfigTemplate", BOOTSTRAP, "v1beta2", true),
    ("KubeadmControlPlane", CONTROL_PLANE, "v1beta2", true),
    ("IPPool", "ipam.metal3.io", "v1alpha1", false),
    ("IPClaim", "ipam.metal3.io", "v1alpha1", false),
    ("IPAddress", "ipam.metal3.io", "v1alpha1", false),
    ("BareMetalHost", "metal3.io", "v1alpha1", false),
    ("Secret", "", "v1", false),
];

/// Versions that were served once or are served beside v1beta2.
const OLDER: [&str; 5] = ["v1alpha3", "v1alpha4", "v1alpha5", "v1alpha6", "v1beta1"];

/// Finds out what a document is and writes that into it.
pub(super) fn establish(draft: &mut Draft<'_>, shapes: &Shapes) -> Family {
    if !draft.value.is_object() {
        draft.error(
            &Path::default(),
            "is not an object",
            Some("apiVersion, kind, metadata and spec".to_owned()),
        );
        return Family::Foreign;
    }
    top_level_case(draft);
    let is_fragment = draft.get("metadata").is_none();
    if !kind(draft, shapes) {
        return Family::Foreign;
    }
    let kind = draft.text("kind").to_owned();
    let own = shapes.of(&kind).map(|_| (INFRASTRUCTURE, "v1beta2", true));
    let neighbour = NEIGHBOURS.iter().find(|(name, ..)| *name == kind);
    let Some((group, version, converted)) =
        own.or(neighbour.map(|(_, group, version, converted)| (*group, *version, *converted)))
    else {
        return unknown(draft, shapes, &kind);
    };
    if !api_version(draft, group, version, own.is_some()) {
        return Family::Foreign;
    }
    in_order(draft);
    match (own.is_some(), converted, kind.as_str()) {
        (true, ..) => Family::Own { is_fragment },
        (_, true, _) => Family::ClusterApi,
        (_, _, "Secret") => Family::Secret,
        _ => Family::Neighbour,
    }
}

/// `Kind:` and the like.
fn top_level_case(draft: &mut Draft<'_>) {
    let keys: Vec<String> =
        draft.value.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default();
    for known in ["apiVersion", "kind", "metadata", "spec", "status"] {
        for key in keys.iter().filter(|key| *key != known && key.eq_ignore_ascii_case(known)) {
            draft.relocate(&Path::default().key(key), &Path::of(known), "names are case-sensitive");
        }
    }
}

/// Makes the kind one that is known, or says that the user must. Says whether there is one.
fn kind(draft: &mut Draft<'_>, shapes: &Shapes) -> bool {
    let path = Path::of("kind");
    let by_form = kind_by_form(draft);
    match draft.get("kind").cloned() {
        None | Some(Value::Null) => match by_form {
            Some(kind) => {
                draft.remove(&path, "is empty");
                draft.add(&path, json!(kind), "only this kind has the fields below spec");
                true
            }
            None => {
                draft.error(&path, "kind is missing", Some("the kind of the object".to_owned()));
                false
            }
        },
        Some(Value::String(kind)) => {
            let mut known = shapes.kinds().chain(NEIGHBOURS.iter().map(|(kind, ..)| *kind));
            if let Some(known) = known.find(|known| *known != kind && known.eq_ignore_ascii_case(&kind)) {
                draft.replace(&path, json!(known), "names are case-sensitive");
            }
            true
        }
        Some(other) => {
            draft.error(&path, format!("kind {other} is not text"), None);
            false
        }
    }
}

/// The kind whose members the document has.
fn kind_by_form(draft: &Draft<'_>) -> Option<&'static str> {
    let has = |keys: &str| draft.get(keys).is_some_and(Value::is_object);
    if has("spec.providerSpec.value") || has("spec.hostSelector") {
        return Some("Metal3Machine");
    }
    let is_template = ["strings", "objectNames", "indexes", "fromLabels"]
        .iter()
        .any(|list| draft.get(&format!("spec.metaData.{list}")).is_some_and(Value::is_array));
    (is_template || has("spec.networkData.links") || has("spec.networkData.networks"))
        .then_some("Metal3DataTemplate")
}

/// A kind that is none of the known ones: another's, or a misspelling.
fn unknown(draft: &mut Draft<'_>, shapes: &Shapes, kind: &str) -> Family {
    let group =
        draft.text("apiVersion").split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default();
    let could_be_ours = group == INFRASTRUCTURE || draft.text("apiVersion").is_empty();
    let mut own: Vec<&str> = shapes.kinds().collect();
    own.sort_unstable();
    let known = own.into_iter().chain(NEIGHBOURS.iter().map(|(kind, ..)| *kind));
    let meant = kind_by_form(draft).or_else(|| nearest(kind, known));
    match meant.filter(|_| could_be_ours) {
        Some(meant) => {
            draft.error(&Path::of("kind"), format!("there is no kind {kind}"), Some(format!("kind: {meant}")))
        }
        None if draft.text("apiVersion").is_empty() => {
            draft.error(
                &Path::of("apiVersion"),
                format!("apiVersion is missing and {kind} is not a kind that is known"),
                None,
            );
        }
        None => {}
    }
    Family::Foreign
}

/// Writes the version. Returns whether the document is of this group.
fn api_version(draft: &mut Draft<'_>, group: &str, version: &str, is_own: bool) -> bool {
    let path = Path::of("apiVersion");
    let wanted = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let given = draft.text("apiVersion").to_owned();
    let (given_group, given_version) = given.split_once('/').unwrap_or(("", &given));
    match (given_group, given_version) {
        ("", "") => {
            draft.remove(&path, "is empty");
            draft.add(&path, json!(wanted), "the version of this kind that has this form");
            true
        }
        _ if given == wanted => true,
        (given_group, old) if given_group == group && OLDER.contains(&old) => {
            draft.replace(&path, json!(wanted), "the document is converted to the stored version");
            true
        }
        (given_group, other) if given_group == group => {
            draft.error(&path, format!("there is no version {other} of this kind"), Some(wanted));
            false
        }
        _ if is_own => {
            draft.error(&path, format!("{given} has no kind {}", draft.text("kind")), Some(wanted));
            false
        }
        _ => false,
    }
}

/// Puts the members that say what the object is in front, where some were added.
fn in_order(draft: &mut Draft<'_>) {
    let Some(map) = draft.value.as_object_mut() else { return };
    let mut ordered = Map::new();
    for key in ["apiVersion", "kind", "metadata"] {
        if let Some((key, value)) = map.shift_remove_entry(key) {
            ordered.insert(key, value);
        }
    }
    ordered.append(map);
    *map = ordered;
}

//! The kinds of Cluster API: what v1beta1 wrote in another place or form than v1beta2.
//!
//! Cluster API converts stored objects itself; this is for files. A member that is in its place already is left alone,
//! so a document in the new form passes as it is. The embedded server serves only v1beta2 of these kinds.

use serde_json::Value;

use super::{draft::Draft, path::Path};

mod arguments;
mod moves;
mod reference;

use moves::Form;

/// Converts a document of one of the kinds of Cluster API.
pub(super) fn convert(draft: &mut Draft<'_>) {
    let kind = draft.text("kind").to_owned();
    fill_cluster_name(draft, &kind);
    let before = draft.changes.len();
    for (from, to, form) in moves::of(&kind) {
        let (from, to) = (Path::of(&from), Path::of(&to));
        if from == to
            || from.find(&draft.value).is_none()
            || draft.relocate(&from, &to, "its place in v1beta2")
        {
            in_form(draft, &to, form);
        }
    }
    for (path, why) in moves::gone(&kind) {
        draft.remove(&Path::of(&path), why);
    }
    for parent in moves::PARENTS {
        draft.drop_empty(&Path::of(parent));
    }
    strategy_type(draft);
    if draft.changes.len() > before {
        draft.explain_added("apiVersion", "by its form the document is of v1beta1; it is converted");
    }
    topology(draft);
}

fn in_form(draft: &mut Draft<'_>, path: &Path, form: Form) {
    match form {
        Form::Same => {}
        Form::Seconds => super::forms::seconds(draft, path),
        Form::Reference => reference::by_group(draft, path),
        Form::TemplateReference => reference::to_template(draft, path),
        Form::Arguments => arguments::listed(draft, path),
        Form::Each(member, renamed) => {
            let count = path.find(&draft.value).and_then(Value::as_array).map_or(0, Vec::len);
            for item in (0..count).map(|index| path.item(index)) {
                draft.relocate(&item.key(member), &item.key(renamed), "a number of seconds in v1beta2");
                super::forms::seconds(draft, &item.key(renamed));
            }
        }
    }
}

/// Machines name their cluster; the label or the parent says which.
fn fill_cluster_name(draft: &mut Draft<'_>, kind: &str) {
    let (path, sources): (&str, &[&str]) = match kind {
        "Machine" => ("spec.clusterName", &[]),
        "MachineSet" | "MachineDeployment" => ("spec.template.spec.clusterName", &["spec.clusterName"]),
        _ => return,
    };
    let label = |base: &str| {
        let labels = Path::of(base).key("labels").key(capm3_api::vocabulary::label::CLUSTER_NAME);
        labels.find(&draft.value).and_then(Value::as_str).map(ToOwned::to_owned)
    };
    if !draft.text(path).is_empty() {
        return;
    }
    let from_member =
        sources.iter().map(|source| draft.text(source).to_owned()).find(|name| !name.is_empty());
    let (name, why) = match (from_member, label("metadata"), label("spec.template.metadata")) {
        (Some(name), ..) => (name, "taken from spec.clusterName"),
        (None, Some(name), _) | (None, None, Some(name)) => (name, "taken from the cluster label"),
        (None, None, None) => {
            let proposal = format!("{}: NAME-OF-THE-CLUSTER", path.rsplit('.').next().unwrap_or(path));
            draft.error(
                &Path::of(path),
                "clusterName is missing and there is no cluster label",
                Some(proposal),
            );
            return;
        }
    };
    draft.add(&Path::of(path), Value::String(name), why);
}

/// v1beta2 asks for the type of a rollout strategy, which used to have a default.
fn strategy_type(draft: &mut Draft<'_>) {
    let strategy = Path::of("spec.rollout.strategy");
    draft.drop_empty(&strategy.key("rollingUpdate"));
    let is_untyped =
        strategy.find(&draft.value).and_then(Value::as_object).is_some_and(|map| !map.contains_key("type"));
    if is_untyped {
        draft.add(
            &strategy.key("type"),
            Value::String("RollingUpdate".to_owned()),
            "v1beta1 has this default; v1beta2 requires the field",
        );
    }
}

/// Members of a topology that have another form in v1beta2.
const OF_OLD_TOPOLOGIES: [&str; 6] = [
    "machineHealthCheck",
    "nodeDrainTimeout",
    "nodeVolumeDetachTimeout",
    "nodeDeletionTimeout",
    "definitionFrom",
    "strategy",
];

/// A topology of v1beta1 is converted as far as the name of its class.
fn topology(draft: &mut Draft<'_>) {
    let path = Path::of("spec.topology");
    let Some(topology) = path.find(&draft.value) else { return };
    let old: Vec<&str> = OF_OLD_TOPOLOGIES.into_iter().filter(|member| mentions(topology, member)).collect();
    if !old.is_empty() {
        let message = format!("{} of a topology is not converted", old.join(", "));
        draft.error(
            &path,
            message,
            Some("apply the v1beta1 form, which Cluster API converts, or write the v1beta2 form".to_owned()),
        );
    }
}

fn mentions(value: &Value, member: &str) -> bool {
    match value {
        // Variables hold what the author of the class wants.
        Value::Object(map) => {
            map.iter().any(|(key, value)| key == member || (key != "value" && mentions(value, member)))
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, member)),
        _ => false,
    }
}

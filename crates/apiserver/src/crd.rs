//! CustomResourceDefinitions: takes the object, gives a served resource; empties and unserves it when it goes.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::{
    builtin::{CRD_GROUP, CRD_PLURAL},
    deprecation,
    field::{FieldError, quote},
    meta::{self, str_at},
    resource::{Resource, ResourceKey, ScalePaths, Special, Version, api_version},
    schema::{self, Schema},
    selector::SelectableField,
    store::{Change, object::ObjectKey},
    table,
    write::{Policy, Writer},
};

/// Holds a CRD until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Reads a definition.
///
/// # Errors
/// Everything that keeps it from being served.
pub(crate) fn parse(object: &Value) -> Result<Resource, Vec<FieldError>> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let names = spec.get("names").unwrap_or(&Value::Null);
    let (group, plural, kind) = (str_at(spec, "group"), str_at(names, "plural"), str_at(names, "kind"));
    let mut errors = check_names(object, spec, names);
    let versions = versions(spec, group, &mut errors);
    let storage = versions.iter().find(|(_, storage)| *storage).map(|(version, _)| Arc::clone(version));
    let Some(storage) = storage.filter(|_| errors.is_empty()) else {
        if errors.is_empty() {
            let detail = "must have exactly one version marked as storage version";
            errors.push(FieldError::invalid("spec.versions", "[]", detail));
        }
        return Err(errors);
    };
    Ok(Resource {
        key: ResourceKey::new(group, plural),
        group: group.to_owned(),
        plural: plural.to_owned(),
        singular: or(str_at(names, "singular"), || kind.to_lowercase()),
        kind: kind.to_owned(),
        list_kind: or(str_at(names, "listKind"), || format!("{kind}List")),
        short_names: strings(names, "shortNames"),
        categories: strings(names, "categories"),
        namespaced: str_at(spec, "scope") == "Namespaced",
        special: Special::Custom,
        unconditional_update: false,
        has_generation: true,
        versions: versions.into_iter().map(|(version, _)| version).collect(),
        storage,
    })
}

fn or(text: &str, other: impl FnOnce() -> String) -> String {
    if text.is_empty() { other() } else { text.to_owned() }
}

fn strings(object: &Value, field: &str) -> Vec<String> {
    let list = object.get(field).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn check_names(object: &Value, spec: &Value, names: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let required = [
        ("group", str_at(spec, "group")),
        ("names.plural", str_at(names, "plural")),
        ("names.kind", str_at(names, "kind")),
    ];
    for (field, _) in required.into_iter().filter(|(_, text)| text.is_empty()) {
        errors.push(FieldError::required(format!("spec.{field}"), ""));
    }
    let expected = format!("{}.{}", str_at(names, "plural"), str_at(spec, "group"));
    if errors.is_empty() && meta::name(object) != expected {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", &quote(meta::name(object)), detail));
    }
    let scope = str_at(spec, "scope");
    if !matches!(scope, "Namespaced" | "Cluster") {
        let supported = [json!("Cluster"), json!("Namespaced")];
        errors.push(FieldError::not_supported("spec.scope", &quote(scope), &supported));
    }
    errors
}

fn versions(spec: &Value, group: &str, errors: &mut Vec<FieldError>) -> Vec<(Arc<Version>, bool)> {
    let list = spec.get("versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut versions = Vec::with_capacity(list.len());
    for (index, version) in list.iter().enumerate() {
        match compiled(version, &format!("spec.versions[{index}].schema.openAPIV3Schema")) {
            Ok(schema) => {
                let mut read = self::version(version, group, schema);
                read.deprecation = deprecation::text(spec, version);
                versions.push((Arc::new(read), flag(version, "storage")));
            }
            Err(error) => errors.push(error),
        }
    }
    if versions.iter().filter(|(_, storage)| *storage).count() > 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", "[]", detail));
    }
    versions
}

pub(crate) fn flag(object: &Value, field: &str) -> bool {
    object.get(field).and_then(Value::as_bool).unwrap_or_default()
}

pub(crate) fn compiled(version: &Value, path: &str) -> Result<Schema, FieldError> {
    let source = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
    let source = source.ok_or_else(|| FieldError::required(path, "schemas are required"))?;
    schema::compile(source, path).map_err(|error| FieldError::invalid(path, "{}", &error.to_string()))
}

fn version(version: &Value, group: &str, schema: Schema) -> Version {
    let name = str_at(version, "name");
    let fields = version.get("selectableFields").and_then(Value::as_array);
    Version {
        name: name.to_owned(),
        api_version: api_version(group, name),
        served: flag(version, "served"),
        deprecation: None,
        has_status: version.get("subresources").is_some_and(|it| it.get("status").is_some()),
        selectable: fields
            .into_iter()
            .flatten()
            .map(|it| SelectableField::new(str_at(it, "jsonPath")))
            .collect(),
        schema: Some(schema),
        columns: table::custom_columns(version),
        scale: scale(version),
    }
}

fn scale(version: &Value) -> Option<ScalePaths> {
    let scale = version.get("subresources")?.get("scale")?;
    let path = |field: &str| {
        let segments = str_at(scale, field).split('.').filter(|part| !part.is_empty());
        let segments: Vec<String> = segments.map(str::to_owned).collect();
        (!segments.is_empty()).then_some(segments)
    };
    Some(ScalePaths {
        spec_replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        selector: path("labelSelectorPath"),
    })
}

/// Fills in what a new definition has: defaulted names, the clean-up finalizer, and a status that says it is served.
pub(crate) fn prepare(object: &mut Value, now: &str) {
    let mut finalizers: Vec<String> = meta::finalizers(object).map(str::to_owned).collect();
    if !finalizers.iter().any(|it| it == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
    }
    meta::set_finalizers(object, finalizers);
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message});
    let conditions = json!([
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]);
    if let Some(fields) = object.as_object_mut() {
        fields.insert("status".to_owned(), json!({"conditions": conditions, "storedVersions": []}));
    }
    refresh(object);
}

/// Brings what follows from the spec up to date: defaulted names, accepted names, stored versions.
pub(crate) fn refresh(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else {
        return;
    };
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    names.entry("singular").or_insert_with(|| json!(kind.to_lowercase()));
    names.entry("listKind").or_insert_with(|| json!(format!("{kind}List")));
    let names = Value::Object(names.clone());
    let storage = storage_version(spec);
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    let status = fields.entry("status").or_insert_with(|| Value::Object(Map::new()));
    let Some(status) = status.as_object_mut() else {
        return;
    };
    status.insert("acceptedNames".to_owned(), names);
    let stored = status.entry("storedVersions").or_insert_with(|| json!([]));
    if let (Some(stored), Some(storage)) = (stored.as_array_mut(), storage)
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
}

fn storage_version(spec: &Map<String, Value>) -> Option<Value> {
    let versions = spec.get("versions")?.as_array()?;
    versions.iter().find(|version| flag(version, "storage"))?.get("name").cloned()
}

/// Reacts to a write: serves a definition, closes one that is going, ends one whose last object went.
pub(crate) fn react(writer: &mut Writer<'_>, change: &Change) {
    let crds = ResourceKey::new(CRD_GROUP, CRD_PLURAL);
    if change.key.resource == crds {
        match (&change.old, &change.new) {
            (_, Some(new)) if new.head.is_deleting => close(writer, &change.key, &new.value()),
            (_, Some(new)) => {
                if let Ok(resource) = parse(&new.value()) {
                    writer.store_mut().define(Arc::new(resource));
                }
            }
            (Some(old), None) => writer.store_mut().undefine(&resource_key(&old.value())),
            (None, None) => {}
        }
    } else if change.new.is_none()
        && let Some(table) = writer.store().table(&change.key.resource).filter(|table| table.closing)
    {
        let name = format!("{}.{}", table.resource.plural, table.resource.group);
        release(writer, &ObjectKey::new(&crds, "", &name), &change.key.resource);
    }
}

fn resource_key(crd: &Value) -> ResourceKey {
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    ResourceKey::new(str_at(spec, "group"), spec.get("names").map_or("", |names| str_at(names, "plural")))
}

/// Takes no new objects and deletes those that are there.
fn close(writer: &mut Writer<'_>, crd: &ObjectKey, object: &Value) {
    let resource = resource_key(object);
    let mut objects = Vec::new();
    if let Some(table) = writer.store_mut().table_mut(&resource) {
        let first_time = !std::mem::replace(&mut table.closing, true);
        if first_time {
            objects.extend(
                table
                    .objects
                    .iter(None)
                    .map(|(namespace, name, _)| ObjectKey::new(&resource, namespace, name)),
            );
        }
    }
    for key in objects {
        writer.collect(&key, Some(Policy::Background));
    }
    release(writer, crd, &resource);
}

/// Removes the definition once its table is empty.
fn release(writer: &mut Writer<'_>, crd: &ObjectKey, resource: &ResourceKey) {
    if writer.store().table(resource).is_some_and(|table| !table.objects.is_empty()) {
        return;
    }
    writer.rewrite(crd, |crd| {
        let kept = meta::finalizers(crd).filter(|it| *it != CLEANUP).map(str::to_owned).collect();
        meta::set_finalizers(crd, kept);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(name: &str, versions: Value) -> Value {
        json!({"metadata": {"name": name}, "spec": {"group": "x.io", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"}, "versions": versions}})
    }

    fn v1(extra: Value) -> Value {
        let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
        json_patch::merge(&mut version, &extra);
        version
    }

    #[test]
    fn a_good_definition_is_read() {
        let resource =
            parse(&crd("things.x.io", json!([v1(json!({"subresources": {"status": {}}}))]))).unwrap();
        assert_eq!((resource.singular.as_str(), resource.list_kind.as_str()), ("thing", "ThingList"));
        assert_eq!(resource.storage.api_version, "x.io/v1");
        assert!(resource.storage.has_status && resource.namespaced);
    }

    #[test]
    fn what_keeps_a_definition_from_being_served_is_named() {
        let table = [
            (crd("other", json!([v1(json!({}))])), "metadata.name"),
            (crd("things.x.io", json!([v1(json!({"storage": false}))])), "spec.versions"),
            (crd("things.x.io", json!([v1(json!({})), v1(json!({"name": "v2"}))])), "spec.versions"),
            (
                crd("things.x.io", json!([v1(json!({"schema": null}))])),
                "spec.versions[0].schema.openAPIV3Schema",
            ),
            (
                crd("things.x.io", json!([v1(json!({"schema": {"openAPIV3Schema": {"pattern": "("}}}))])),
                "spec.versions[0].schema.openAPIV3Schema",
            ),
        ];
        for (object, path) in table {
            assert_eq!(parse(&object).unwrap_err()[0].path, path, "{object}");
        }
    }

    #[test]
    fn preparing_and_refreshing_again_changes_nothing() {
        let mut object = crd("things.x.io", json!([v1(json!({}))]));
        prepare(&mut object, "2026-01-01T00:00:00Z");
        let once = object.clone();
        refresh(&mut object);
        assert_eq!(object, once);
        assert_eq!(object["status"]["storedVersions"], json!(["v1"]));
    }
}

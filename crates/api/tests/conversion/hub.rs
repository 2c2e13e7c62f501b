//! v1beta2 to v1beta1 and back.

use capm3_api::{crd, v1beta1, v1beta2};
use serde_json::{Value, json};

use crate::{KINDS, check, meaning, objects::NEWER, same, to_hub, to_spoke};

#[test]
fn a_stored_object_survives_a_reader_of_the_older_version() {
    for kind in KINDS {
        check(kind, v1beta2::VERSION, false, |hub| {
            let mut hub = hub.clone();
            one_entry_a_claim(&mut hub);
            let back = to_hub(&to_spoke(&hub)?)?;
            if kept_whole(kind) {
                same(&back, &settled(&hub))
            } else {
                same(&plain(&back), &plain(&hub))?;
                same(&to_hub(&to_spoke(&back)?)?, &back)
            }
        });
    }
}

#[test]
fn members_that_no_version_knows_survive_a_server_that_prunes_them() {
    for kind in KINDS {
        check(kind, v1beta2::VERSION, true, |hub| {
            let mut hub = hub.clone();
            one_entry_a_claim(&mut hub);
            if !kept_whole(kind) && !hub.to_string().contains(NEWER) {
                return Ok(());
            }
            let mut spoke = to_spoke(&hub)?;
            prune(&mut spoke, crd::schema(kind, v1beta1::VERSION).unwrap());
            same(&to_hub(&spoke)?, &settled(&hub))
        });
    }
}

#[test]
fn a_converted_object_has_no_member_that_its_new_version_does_not_know() {
    for kind in KINDS {
        for (from, to) in [(v1beta2::VERSION, v1beta1::VERSION), (v1beta1::VERSION, v1beta2::VERSION)] {
            check(kind, from, false, |object| {
                let converted = if to == v1beta1::VERSION { to_spoke(object)? } else { to_hub(object)? };
                let mut known = converted.clone();
                prune(&mut known, crd::schema(kind, to).unwrap());
                same(&converted, &known)
            });
        }
    }
}

#[test]
fn the_annotation_is_not_seen_in_the_stored_version() {
    for kind in KINDS {
        check(kind, v1beta2::VERSION, true, |hub| {
            let back = to_hub(&to_spoke(hub)?)?;
            let found = back.to_string().contains("conversion-data");
            if found { Err(format!("found in {back:#}")) } else { same(&back["metadata"], &hub["metadata"]) }
        });
    }
}

fn kept_whole(kind: &str) -> bool {
    kind.starts_with("Metal3Cluster") || kind.starts_with("Metal3Machine")
}

/// Claims by name is how v1beta1 counts indexes.
fn one_entry_a_claim(hub: &mut Value) {
    let mut seen = std::collections::BTreeSet::new();
    if let Some(Value::Array(entries)) = hub.pointer_mut("/status/indexes") {
        entries.retain(|entry| seen.insert(entry["name"].to_string()));
    }
}

/// What an object that is kept whole comes back as: spec and status are there, `nodeReuse: false` is not, and domains
/// of which one says `controlPlane: false` are sorted and do not say so.
fn settled(hub: &Value) -> Value {
    let mut hub = hub.clone();
    let has_status = crd::schema(hub["kind"].as_str().unwrap(), v1beta2::VERSION)
        .is_some_and(|schema| schema.pointer("/properties/status").is_some());
    // Go's templates have no status, so an absent one is not kept as an empty one.
    let has_status = has_status && hub["kind"] != "Metal3MachineTemplate";
    let kept = kept_whole(hub["kind"].as_str().unwrap());
    for part in ["spec", "status"].into_iter().filter(|part| kept && (*part == "spec" || has_status)) {
        if hub.get(part).is_none() {
            hub[part] = json!({});
        }
    }
    if hub.pointer("/spec/nodeReuse") == Some(&json!(false)) {
        hub["spec"].as_object_mut().unwrap().shift_remove("nodeReuse");
    }
    for path in ["/spec/failureDomains", "/status/failureDomains", "/spec/template/spec/failureDomains"] {
        let Some(domains) = hub.pointer_mut(path) else { continue };
        if domains.as_array().unwrap().iter().any(|domain| domain["controlPlane"] == false) {
            meaning::sort(Some(domains), &["name"]);
            meaning::each_object(domains, &|domain| {
                if domain.get("controlPlane") == Some(&json!(false)) {
                    domain.shift_remove("controlPlane");
                }
            });
        }
    }
    hub
}

/// The meaning of an object of which nothing is kept: order of indexes and parameters does not count.
fn plain(hub: &Value) -> Value {
    let mut meant = meaning::of(hub);
    meaning::sort(meant.pointer_mut("/status/indexes"), &["index", "name"]);
    if let Some(Value::Array(bonds)) = meant.pointer_mut("/spec/networkData/links/bonds") {
        for bond in bonds {
            meaning::sort(bond.get_mut("parameters"), &["name"]);
        }
    }
    meant
}

fn prune(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(members) => {
            if let Some(properties) = schema.get("properties") {
                members.retain(|name, _| properties.get(name).is_some());
            }
            for (name, member) in members {
                let property = schema.get("properties").and_then(|it| it.get(name));
                if let Some(schema) = property.or(schema.get("additionalProperties")) {
                    prune(member, schema);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(item, &schema["items"])),
        _ => {}
    }
}

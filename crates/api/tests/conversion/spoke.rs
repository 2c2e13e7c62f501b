//! v1beta1 to v1beta2 and back.

use capm3_api::{v1beta1, vocabulary::annotation::CONVERSION_DATA};
use serde_json::{Map, Value};

use crate::{KINDS, check, meaning, same, to_hub, to_spoke};

#[test]
fn an_older_manifest_is_read_back_with_the_same_meaning() {
    for kind in KINDS {
        check(kind, v1beta1::VERSION, false, |spoke| {
            let back = to_spoke(&to_hub(spoke)?)?;
            same(&meant(&back), &meant(spoke))
        });
    }
}

#[test]
fn reading_back_twice_changes_nothing_more() {
    for kind in KINDS {
        check(kind, v1beta1::VERSION, true, |spoke| {
            let once = to_spoke(&to_hub(spoke)?)?;
            same(&to_spoke(&to_hub(&once)?)?, &once)
        });
    }
}

/// The meaning of an older object: what only the older version can say and no controller reads is left out.
fn meant(spoke: &Value) -> Value {
    let mut spoke = spoke.clone();
    if let Some(annotations) = spoke.pointer_mut("/metadata/annotations") {
        annotations.as_object_mut().unwrap().shift_remove(CONVERSION_DATA);
    }
    for path in ["/spec", "/spec/template/spec"] {
        if let Some(Value::Object(spec)) = spoke.pointer_mut(path) {
            one_cloud_provider_flag(spec);
        }
    }
    let kind = spoke["kind"].as_str().unwrap().to_owned();
    if let Some(Value::Object(status)) = spoke.pointer_mut("/status").filter(|_| kind == "Metal3Machine") {
        status.shift_remove("phase");
    }
    for (_, path) in REFERENCES.iter().filter(|(of, _)| *of == kind) {
        if let Some(Value::Object(reference)) = spoke.pointer_mut(path) {
            reference.retain(|name, _| name == "name" || name == "namespace");
        }
    }
    if let Some(networks) = spoke.pointer_mut("/spec/networkData/networks") {
        meaning::each_object(networks, &one_prefix);
    }
    let mut meant = meaning::of(&spoke);
    if meant.pointer("/metadata/annotations").is_some_and(|it| it.as_object().unwrap().is_empty()) {
        meant["metadata"].as_object_mut().unwrap().shift_remove("annotations");
    }
    meant
}

/// References of which only name and namespace count.
const REFERENCES: [(&str, &str); 7] = [
    ("Metal3Machine", "/spec/dataTemplate"),
    ("Metal3Machine", "/status/renderedData"),
    ("Metal3MachineTemplate", "/spec/template/spec/dataTemplate"),
    ("Metal3Data", "/spec/claim"),
    ("Metal3Data", "/spec/template"),
    ("Metal3DataClaim", "/spec/template"),
    ("Metal3DataClaim", "/status/renderedData"),
];

fn one_cloud_provider_flag(spec: &mut Map<String, Value>) {
    if let Some(without) = spec.shift_remove("noCloudProvider").and_then(|it| it.as_bool())
        && !spec.contains_key("cloudProviderEnabled")
    {
        spec.insert("cloudProviderEnabled".to_owned(), Value::Bool(!without));
    }
}

fn one_prefix(route: &mut Map<String, Value>) {
    if let Some(netmask) = route.shift_remove("netmask")
        && route.get("prefix").is_none_or(|prefix| prefix == 0)
    {
        route.insert("prefix".to_owned(), netmask);
    }
}

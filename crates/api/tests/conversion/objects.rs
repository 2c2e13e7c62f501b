//! Random objects that a schema accepts.

use std::collections::BTreeSet;

use capm3_api::{crd, v1beta2};
use proptest::{collection, option, prelude::*, sample, strategy::Union};
use regex::Regex;
use serde_json::{Map, Value, json};

/// Member that no version knows.
pub const NEWER: &str = "fromTheFuture";

/// Objects of a kind in a version; with `newer` some have members that no schema knows.
pub fn of_kind(kind: &str, version: &str, newer: bool) -> BoxedStrategy<Value> {
    let schema = crd::schema(kind, version).unwrap();
    let head = json!({"apiVersion": format!("{}/{version}", v1beta2::GROUP), "kind": kind});
    let required = schema.get("required").is_some_and(|names| names == &json!(["spec"]));
    let parts = ["spec", "status"].into_iter().filter_map(|part| {
        let values = value(part, schema.pointer(&format!("/properties/{part}"))?, newer);
        let needed = required && part == "spec";
        let values =
            if needed { values.prop_map(Some).boxed() } else { option::weighted(0.9, values).boxed() };
        Some(values.prop_map(move |value| (part, value)))
    });
    let parts: Vec<_> = parts.collect();
    (metadata(), parts)
        .prop_map(move |(metadata, parts)| {
            let mut object = head.clone();
            object["metadata"] = metadata;
            for (part, value) in parts {
                if let Some(value) = value {
                    object[part] = value;
                }
            }
            object
        })
        .boxed()
}

fn metadata() -> impl Strategy<Value = Value> {
    let annotations = option::of(collection::btree_map("[a-z]{1,5}", "[ -~]{0,9}", 1..3));
    ("[a-z]{1,8}", annotations).prop_map(|(name, annotations)| {
        let mut metadata = json!({"name": name, "namespace": "metal3", "generation": 3});
        if let Some(annotations) = annotations {
            metadata["annotations"] = json!(annotations);
        }
        metadata
    })
}

fn value(name: &str, schema: &Value, newer: bool) -> BoxedStrategy<Value> {
    if let Some(Value::Array(words)) = schema.get("enum") {
        return sample::select(words.clone()).boxed();
    }
    if schema.get("x-kubernetes-preserve-unknown-fields").is_some() {
        return anything();
    }
    match schema["type"].as_str().unwrap() {
        "boolean" => any::<bool>().prop_map(Value::Bool).boxed(),
        "integer" => integer(schema),
        "string" => text(name, schema),
        "array" => list(schema, newer),
        _ if schema.get("additionalProperties").is_some() => {
            let values = value("", &schema["additionalProperties"], newer);
            let map = collection::btree_map("[a-z0-9.]{1,6}", values, 0..4);
            map.prop_map(|map| Value::Object(map.into_iter().collect())).boxed()
        }
        _ => object(schema, newer),
    }
}

fn object(schema: &Value, newer: bool) -> BoxedStrategy<Value> {
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut members: Vec<BoxedStrategy<Option<(String, Value)>>> = Vec::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let key = name.clone();
        let member = value(name, schema, newer).prop_map(move |value| (key.clone(), value));
        members.push(if required.contains(name.as_str()) {
            member.prop_map(Some).boxed()
        } else {
            option::weighted(0.6, member).boxed()
        });
    }
    if newer {
        let member = anything().prop_map(|value| (NEWER.to_owned(), value));
        members.push(option::weighted(0.1, member).boxed());
    }
    let least = schema["minProperties"].as_u64().unwrap_or_default();
    members
        .prop_map(|members| members.into_iter().flatten().collect::<Map<_, _>>())
        .prop_filter("too few members", move |members| members.len() as u64 >= least)
        .prop_map(Value::Object)
        .boxed()
}

fn list(schema: &Value, newer: bool) -> BoxedStrategy<Value> {
    let least = schema["minItems"].as_u64().unwrap_or_default() as usize;
    let keys: Vec<String> =
        serde_json::from_value(schema["x-kubernetes-list-map-keys"].clone()).unwrap_or_default();
    let unique = schema.get("x-kubernetes-list-type").is_some_and(|kind| kind == "set" || kind == "map");
    collection::vec(value("", &schema["items"], newer), least..4)
        .prop_map(move |mut items| {
            let mut seen = BTreeSet::new();
            let key = |item: &Value| match keys.first() {
                Some(key) => item[key].to_string(),
                None => item.to_string(),
            };
            items.retain(|item| !unique || seen.insert(key(item)));
            Value::Array(items)
        })
        .boxed()
}

fn integer(schema: &Value) -> BoxedStrategy<Value> {
    let least = schema["minimum"].as_i64().unwrap_or(-100);
    let most = schema["maximum"].as_i64().unwrap_or(1 << 31) - 1;
    Union::new([Just(least).boxed(), (least..=most).boxed(), (least..=least + 9).boxed()])
        .prop_map(Value::from)
        .boxed()
}

/// Texts for fields with a pattern: those that match are used.
const SAMPLES: [&str; 16] = [
    "10.0.0.1",
    "192.168.7.254",
    "2001:db8::1",
    "::",
    "rack1",
    "pool.example",
    "eth0",
    "IPPool",
    "InClusterIPPool",
    "ipam.metal3.io",
    "Ready",
    "WaitingForHost",
    "10.0.0.0/24",
    "2001:db8::/64",
    "32",
    "131072Mi",
];
const TIMES: [&str; 2] = ["2026-03-04T05:06:07Z", "2026-11-16T00:00:00Z"];
/// As v1beta2 gives them back.
const DURATIONS: [&str; 5] = ["1m40s", "5m0s", "59m59s", "1h0m1s", "100h0m0s"];

fn text(name: &str, schema: &Value) -> BoxedStrategy<Value> {
    if schema["format"] == "date-time" {
        return sample::select(TIMES.to_vec()).prop_map(Value::from).boxed();
    }
    if name == "timeout" {
        return sample::select(DURATIONS.to_vec()).prop_map(Value::from).boxed();
    }
    let least = schema["minLength"].as_u64().unwrap_or_default() as usize;
    let most = schema["maxLength"].as_u64().unwrap_or(512) as usize;
    if let Some(pattern) = schema["pattern"].as_str() {
        let pattern = Regex::new(pattern).unwrap();
        let fits = |text: &&str| pattern.is_match(text) && (least..=most).contains(&text.len());
        let fitting: Vec<&str> = SAMPLES.into_iter().filter(fits).collect();
        return sample::select(fitting).prop_map(Value::from).boxed();
    }
    proptest::string::string_regex(&format!("[ -~]{{{least},{}}}", most.min(9)))
        .unwrap()
        .prop_map(Value::from)
        .boxed()
}

/// Any JSON that is not null and says something.
fn anything() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::from),
        "[a-z]{1,5}".prop_map(Value::from),
        Just(json!(true))
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 1..3).prop_map(Value::from),
            collection::btree_map("[a-z]{1,3}", inner, 1..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

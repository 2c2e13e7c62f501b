//! Whatever JSON comes in, an answer comes out.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{fs, path::Path, sync::LazyLock};

use proptest::{prelude::*, sample::Index};
use serde_json::{Map, Value, json};

const VERSIONS: [&str; 2] =
    ["infrastructure.cluster.x-k8s.io/v1beta2", "infrastructure.cluster.x-k8s.io/v1beta1"];

/// How many inputs: a hundred for each case that other properties get (`CAPM3_PROPERTY_CASES`, 1,000 if unset).
fn cases() -> u32 {
    let asked = std::env::var("CAPM3_PROPERTY_CASES").ok();
    asked.and_then(|text| text.parse::<u32>().ok()).unwrap_or(1_000).saturating_mul(100)
}

/// Every manifest beside this test, so that mutations start near what the rules look at.
static MANIFESTS: LazyLock<Vec<Value>> = LazyLock::new(manifests);
static MEMBERS: LazyLock<Vec<String>> = LazyLock::new(member_names);

fn manifests() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let read = |path| serde_saphyr::from_multiple::<Value>(&fs::read_to_string(path).unwrap()).unwrap();
    paths.into_iter().flat_map(read).collect()
}

/// Values that are nearly right somewhere, and plainly wrong ones.
fn odd_values() -> Vec<Value> {
    vec![
        json!(null),
        json!({}),
        json!([]),
        json!(""),
        json!("x"),
        json!(-1),
        json!(0),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1.5),
        json!(true),
        json!([null]),
        json!([{}]),
        json!([[]]),
        json!({"name": "a"}),
        json!("255.255.255.255"),
        json!("0.0.0.0"),
        json!("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        json!("::/0"),
        json!("0.0.0.0/0"),
        json!("::ffff:10.0.0.1"),
        json!("10.0.0.1/32"),
        json!("http://[::1%25é]/%"),
        json!("%"),
        json!("oci://é"),
        json!("2026-01-01T00:00:00Z"),
        json!("\u{0}"),
        json!("é".repeat(300)),
        json!("3000000000h"),
        json!("random"),
    ]
}

fn arbitrary_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::select(odd_values()),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let member =
            prop_oneof![prop::sample::select(MEMBERS.as_slice()), "[a-z]{1,4}".prop_map(String::from)];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((member, inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Every member that some manifest has.
fn member_names() -> Vec<String> {
    fn collect(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, member)| {
                names.push(name.clone());
                collect(member, names);
            }),
            Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
            _ => {}
        }
    }
    let mut names = Vec::new();
    MANIFESTS.iter().for_each(|manifest| collect(manifest, &mut names));
    names.sort();
    names.dedup();
    names
}

/// Every place in a value.
fn places(value: &Value, here: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                places(member, format!("{here}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, format!("{here}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(here);
}

/// A manifest in which some places hold something else.
fn nearly_valid() -> impl Strategy<Value = Value> {
    let change =
        (any::<Index>(), prop_oneof![3 => prop::sample::select(odd_values()), 1 => arbitrary_json()]);
    let version = prop::option::weighted(0.3, prop::sample::select(VERSIONS.to_vec()));
    let changes = prop::collection::vec(change, 0..4);
    (prop::sample::select(MANIFESTS.as_slice()), changes, version).prop_map(
        |(mut manifest, changes, version)| {
            for (place, value) in changes {
                let mut found = Vec::new();
                places(&manifest, String::new(), &mut found);
                if let Some(target) = manifest.pointer_mut(place.get(&found).as_str()) {
                    *target = value;
                }
            }
            if let (Some(version), Some(members)) = (version, manifest.as_object_mut()) {
                members.insert("apiVersion".to_owned(), version.into());
            }
            manifest
        },
    )
}

fn input() -> impl Strategy<Value = Value> {
    prop_oneof![9 => nearly_valid(), 1 => arbitrary_json()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_input_is_answered(new in input(), old in prop::option::of(input()), back in prop::sample::select(VERSIONS.to_vec())) {
        let mut filled = new.clone();
        if capm3_admission::fill_in(&mut filled).is_ok() {
            let once = filled.clone();
            prop_assert!(capm3_admission::fill_in(&mut filled).is_ok());
            prop_assert_eq!(&filled, &once, "filling in twice is filling in once");
        }
        for object in [&new, &filled] {
            let answer = capm3_admission::judge(old.as_ref(), object);
            if let Some(denial) = answer.denial {
                prop_assert!(!denial.message.is_empty());
                prop_assert!((400..500).contains(&denial.code), "{}", denial.code);
            }
        }
        let _ = capm3_admission::convert(new, back);
    }
}

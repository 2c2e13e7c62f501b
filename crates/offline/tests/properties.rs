//! What holds for any document and any text.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use capm3_engine::manifests::{self, Document};
use capm3_offline::migrate::{Options, migrate, migrate_texts, to_yaml};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// Words that rules look for, old and new.
const KEYS: &[&str] = &[
    "spec",
    "template",
    "metadata",
    "metaData",
    "networkData",
    "links",
    "bonds",
    "vlans",
    "ethernets",
    "networks",
    "ipv4",
    "ipv6",
    "ipv4Dhcp",
    "ipv6SLAAC",
    "routes",
    "netmask",
    "prefix",
    "gateway",
    "services",
    "dns",
    "parameters",
    "bondMode",
    "ipAddress",
    "ipAddesses",
    "ipAddresses",
    "ipAddressesFromIPPool",
    "ipAddressesFromPool",
    "start",
    "end",
    "subnet",
    "step",
    "key",
    "Name",
    "name",
    "namespace",
    "hostSelector",
    "matchLabels",
    "matchExpressions",
    "values",
    "image",
    "format",
    "diskFormat",
    "dataTemplate",
    "claim",
    "metal3Machine",
    "templateReference",
    "index",
    "status",
    "ownerReferences",
    "uid",
    "kind",
    "apiVersion",
    "apiGroup",
    "noCloudProvider",
    "cloudProviderEnabled",
    "failureDomains",
    "providerSpec",
    "value",
    "strategy",
    "timeout",
    "rollout",
    "rollingUpdate",
    "deletePolicy",
    "rolloutStrategy",
    "machineTemplate",
    "infrastructureRef",
    "bootstrap",
    "configRef",
    "nodeDrainTimeout",
    "deletion",
    "kubeadmConfigSpec",
    "initConfiguration",
    "nodeRegistration",
    "kubeletExtraArgs",
    "clusterName",
    "minReadySeconds",
    "unhealthyConditions",
    "remediationTemplate",
    "maxUnhealthy",
    "topology",
    "class",
    "stringData",
    "type",
    "x",
];

const TEXTS: &[&str] = &[
    "",
    "a",
    "802.1ad",
    "10.0.0.1",
    "10.0.0.0/24",
    "255.255.255.0",
    "5m",
    "\u{2018}a\u{2019}",
    "no",
    "1e3",
    "a\nb\n",
    "- x",
    "infrastructure.cluster.x-k8s.io/v1beta1",
    "Metal3DataTemplate",
    "#",
    " lead",
    "0x1",
    "true",
    "2001:db8::a",
];

const KINDS: &[&str] = &[
    "Metal3Cluster",
    "Metal3ClusterTemplate",
    "Metal3Data",
    "Metal3DataClaim",
    "Metal3DataTemplate",
    "Metal3Machine",
    "Metal3MachineTemplate",
    "Metal3Remediation",
    "Metal3RemediationTemplate",
    "Cluster",
    "Machine",
    "MachineSet",
    "MachineDeployment",
    "MachineHealthCheck",
    "KubeadmConfig",
    "KubeadmConfigTemplate",
    "KubeadmControlPlane",
    "Secret",
    "IPPool",
    "Template",
    "metal3machine",
    "",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..400).prop_map(Value::from),
        select(TEXTS).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(7, 60, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((select(KEYS), inner), 0..6)
                .prop_map(|members| members
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect::<Map<_, _>>())
                .prop_map(Value::from),
        ]
    })
}

fn document() -> impl Strategy<Value = Value> {
    (select(KINDS), value(), value()).prop_map(|(kind, metadata, spec)| {
        let mut document = json!({"metadata": metadata, "spec": spec});
        if !kind.is_empty() {
            document["kind"] = json!(kind);
        }
        document
    })
}

/// The manifests of the designs.
fn printed() -> Vec<Value> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/seeds");
    let texts = manifests::texts(&[folder]).unwrap();
    let documents = texts.iter().flat_map(|(file, text)| manifests::parse_parts(file, text).documents);
    documents.map(|document| document.value).collect()
}

/// Another value or another key somewhere in a document.
#[derive(Debug, Clone)]
struct Edit {
    /// Which of the values, counted through the document.
    at: usize,
    /// The key that the value gets, if it is a member.
    key: Option<&'static str>,
    /// The value that stands there.
    value: Option<Value>,
}

fn edit() -> impl Strategy<Value = Edit> {
    (0usize..200, proptest::option::of(select(KEYS)), proptest::option::of(value()))
        .prop_map(|(at, key, value)| Edit { at, key, value })
}

/// Makes an edit; `left` counts the values down to the one that is meant.
fn edited(value: Value, edit: &Edit, left: &mut usize) -> Value {
    let mut child = |value: Value| {
        let is_here = *left == 0;
        *left = left.wrapping_sub(1);
        if is_here { edit.value.clone().unwrap_or(value) } else { edited(value, edit, left) }
    };
    match value {
        Value::Array(items) => items.into_iter().map(child).collect(),
        Value::Object(map) => {
            let mut members = Map::new();
            for (position, (key, value)) in map.into_iter().enumerate() {
                let key = edit.key.filter(|_| position == edit.at % 7).map_or(key, ToOwned::to_owned);
                members.insert(key, child(value));
            }
            Value::Object(members)
        }
        leaf => leaf,
    }
}

fn nearly_printed() -> impl Strategy<Value = Value> {
    (select(printed()), vec(edit(), 0..4)).prop_map(|(document, edits)| {
        edits.iter().fold(document, |document, edit| edited(document, edit, &mut edit.at.clone()))
    })
}

/// A document with any text, or any object, in the annotation of a conversion.
fn converted() -> impl Strategy<Value = Value> {
    let object = value().prop_map(|spec| json!({"spec": spec}).to_string());
    let text = prop_oneof![object, select(TEXTS).prop_map(str::to_owned)];
    (prop_oneof![document(), nearly_printed()], text).prop_map(|(mut document, text)| {
        let metadata = json!({"name": "a", "annotations": {"cluster.x-k8s.io/conversion-data": text}});
        if let Some(document) = document.as_object_mut() {
            document.insert("metadata".to_owned(), metadata);
            // What v1alpha kept is never read; that it stays is shown elsewhere.
            document.shift_remove("apiVersion");
        }
        document
    })
}

fn made(values: &[Value]) -> Vec<Document> {
    values.iter().map(|value| Document::made("f.yaml", value.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn migrating_the_output_changes_nothing(values in vec(prop_oneof![document(), nearly_printed(), nearly_printed()], 1..3), prune: bool, portable: bool) {
        let options = Options { prune, portable };
        let first = migrate(&made(&values), options);
        let second = migrate(&made(&first.documents), options);
        prop_assert_eq!(&second.documents, &first.documents);
        prop_assert_eq!(&second.changes, &vec![]);
    }

    #[test]
    fn what_an_annotation_holds_comes_back_at_once(value in converted(), prune: bool) {
        let options = Options { prune, portable: false };
        let first = migrate(&made(&[value]), options);
        let second = migrate(&made(&first.documents), options);
        prop_assert_eq!(&second.documents, &first.documents);
        prop_assert_eq!(&second.changes, &vec![]);
    }

    #[test]
    fn what_is_printed_is_read_back_as_it_was(value in document()) {
        let text = to_yaml(std::slice::from_ref(&value));
        let reading = manifests::parse_parts("f.yaml", &text);
        prop_assert_eq!(reading.problems, vec![], "{}", text);
        prop_assert_eq!(&reading.documents[0].value, &value, "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,200}", lines in vec("[ ]{0,4}(- )?[a-c]{1,2}:? ?[\\[{a'\"]?", 0..8)) {
        for text in [text, lines.join("\n")] {
            migrate_texts(&[("f.yaml".to_owned(), text)], Options { prune: true, portable: true });
        }
    }
}

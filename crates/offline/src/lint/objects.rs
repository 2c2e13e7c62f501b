//! Documents as the rules look at them.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use capm3_api::metadata::group_of;
use capm3_domain::lint::{Collection, Manifests, ObjectId, RawObject, UserNetworkData};
use capm3_engine::{Memory, Object, manifests::Document};
use serde_json::Value;

use crate::render::yaml_value;

/// Every document as it was written, and those of the provider's own kinds by their types.
pub(super) fn manifests<'d>(
    documents: &'d [Document],
    numbers: &BTreeMap<(&str, &str, String, String), ObjectId>,
    memory: &Memory,
) -> Manifests<'d> {
    let raw = |(id, document): (usize, &'d Document)| {
        let key = document.key();
        RawObject {
            id,
            group: group_of(document.api_version()),
            kind: document.kind(),
            namespace: key.namespace,
            name: key.name,
            value: &document.value,
        }
    };
    let mut manifests = Manifests::of(documents.iter().enumerate().map(raw).collect());
    manifests.data_templates = collection(numbers, memory);
    manifests.machine_templates = collection(numbers, memory);
    manifests.metal3_clusters = collection(numbers, memory);
    manifests.pools = collection(numbers, memory);
    manifests.hosts = collection(numbers, memory);
    manifests.user_network_data = user_network_data(&manifests);
    manifests
}

/// Where objects name a Secret with network data of the user.
const NAMED: [(&str, &str); 3] = [
    ("Metal3MachineTemplate", "/spec/template/spec/networkData/name"),
    ("Metal3Machine", "/spec/networkData/name"),
    ("BareMetalHost", "/spec/preprovisioningNetworkDataName"),
];

/// Where a Secret holds it.
const MEMBERS: [&str; 2] = ["networkData", "value"];

fn user_network_data(manifests: &Manifests<'_>) -> Vec<UserNetworkData> {
    let mut found = BTreeMap::new();
    for object in manifests.objects() {
        for (_, pointer) in NAMED.iter().filter(|(kind, _)| *kind == object.kind) {
            let name = object.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            if let Some(secret) = manifests.find("Secret", &object.namespace, name) {
                found.entry(secret.id).or_insert_with(|| network_data_of(secret));
            }
        }
    }
    found.into_values().flatten().collect()
}

fn network_data_of(secret: &RawObject<'_>) -> Option<UserNetworkData> {
    let (field, text) = MEMBERS.into_iter().find_map(|member| {
        let text = |part: &str| secret.value.get(part)?.get(member)?.as_str();
        let plain = text("stringData").map(|text| (format!("stringData.{member}"), Ok(text.to_owned())));
        plain.or_else(|| Some((format!("data.{member}"), decoded(text("data")?))))
    })?;
    let document = text.and_then(|text| yaml_value(&text));
    Some(UserNetworkData { id: secret.id, field, document })
}

fn decoded(text: &str) -> Result<String, String> {
    let packed: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(packed).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

fn collection<K: Object>(
    numbers: &BTreeMap<(&str, &str, String, String), ObjectId>,
    memory: &Memory,
) -> Collection<K> {
    let mut collection = Collection::default();
    let (group, kind) = (K::group(&()), K::kind(&()));
    let all = memory.caches().store::<K>().map(|store| store.all()).unwrap_or_default();
    for object in all {
        let key = object.key();
        let place = (group.as_ref(), kind.as_ref(), key.namespace.clone(), key.name.clone());
        if let Some(number) = numbers.get(&place) {
            collection.add(&key.namespace, &key.name, *number, object);
        }
    }
    collection
}

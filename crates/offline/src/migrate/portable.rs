//! What the reference implementation does not know, in forms that it knows.
//!
//! An inline range becomes an IPPool that hands out the same address for each index: the name of an address claim is
//! that of the data and the pool, so the pool can set the address of each claim aside. What cannot be expressed is reported
//! as an error and stays: a CRD without the field would prune it silently, and a machine would boot with another rack's network.

use capm3_api::vocabulary::annotation::TEMPLATE_REFERENCE;
use capm3_engine::manifests::Document;
use serde_json::{Map, Value, json};

use super::{draft::Draft, names::is_legal, path::Path};

mod failure_domains;
mod own_status;
mod pool;
mod refused;

use pool::Pool;

/// Converts a document that is in the form of v1beta2; gives the pools that it needs.
pub(super) fn convert(draft: &mut Draft<'_>, documents: &[Document]) -> Vec<Value> {
    own_status::report(draft);
    match draft.text("kind") {
        "Metal3DataTemplate" => {
            drop_key(draft, documents);
            let pools = pools(draft);
            refused::in_data_template(draft);
            pools
        }
        "Metal3Machine" => {
            refused::in_machine(draft, "spec");
            vec![]
        }
        "Metal3MachineTemplate" => {
            refused::in_machine(draft, "spec.template.spec");
            failure_domains::settle(draft);
            vec![]
        }
        "Metal3Data" => {
            drop_key(draft, documents);
            vec![]
        }
        _ => vec![],
    }
}

/// The key that templates share cannot be expressed. Where it matters it stays, for without it an address could be used twice.
/// The annotation that mirrors it stays: there nobody reads it, and on the way back it is the key again.
fn drop_key(draft: &mut Draft<'_>, documents: &[Document]) {
    let Some((path, key)) = key_of(&draft.value) else { return };
    let name = draft.text("metadata.name").to_owned();
    let is_shared = documents.iter().any(|other| {
        let text = |pointer| other.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let shares = text("/metadata/name") == key || key_of(&other.value).is_some_and(|(_, its)| its == key);
        text("/kind") == "Metal3DataTemplate" && text("/metadata/name") != name && shares
    });
    if is_shared && draft.text("kind") == "Metal3DataTemplate" {
        let message = format!("another template has the key {key} too: without it both would count from 0");
        draft.error(&path, message, Some("bring the machines of both to one template first".to_owned()));
        return;
    }
    draft.warn(&path, "templates cannot share indexes in the reference implementation", None);
    draft.remove(&Path::of("spec.templateReference"), "the reference implementation does not support it");
}

/// The key of a template or of data, and where it stands: in the field or, where CRDs have none, in the annotation.
fn key_of(document: &Value) -> Option<(Path, String)> {
    let field = Path::of("spec.templateReference");
    let annotation = Path::of("metadata.annotations").key(TEMPLATE_REFERENCE);
    [field, annotation].into_iter().find_map(|path| {
        let key = path.find(document)?.as_str().filter(|key| !key.is_empty())?.to_owned();
        Some((path, key))
    })
}

/// Where inline ranges of networks stand.
const NETWORKS: [&str; 2] = ["spec.networkData.networks.ipv4", "spec.networkData.networks.ipv6"];

/// Puts pools in the place of the inline ranges.
fn pools(draft: &mut Draft<'_>) -> Vec<Value> {
    let template = draft.text("metadata.name").to_owned();
    let mut made: Vec<Pool> = Vec::new();
    for list in NETWORKS.map(Path::of) {
        for item in items(draft, &list) {
            let Some(network) = item.find(&draft.value).cloned() else { continue };
            let Some(range) = network.get("ipAddress") else { continue };
            let id = network.get("id").and_then(Value::as_str).unwrap_or_default();
            let Some(name) = pool_for(draft, &mut made, &template, id, range, network.get("prefix"), &item)
            else {
                continue;
            };
            draft.note(&item.key("ipAddress"), "ipAddress", format!("ipAddressFromIPPool: {name}"), INLINE);
            set(draft, &item, "ipAddress", "ipAddressFromIPPool", json!(name));
        }
    }
    meta_data(draft, &mut made, &template);
    let namespace = draft.get("metadata.namespace").cloned();
    let cluster = draft.get("spec.clusterName").cloned();
    made.into_iter().map(|pool| pool.document(namespace.as_ref(), cluster.as_ref())).collect()
}

const INLINE: &str = "the reference implementation does not support inline ranges";

/// The list of inline addresses becomes a list of addresses from pools.
fn meta_data(draft: &mut Draft<'_>, made: &mut Vec<Pool>, template: &str) {
    let (inline, pooled) =
        (Path::of("spec.metaData.ipAddresses"), Path::of("spec.metaData.ipAddressesFromPool"));
    let mut moved = Vec::new();
    let mut kept = Vec::new();
    for item in items(draft, &inline) {
        let Some(range) = item.find(&draft.value).cloned() else { continue };
        let key = range.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        match pool_for(draft, made, template, &key, &range, None, &item) {
            Some(name) => {
                draft.note(&item, key.clone(), format!("ipAddressesFromPool: {name}"), INLINE);
                moved.push(json!({"key": key, "name": name, "apiGroup": "ipam.metal3.io", "kind": "IPPool"}));
            }
            None => kept.push(range),
        }
    }
    if moved.is_empty() {
        return;
    }
    let existing = pooled.find(&draft.value).and_then(Value::as_array).cloned().unwrap_or_default();
    let keys: Vec<Option<&Value>> = existing.iter().map(|item| item.get("key")).collect();
    // A value from a pool overrides an inline one of the same key.
    moved.retain(|item| !keys.contains(&item.get("key")));
    let all: Vec<Value> = existing.iter().cloned().chain(moved).collect();
    let Some(Value::Object(lists)) = Path::of("spec.metaData").find_mut(&mut draft.value) else { return };
    if kept.is_empty() {
        lists.shift_remove("ipAddresses");
    } else {
        lists.insert("ipAddresses".to_owned(), Value::Array(kept));
    }
    lists.insert("ipAddressesFromPool".to_owned(), Value::Array(all));
}

fn items(draft: &Draft<'_>, list: &Path) -> Vec<Path> {
    let count = list.find(&draft.value).and_then(Value::as_array).map_or(0, Vec::len);
    (0..count).map(|index| list.item(index)).collect()
}

/// The name of the pool that gives the addresses of this range, made if there is none yet.
fn pool_for(
    draft: &mut Draft<'_>,
    made: &mut Vec<Pool>,
    template: &str,
    id: &str,
    range: &Value,
    prefix: Option<&Value>,
    at: &Path,
) -> Option<String> {
    let pool = match Pool::of(template, id, range, prefix) {
        Ok(pool) => pool,
        Err(problem) => {
            draft.error(at, format!("no pool can be made of this range: {problem}"), None);
            return None;
        }
    };
    if let Some(same) = made.iter_mut().find(|other| other.serves(&pool)) {
        same.take(&pool);
        return Some(same.name.clone());
    }
    if !is_legal(&pool.name) {
        draft.error(at, format!("no pool can have the name {}", pool.name), None);
        return None;
    }
    if pool.is_cut {
        let message =
            format!("only the first {} addresses are set aside; index {0} will find none", pool::MOST);
        draft.warn(at, message, None);
    }
    let number = made.iter().filter(|other| other.stem == pool.stem).count();
    let pool = pool.numbered(number);
    let name = pool.name.clone();
    made.push(pool);
    Some(name)
}

/// Puts one member in the place of another, and leaves the prefix to the pool.
fn set(draft: &mut Draft<'_>, item: &Path, old: &str, new: &str, value: Value) {
    let Some(Value::Object(map)) = item.find_mut(&mut draft.value) else { return };
    map.shift_remove("prefix");
    let renamed = std::mem::take(map)
        .into_iter()
        .map(|(key, was)| if key == old { (new.to_owned(), value.clone()) } else { (key, was) });
    *map = renamed.collect::<Map<_, _>>();
}

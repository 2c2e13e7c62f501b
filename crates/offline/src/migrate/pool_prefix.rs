//! The prefix of a network whose addresses come from a pool: the pool says it.

use capm3_engine::manifests::Document;
use serde_json::Value;

use super::{draft::Draft, path::Path};

/// Takes out a prefix that the pool, which is in the input, says too; otherwise the user must decide.
pub(super) fn settle(draft: &mut Draft<'_>, documents: &[Document]) {
    for list in ["ipv4", "ipv6"] {
        let list = Path::of("spec.networkData.networks").key(list);
        let count = list.find(&draft.value).and_then(Value::as_array).map_or(0, Vec::len);
        for item in (0..count).map(|index| list.item(index)) {
            one(draft, &item, documents);
        }
    }
}

fn one(draft: &mut Draft<'_>, item: &Path, documents: &[Document]) {
    let at = item.key("prefix");
    let Some(network) = item.find(&draft.value).cloned() else { return };
    let Some(prefix) = network.get("prefix").filter(|prefix| !prefix.is_null()) else { return };
    let Some(source) = pool(&network).filter(|_| network.get("ipAddress").is_none()) else { return };
    if draft.is_disputed(&at) {
        return;
    }
    let namespace = draft.text("metadata.namespace").to_owned();
    let prefixes = source.and_then(|name| prefixes(documents, &namespace, name));
    let name = source.map_or_else(|| "its pool".to_owned(), |name| format!("pool {name}"));
    match prefixes.as_deref() {
        Some([one]) if one == prefix => {
            draft.remove(&at, &format!("{name} says it, and a network with a pool has none of its own"));
        }
        Some(others) => {
            let others: Vec<String> = others.iter().map(Value::to_string).collect();
            let message =
                format!("says {prefix}, but {name}, whose prefix is used, says {}", others.join(", "));
            draft.error(&at, message, Some("remove it, or correct the pool".to_owned()));
        }
        None => {
            let message = format!(
                "a network with a pool has no prefix of its own: that of {name} is used, not {prefix}"
            );
            let proposal = format!("remove it, and make sure that {name} has prefix: {prefix}");
            draft.error(&at, message, Some(proposal));
        }
    }
}

/// Whether addresses come from a pool, and its name where an IPPool is named.
fn pool(network: &Value) -> Option<Option<&str>> {
    let text = |pointer| network.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(name) = text("/fromPoolRef/name") {
        return Some(Some(name).filter(|_| text("/fromPoolRef/kind").is_none_or(|kind| kind == "IPPool")));
    }
    text("/ipAddressFromIPPool").map(Some).or_else(|| network.get("fromPoolAnnotation").map(|_| None))
}

/// Every prefix that a pool of the input gives, each once; none where the pool is not there or has a range without one.
fn prefixes(documents: &[Document], namespace: &str, name: &str) -> Option<Vec<Value>> {
    let text = |document: &Document, pointer| {
        document.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let pool = documents.iter().find(|document| {
        document.kind() == "IPPool"
            && text(document, "/metadata/name") == name
            && text(document, "/metadata/namespace") == namespace
    })?;
    let whole = pool.value.pointer("/spec/prefix");
    let ranges = pool.value.pointer("/spec/pools").and_then(Value::as_array)?;
    let mut found: Vec<Value> = Vec::new();
    for range in ranges {
        let prefix = range.get("prefix").or(whole)?;
        if !found.contains(prefix) {
            found.push(prefix.clone());
        }
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pool_gives_the_prefix_of_each_of_its_ranges() {
        let pool = |spec: Value| {
            let object = json!({"kind": "IPPool", "metadata": {"name": "p", "namespace": "n"}, "spec": spec});
            prefixes(&[Document::made("f", object)], "n", "p")
        };
        assert_eq!(pool(json!({"prefix": 24, "pools": [{}, {}]})), Some(vec![json!(24)]));
        assert_eq!(
            pool(json!({"prefix": 24, "pools": [{}, {"prefix": 25}]})),
            Some(vec![json!(24), json!(25)])
        );
        assert_eq!(pool(json!({"pools": [{}, {"prefix": 25}]})), None);
        assert_eq!(pool(json!({"prefix": 24, "pools": []})), None);
        assert_eq!(prefixes(&[], "n", "p"), None);
    }

    #[test]
    fn a_network_names_its_pool_in_one_of_three_ways() {
        for (network, found) in [
            (json!({"ipAddressFromIPPool": "p"}), Some(Some("p"))),
            (json!({"fromPoolRef": {"name": "p"}}), Some(Some("p"))),
            (json!({"fromPoolRef": {"name": "p", "kind": "Other"}}), Some(None)),
            (json!({"fromPoolAnnotation": {"object": "machine", "annotation": "a"}}), Some(None)),
            (json!({"ipAddressFromIPPool": ""}), None),
            (json!({}), None),
        ] {
            assert_eq!(pool(&network), found, "{network}");
        }
    }
}

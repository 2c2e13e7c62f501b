//! What a node finds on its config drive: the Secrets that the host names, and the metadata merged from the
//! operator's defaults and the metadata Secret.
//!
//! Contents are read when the image is written and at no other time; they are never logged, and no message quotes
//! them.

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_api::{metadata::MetadataExt, neighbours::Secret, reference::SecretRef};
use capm3_engine::{ApiClient, Object, ObjectKey};
use serde_json::{Value, json};
use tracing::warn;

use crate::{config_drives::NodeData, kinds::BareMetalHost, metadata::beside};

/// Key under which a Secret that was not made for hosts holds its content.
const FALLBACK_KEY: &str = "value";

/// Why there is no config drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Something is missing or malformed: a sentence for the host's status.
    Refused(String),
    /// The API did not answer.
    NotRead,
}

impl From<String> for Problem {
    fn from(sentence: String) -> Self {
        Self::Refused(sentence)
    }
}

/// Reads the Secrets of a host.
pub(crate) async fn read(client: &ApiClient, host: &BareMetalHost) -> Result<NodeData, Problem> {
    let mut secrets = BTreeMap::new();
    for (_, reference) in references(host) {
        let Some(at) = place(host, reference.as_ref()) else { continue };
        match client.get_object::<Secret>(&at).await {
            Ok(secret) => drop(secret.map(|secret| secrets.insert(at, secret))),
            Err(error) => {
                warn!(secret = %at, %error, "could not be read");
                return Err(Problem::NotRead);
            }
        }
    }
    Ok(assemble(host, |key| secrets.get(key).cloned())?)
}

/// What the node finds, made of the Secrets that `secret` gives; the error is a sentence for the host's status.
pub(crate) fn assemble(
    host: &BareMetalHost,
    secret: impl Fn(&ObjectKey) -> Option<Secret>,
) -> Result<NodeData, String> {
    let [user_data, meta_data, network_data] = references(host)
        .map(|(key, reference)| content(host, reference.as_ref(), key, key != "networkData", &secret));
    let (user_data, meta_data, network_data) = (user_data?, meta_data?, network_data?);
    if let Some(text) = &network_data {
        parse(text, "networkData")?;
    }
    Ok(NodeData { meta_data: merge(host, meta_data.as_deref())?, network_data, user_data })
}

/// The key of each Secret's content, and the reference to the Secret.
fn references(host: &BareMetalHost) -> [(&'static str, Option<SecretRef>); 3] {
    let by_name = |name: &String| SecretRef { name: Some(name.as_str().into()), namespace: None };
    let network = host.spec.network_data.clone();
    let network = network.or_else(|| host.spec.preprovisioning_network_data_name.as_ref().map(by_name));
    let (user_data, meta_data) = (host.spec.user_data.clone(), host.spec.meta_data.clone());
    [("userData", user_data), ("metaData", meta_data), ("networkData", network)]
}

/// Where the Secret of a reference is; none if nothing is named, or something in another namespace.
fn place(host: &BareMetalHost, reference: Option<&SecretRef>) -> Option<ObjectKey> {
    let reference = reference.filter(|r| !r.name_str().is_empty())?;
    (!is_elsewhere(host, reference)).then(|| beside(host, reference.name_str()))
}

fn is_elsewhere(host: &BareMetalHost, reference: &SecretRef) -> bool {
    let home = host.metadata.namespace_str();
    reference.namespace.as_ref().is_some_and(|namespace| !namespace.is_empty() && **namespace != *home)
}

fn content(
    host: &BareMetalHost,
    reference: Option<&SecretRef>,
    key: &str,
    required: bool,
    secret: impl Fn(&ObjectKey) -> Option<Secret>,
) -> Result<Option<String>, String> {
    if reference.is_none_or(|reference| reference.name_str().is_empty()) {
        return Ok(None);
    }
    let Some(at) = place(host, reference) else {
        return Err(format!("{key} secret must be in same namespace as host {}", host.key()));
    };
    match secret(&at) {
        Some(secret) => pick(&secret, key, required),
        None => Err(format!("the {key} Secret {at} does not exist")),
    }
}

/// The content under the key or the fallback key.
fn pick(secret: &Secret, key: &str, required: bool) -> Result<Option<String>, String> {
    let name = secret.metadata.name_str();
    let Some(encoded) = secret.data.get(key).or_else(|| secret.data.get(FALLBACK_KEY)) else {
        return match required {
            true => Err(format!("the Secret {name} has neither key {key} nor key {FALLBACK_KEY}")),
            false => Ok(None),
        };
    };
    let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| format!("the Secret {name} is not base64"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("the Secret {name} is not text"))?;
    Ok(Some(text))
}

/// The operator's defaults with the Secret's metadata over them, key by key.
fn merge(host: &BareMetalHost, secret: Option<&str>) -> Result<BTreeMap<String, Value>, String> {
    let (name, namespace) = (host.metadata.name_str(), host.metadata.namespace_str());
    let defaults = [
        ("uuid", host.metadata.uid_str()),
        ("metal3-namespace", namespace),
        ("metal3-name", name),
        ("local-hostname", name),
        ("local_hostname", name),
        ("name", name),
    ];
    let mut merged: BTreeMap<String, Value> =
        defaults.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    match secret.map(|text| parse(text, "metaData")).transpose()? {
        Some(Value::Object(given)) => merged.extend(given),
        None | Some(Value::Null) => {}
        Some(_) => return Err("the metaData Secret is not a map".to_owned()),
    }
    Ok(merged)
}

fn parse(text: &str, what: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|_| format!("the {what} Secret is not YAML"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> BareMetalHost {
        serde_json::from_value(json!({"metadata": {"namespace": "metal3", "name": "host-1", "uid": "u-1"}}))
            .unwrap()
    }

    fn secret(data: &[(&str, &str)]) -> Secret {
        Secret {
            data: data.iter().map(|(k, v)| ((*k).to_owned(), BASE64_STANDARD.encode(v))).collect(),
            ..Secret::default()
        }
    }

    #[test]
    fn six_defaults_come_from_the_host_and_the_secret_wins_key_by_key() {
        let merged =
            merge(&host(), Some("local-hostname: node-7\nproviderid: metal3/host-1/m\nindex: \"7\"\n"))
                .unwrap();
        let expected = json!({"uuid": "u-1", "metal3-namespace": "metal3", "metal3-name": "host-1",
            "local-hostname": "node-7", "local_hostname": "host-1", "name": "host-1",
            "providerid": "metal3/host-1/m", "index": "7"});
        assert_eq!(json!(merged), expected);
        assert_eq!(merge(&host(), None).unwrap().len(), 6);
        assert_eq!(merge(&host(), Some("")).unwrap().len(), 6);
    }

    #[test]
    fn metadata_that_is_no_map_is_refused_without_quoting_it() {
        for text in ["- hidden\n", "hidden", "a: [hidden"] {
            let problem = merge(&host(), Some(text)).unwrap_err();
            assert!(problem.contains("metaData Secret is not"), "{problem}");
            assert!(!problem.contains("hidden"));
        }
    }

    #[test]
    fn the_key_value_stands_in_for_a_missing_key() {
        let rows = [
            (secret(&[("userData", "a"), ("value", "b")]), true, Ok(Some("a"))),
            (secret(&[("value", "b"), ("format", "cloud-config")]), true, Ok(Some("b"))),
            (secret(&[("other", "c")]), true, Err(())),
            (secret(&[("other", "c")]), false, Ok(None)),
        ];
        for (secret, required, expected) in rows {
            let found = pick(&secret, "userData", required);
            assert_eq!(found.as_ref().map(|f| f.as_deref()).map_err(|_| ()), expected);
        }
    }
}

//! What each node was given on its config drive, so that tests can look at it. Never printed.

use std::{collections::BTreeMap, fmt};

use capm3_engine::ObjectKey;
use parking_lot::Mutex;
use serde_json::Value;

/// What a node finds on its config drive.
#[derive(Clone, Default, PartialEq)]
pub struct NodeData {
    /// The operator's defaults with the metadata Secret merged over them, key by key.
    pub meta_data: BTreeMap<String, Value>,
    /// The network data Secret as it is.
    pub network_data: Option<String>,
    /// The user data Secret as it is.
    pub user_data: Option<String>,
}

impl NodeData {
    /// A metadata value as text.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.meta_data.get(key)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    /// The network data in the form that the config drive has it in: the Secret's YAML as JSON.
    pub fn network(&self) -> Option<Value> {
        serde_saphyr::from_str(self.network_data.as_deref()?).ok()
    }
}

impl fmt::Debug for NodeData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeData")
            .field("meta_data_keys", &self.meta_data.keys().collect::<Vec<_>>())
            .field("has_network_data", &self.network_data.is_some())
            .field("has_user_data", &self.user_data.is_some())
            .finish()
    }
}

/// The data of every node by host.
#[derive(Debug, Default)]
pub(crate) struct ConfigDrives(Mutex<BTreeMap<ObjectKey, Entry>>);

#[derive(Debug, Clone)]
struct Entry {
    data: NodeData,
    /// Whether it is of the deployment under way or on the disk, not of an earlier one.
    current: bool,
}

impl ConfigDrives {
    pub(crate) fn get(&self, host: &ObjectKey) -> Option<NodeData> {
        self.0.lock().get(host).map(|entry| entry.data.clone())
    }

    /// Whether the data of the present deployment is known.
    pub(crate) fn is_current(&self, host: &ObjectKey) -> bool {
        self.0.lock().get(host).is_some_and(|entry| entry.current)
    }

    pub(crate) fn put(&self, host: &ObjectKey, data: NodeData) {
        self.0.lock().insert(host.clone(), Entry { data, current: true });
    }

    /// The deployment is over; the next one makes its own data.
    pub(crate) fn close(&self, host: &ObjectKey) {
        if let Some(entry) = self.0.lock().get_mut(host) {
            entry.current = false;
        }
    }

    pub(crate) fn forget(&self, host: &ObjectKey) {
        self.0.lock().remove(host);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn debug_shows_keys_but_no_values() {
        let data = NodeData {
            meta_data: [("token".to_owned(), json!("hidden-value"))].into(),
            user_data: Some("hidden-value".to_owned()),
            network_data: None,
        };
        let text = format!("{data:?}");
        assert!(text.contains("token"));
        assert!(!text.contains("hidden-value"));
        assert_eq!(data.text("token").as_deref(), Some("hidden-value"));
    }
}

//! The CRDs of the release, as an administrator changes and reads them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use capm3_engine::{ObjectKey, ResourceKind};
use serde_json::{Map, Value, json};

use super::{Stage, stage::text};

/// The CRDs of the release whose kinds have several versions.
pub fn converted() -> impl Iterator<Item = Value> {
    let is_converted = |crd: &Value| crd.pointer("/spec/versions/1").is_some();
    capm3_api::crd::all().into_iter().filter(is_converted)
}

impl Stage {
    /// Serves the stored version of Metal3Machines or not.
    pub async fn serve_machines(&self, is_served: bool) -> Result<()> {
        let kind = self.kind("Metal3Machine")?;
        self.change_versions(&kind.definition_key(), |version| {
            if version.get("name").is_some_and(|name| *name == kind.version) {
                version.insert("served".to_owned(), is_served.into());
            }
        })
        .await?;
        if is_served { self.until_served(kind).await } else { Ok(()) }
    }

    /// Has the server store what is written from now on in this version.
    pub async fn store_in(&self, name: &str) -> Result<()> {
        for crd in converted() {
            let key = ObjectKey::new("", text(&crd, "/metadata/name"));
            self.change_versions(&key, |version| {
                let is_stored = version.get("name").is_some_and(|it| it == name);
                version.insert("storage".to_owned(), is_stored.into());
            })
            .await?;
        }
        Ok(())
    }

    /// In which versions objects may be stored, by the names of the CRDs.
    pub async fn stored_versions(&self) -> Result<BTreeMap<String, Value>> {
        let mut versions = BTreeMap::new();
        for crd in converted() {
            let name = text(&crd, "/metadata/name");
            let crd = self.definition(&ObjectKey::new("", name)).await?;
            let stored = crd.pointer("/status/storedVersions").context("no stored versions")?;
            versions.insert(name.to_owned(), stored.clone());
        }
        Ok(versions)
    }

    async fn definition(&self, key: &ObjectKey) -> Result<Value> {
        let definition = self.client().get::<Value>(&ResourceKind::definitions(), key).await?;
        definition.with_context(|| format!("no CRD {}", key.name))
    }

    async fn change_versions(&self, key: &ObjectKey, change: impl Fn(&mut Map<String, Value>)) -> Result<()> {
        let definition = self.definition(key).await?;
        let mut versions = definition.pointer("/spec/versions").cloned().context("a CRD without versions")?;
        versions.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut).for_each(change);
        let patch = json!({"spec": {"versions": versions}});
        self.client().merge_patch(&ResourceKind::definitions(), key, None, &patch).await?;
        Ok(())
    }
}

//! Objects in memory that plans are carried out on, with the rules of an API server that matter to a plan: names are
//! unique, versions guard patches, finalizers hold back deletion.
#![allow(dead_code, clippy::indexing_slicing, clippy::panic)]

use std::{collections::BTreeMap, sync::Arc};

use capm3_engine::{End, Index, Object, ObjectKey, Plan, Reader, ResourceKind, Write};
use serde_json::{Value, json};

/// Group and plural of a kind, namespace and name.
type Place = (String, String, ObjectKey);

/// Objects by kind, namespace and name.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    objects: BTreeMap<Place, Value>,
    version: u64,
    /// Every write that was carried out.
    pub log: Vec<Write>,
}

/// The view was outdated; the plan is to be made anew.
#[derive(Debug)]
pub struct Outdated(pub String);

impl Memory {
    /// Stores an object as it is, with a new version.
    pub fn put<K: Object>(&mut self, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        let key = ObjectKey::new(text(&metadata["namespace"]), text(&metadata["name"]));
        self.objects.insert(place(&ResourceKind::of::<K>(), &key), object);
    }

    /// All objects of a kind, by namespace and name.
    pub fn list<K: Object>(&self) -> Vec<Value> {
        let kind = ResourceKind::of::<K>();
        let of_kind = |place: &&Place| place.0 == kind.group && place.1 == kind.plural;
        self.objects.keys().filter(of_kind).filter_map(|place| self.objects.get(place).cloned()).collect()
    }

    /// Changes an object, if it is there.
    pub fn change<K: Object>(&mut self, key: &ObjectKey, patch: &Value) {
        let kind = ResourceKind::of::<K>();
        if let Some(mut object) = self.objects.remove(&place(&kind, key)) {
            merge(&mut object, patch);
            self.store(&kind, key, object);
        }
    }

    /// Deletes an object as a user does.
    pub fn delete<K: Object>(&mut self, key: &ObjectKey) {
        let _ = self.remove(&ResourceKind::of::<K>(), key, None);
    }

    /// Carries out a plan; stops at the first write that meets an outdated view.
    pub fn act<W>(&mut self, plan: &Plan<W>) -> Result<(), Outdated> {
        self.act_until_crash(plan, usize::MAX)
    }

    /// Carries out the first writes of a plan, then nothing, as if the process had died.
    pub fn act_until_crash<W>(&mut self, plan: &Plan<W>, writes: usize) -> Result<(), Outdated> {
        let mut own: BTreeMap<Place, String> = BTreeMap::new();
        for write in plan.writes.iter().take(writes) {
            self.write(write, &mut own)?;
            self.log.push(write.clone());
        }
        Ok(())
    }

    /// Plans and acts as a controller does: at once again while the view is outdated or the plan says so.
    pub fn drive<W: PartialEq>(&mut self, mut plan: impl FnMut(&Self) -> Option<Plan<W>>) -> End<W> {
        for _ in 0..8 {
            let Some(plan) = plan(self) else { return End::Done };
            match self.act(&plan) {
                Ok(()) if plan.end == End::Again => {}
                Ok(()) => return plan.end,
                Err(Outdated(_)) => {}
            }
        }
        panic!("no plan could be carried out");
    }

    fn write(&mut self, write: &Write, own: &mut BTreeMap<Place, String>) -> Result<(), Outdated> {
        let (kind, key) = match write {
            Write::Create { kind, key, object } => {
                self.create(kind, key, object.clone())?;
                (kind, key)
            }
            Write::Patch { kind, key, subresource, version, patch } => {
                let at = place(kind, key);
                let version = own.get(&at).or(version.as_ref());
                self.patch(kind, key, *subresource, version, patch)?;
                (kind, key)
            }
            Write::Delete { kind, key, uid } => {
                self.remove(kind, key, uid.as_deref())?;
                (kind, key)
            }
            Write::BestEffort(write) => return self.write(write, own),
            // Workload clusters are not kept here.
            Write::Workload { .. } => return Ok(()),
        };
        let at = place(kind, key);
        let version = self.objects.get(&at).map(|object| object["metadata"]["resourceVersion"].clone());
        if let Some(Value::String(version)) = version {
            own.insert(at, version);
        }
        Ok(())
    }

    fn create(&mut self, kind: &ResourceKind, key: &ObjectKey, mut object: Value) -> Result<(), Outdated> {
        if self.objects.contains_key(&place(kind, key)) {
            return Err(Outdated(format!("{kind} {key} already exists")));
        }
        object["metadata"]["uid"] = json!(format!("{}-{}", key.name, self.version));
        self.store(kind, key, object);
        Ok(())
    }

    fn patch(
        &mut self,
        kind: &ResourceKind,
        key: &ObjectKey,
        subresource: Option<&str>,
        version: Option<&String>,
        patch: &Value,
    ) -> Result<(), Outdated> {
        let Some(object) = self.objects.get(&place(kind, key)) else {
            return Err(Outdated(format!("{kind} {key} is gone")));
        };
        if version.is_some_and(|version| object["metadata"]["resourceVersion"] != json!(version)) {
            return Err(Outdated(format!("{kind} {key} has changed")));
        }
        let parts: Vec<&String> = patch.as_object().map(|map| map.keys().collect()).unwrap_or_default();
        let status_only = parts.iter().all(|part| *part == "status");
        assert_eq!(subresource == Some("status"), status_only, "{kind} {key} {patch}");
        let mut object = object.clone();
        merge(&mut object, patch);
        self.store(kind, key, object);
        Ok(())
    }

    fn remove(&mut self, kind: &ResourceKind, key: &ObjectKey, uid: Option<&str>) -> Result<(), Outdated> {
        let Some(object) = self.objects.get(&place(kind, key)) else {
            return Ok(());
        };
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
        if uid.is_some_and(|uid| object["metadata"]["uid"] != json!(uid)) {
            return Err(Outdated(format!("{kind} {key} is another one")));
        }
        let mut object = object.clone();
        if held {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            self.store(kind, key, object);
        } else {
            self.objects.remove(&place(kind, key));
        }
        Ok(())
    }

    fn store(&mut self, kind: &ResourceKind, key: &ObjectKey, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let metadata = &object["metadata"];
        let held = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        if metadata["deletionTimestamp"].is_null() || held {
            self.objects.insert(place(kind, key), object);
        } else {
            self.objects.remove(&place(kind, key));
        }
    }
}

impl Reader for Memory {
    fn get<K: Object>(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let object = self.objects.get(&place(&ResourceKind::of::<K>(), key))?;
        Some(Arc::new(serde_json::from_value(object.clone()).expect("objects in memory are readable")))
    }

    fn by_index<K: Object>(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        let all = self.list::<K>().into_iter().map(|object| serde_json::from_value::<K>(object));
        all.map(|object| object.expect("objects in memory are readable"))
            .filter(|object| (index.values)(object).iter().any(|v| v == value))
            .map(Arc::new)
            .collect()
    }
}

fn place(kind: &ResourceKind, key: &ObjectKey) -> Place {
    (kind.group.clone(), kind.plural.clone(), key.clone())
}

/// JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, change) in changes {
        if change.is_null() {
            target.as_object_mut().expect("is an object").remove(key);
        } else {
            merge(&mut target[key], change);
        }
    }
}

//! Everything that happened on a server, from watches: each revision of each object with the moment at which it was seen, and
//! the objects as they are now. A gap in a watch is an error, because a judge who missed a revision can say nothing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use capm3_apiserver::Revision;
use capm3_engine::{ApiClient, ApiError, Detail, ObjectKey, ResourceKind, client::WatchEvent};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::real::wait::Stopwatch;

/// The pause before a watch that ended is opened again.
const PAUSE: Duration = Duration::from_millis(100);

/// Watches; dropping it ends them.
pub struct History {
    seen: Arc<Mutex<Seen>>,
    _watches: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    revisions: Vec<Revision>,
    changes: usize,
    objects: Objects,
    /// Holders of the Lease and since when.
    holders: Vec<Holder>,
    gap: Option<String>,
}

/// Who has held the Lease from when on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub identity: String,
    pub since: Duration,
}

/// Objects as they are now, by kind, and namespace and name.
#[derive(Default)]
pub struct Objects(BTreeMap<String, BTreeMap<String, Arc<Value>>>);

impl Objects {
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.0.get(kind).into_iter().flat_map(BTreeMap::values).map(|object| &**object)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.0.values().flat_map(BTreeMap::values)
    }

    fn enter(&mut self, revision: &Revision) {
        let text = |pointer| text(&revision.object, pointer).to_owned();
        let objects = self.0.entry(text("/kind")).or_default();
        let key = format!("{}/{}", text("/metadata/namespace"), text("/metadata/name"));
        if revision.removed {
            objects.remove(&key);
        } else {
            objects.insert(key, Arc::new(revision.object.clone()));
        }
    }
}

pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Seen {
    fn enter(&mut self, object: Value, removed: bool, at: Duration) -> Result<()> {
        let number =
            text(&object, "/metadata/resourceVersion").parse().context("a version that is no number")?;
        if text(&object, "/kind") == "Lease" {
            // The API server has Leases of its own.
            if text(&object, "/metadata/namespace") != capm3_install::NAMESPACE {
                return Ok(());
            }
            let identity = text(&object, "/spec/holderIdentity");
            if self.holders.last().is_none_or(|last| last.identity != identity) {
                self.holders.push(Holder { identity: identity.to_owned(), since: at });
            }
        } else {
            self.changes += 1;
        }
        let revision = Revision { number, removed, object };
        self.objects.enter(&revision);
        self.revisions.push(revision);
        Ok(())
    }
}

impl History {
    /// Watches these kinds from now on; what is there already counts as created now.
    pub async fn follow(client: &ApiClient, kinds: &[ResourceKind], watch: Stopwatch) -> Result<Self> {
        let (seen, mut watches) = (Arc::new(Mutex::new(Seen::default())), JoinSet::new());
        for kind in kinds {
            let page = client.list_page::<Value>(kind, "", Detail::Whole, None).await;
            let page = page.with_context(|| format!("listing {kind}"))?;
            ensure!(page.metadata.continue_.is_none_or(|more| more.is_empty()), "too many {kind}");
            for mut object in page.items {
                if let Some(members) = object.as_object_mut() {
                    members.insert("kind".to_owned(), kind.kind.clone().into());
                }
                seen.lock().enter(object, false, watch.elapsed())?;
            }
            let version = page.metadata.resource_version.context("a list without a version")?;
            watches.spawn(keep(client.clone(), kind.clone(), version, Arc::clone(&seen), watch));
        }
        Ok(Self { seen, _watches: watches })
    }

    /// Calls `ask` with the objects as they are now.
    pub fn with_objects<T>(&self, ask: impl FnOnce(&Objects) -> T) -> Result<T> {
        let seen = self.seen.lock();
        match &seen.gap {
            Some(gap) => bail!("{gap}"),
            None => Ok(ask(&seen.objects)),
        }
    }

    /// Who has held the Lease, in order; nobody has an empty name.
    pub fn holders(&self) -> Vec<Holder> {
        self.seen.lock().holders.clone()
    }

    /// How many revisions there were, but for those of the Lease, which never rests.
    pub fn changes(&self) -> usize {
        self.seen.lock().changes
    }

    /// Every revision in the order of the server.
    pub fn revisions(&self) -> Result<Vec<Revision>> {
        let seen = self.seen.lock();
        if let Some(gap) = &seen.gap {
            bail!("{gap}");
        }
        let mut all = seen.revisions.clone();
        all.sort_by_key(|revision| revision.number);
        Ok(all)
    }
}

/// Keeps a watch open, each time from the last version that was seen.
async fn keep(
    client: ApiClient,
    kind: ResourceKind,
    mut version: String,
    seen: Arc<Mutex<Seen>>,
    watch: Stopwatch,
) {
    loop {
        match follow(&client, &kind, &mut version, &seen, watch).await {
            Err(error) if error.downcast_ref().is_none_or(|it| matches!(it, ApiError::Expired { .. })) => {
                seen.lock().gap = Some(format!("revisions of {kind} were missed: {error:#}"));
                return;
            }
            // The server ends watches every few minutes; a lost connection hides nothing either.
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn follow(
    client: &ApiClient,
    kind: &ResourceKind,
    version: &mut String,
    seen: &Mutex<Seen>,
    watch: Stopwatch,
) -> Result<()> {
    let mut events = client.watch(kind, "", Detail::Whole, version).await?;
    while let Some(event) = events.next::<Value>().await? {
        let (object, removed) = match event {
            WatchEvent::Applied(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
            WatchEvent::Bookmark(newer) => {
                *version = newer;
                continue;
            }
            WatchEvent::Unreadable { key, .. } => bail!("{key} cannot be read"),
        };
        text(&object, "/metadata/resourceVersion").clone_into(version);
        seen.lock().enter(object, removed, watch.elapsed())?;
    }
    Ok(())
}

/// Every kind that the scenario may touch.
pub fn kinds() -> Vec<ResourceKind> {
    let mut kinds: Vec<ResourceKind> =
        capm3_lab::crds().iter().filter_map(|crd| stored(&crd.object)).collect();
    kinds.push(core("Secret", "secrets"));
    kinds.push(capm3_engine::lease::lease_kind());
    kinds
}

fn core(kind: &str, plural: &str) -> ResourceKind {
    ResourceKind { group: String::new(), version: "v1".into(), kind: kind.into(), plural: plural.into() }
}

/// A kind in the version in which it is stored, so that nothing is converted for a watch.
fn stored(crd: &Value) -> Option<ResourceKind> {
    let versions = crd.pointer("/spec/versions")?.as_array()?;
    let stored = versions.iter().find(|version| version.get("storage").is_some_and(|it| it == true))?;
    Some(ResourceKind {
        group: text(crd, "/spec/group").to_owned(),
        version: text(stored, "/name").to_owned(),
        kind: text(crd, "/spec/names/kind").to_owned(),
        plural: text(crd, "/spec/names/plural").to_owned(),
    })
}

/// The kind of a name among those of the scenario.
pub fn kind(name: &str) -> Result<ResourceKind> {
    kinds().into_iter().find(|kind| kind.kind == name).with_context(|| format!("no kind {name}"))
}

/// An object of the fleet.
pub fn key(name: &str) -> ObjectKey {
    ObjectKey::new(super::NAMESPACE, name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lease_in(namespace: &str, version: u32, holder: &str) -> Value {
        json!({"kind": "Lease", "metadata": {"namespace": namespace, "name": "l", "resourceVersion": version.to_string()},
            "spec": {"holderIdentity": holder}})
    }

    fn lease(version: u32, holder: &str) -> Value {
        lease_in(capm3_install::NAMESPACE, version, holder)
    }

    #[test]
    fn objects_are_as_their_last_revision_and_holders_change_with_the_lease() {
        let mut seen = Seen::default();
        let mut enter =
            |object, removed, second| seen.enter(object, removed, Duration::from_secs(second)).unwrap();
        enter(lease(1, "a"), false, 1);
        enter(lease(2, "a"), false, 2);
        enter(lease_in("kube-system", 3, "apiserver-1"), false, 3);
        enter(lease(4, ""), false, 3);
        enter(lease(5, "b"), false, 4);
        let secret = json!({"kind": "Secret", "metadata": {"name": "s", "resourceVersion": "3"}});
        enter(secret.clone(), false, 4);
        assert_eq!(seen.objects.of("Secret").count(), 1);
        seen.enter(secret, true, Duration::from_secs(5)).unwrap();
        assert_eq!((seen.objects.of("Secret").count(), seen.objects.all().count()), (0, 1));
        let holders: Vec<(&str, u64)> =
            seen.holders.iter().map(|holder| (holder.identity.as_str(), holder.since.as_secs())).collect();
        assert_eq!(holders, [("a", 1), ("", 3), ("b", 4)]);
        assert_eq!(seen.revisions.len(), 6);
    }

    #[test]
    fn kinds_are_watched_in_the_version_that_is_stored() {
        let of = |name: &str| kind(name).unwrap().api_version();
        assert_eq!(of("Metal3Machine"), "infrastructure.cluster.x-k8s.io/v1beta2");
        assert_eq!(of("BareMetalHost"), "metal3.io/v1alpha1");
        assert_eq!(of("Lease"), "coordination.k8s.io/v1");
    }
}

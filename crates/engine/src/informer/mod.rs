//! Keeps a [`Store`] like the server: list, then watch, for ever, each kind with a back-off of its own.

mod aggregate;
mod health;
mod known_gone;
mod quota;
mod secondary_index;
mod slots;
mod store;
mod watchdog;

use std::{
    collections::BTreeSet,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;

pub use aggregate::Aggregate;
pub use health::{Advice, KindHealth, KindState, ReadVerb};
pub use quota::backoff;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use store::went_back;
pub use store::{Change, Index, Store, StorePosition};
use tokio::time::Instant;
use tracing::{debug, error, warn};
pub(crate) use watchdog::watch_for_stalled_server;

use crate::{
    Object, ObjectKey, ResourceKind,
    client::{Activity, ApiClient, ApiError, Detail, WatchEvent},
    read_json::read_json,
};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long a server that follows its own state sends nothing at most, with room to spare.
const LONGEST_QUIET: Duration = Duration::from_secs(150);

/// Notified whenever a list has arrived or failed.
type Report = Box<dyn Fn(Result<(), &ApiError>) + Send + Sync>;

/// The task that keeps one store.
pub struct Informer<K: Object> {
    client: ApiClient,
    store: Arc<Store<K>>,
    detail: Detail,
    /// The only one that is watched; empty for all.
    namespace: String,
    report: Option<Report>,
    followed: Arc<AtomicBool>,
    health: Arc<KindHealth>,
    quota: Option<quota::Quota<K>>,
}

impl<K: Object> std::fmt::Debug for Informer<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Informer<{}>", K::kind(&()))
    }
}

impl<K: Object> Informer<K> {
    /// An informer for all namespaces.
    pub fn new(client: ApiClient, store: Arc<Store<K>>, detail: Detail) -> Self {
        let health = Arc::new(KindHealth::new(ResourceKind::of::<K>(), true).unlogged());
        let namespace = String::new();
        Self { client, store, detail, namespace, report: None, followed: Arc::default(), health, quota: None }
    }

    /// The same for one namespace only; an empty one stands for all.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// Tells whether the server can be reached: called after each list. A watch that breaks leads to a list.
    #[must_use]
    pub fn reporting(mut self, report: impl Fn(Result<(), &ApiError>) + Send + Sync + 'static) -> Self {
        self.report = Some(Box::new(report));
        self
    }

    /// Keeps there whether the kind is followed at present: a watch is open, or there is nothing to watch. Otherwise a
    /// list is under way or waited for.
    #[must_use]
    pub fn telling(mut self, followed: Arc<AtomicBool>) -> Self {
        self.followed = followed;
        self
    }

    /// Keeps there how the server answers for the kind.
    #[must_use]
    pub fn with_health(mut self, health: Arc<KindHealth>) -> Self {
        self.health = health;
        self
    }

    /// Runs until it is dropped. Errors, and panics of subscribers, are waited out with growing pauses; they
    /// never end the task.
    pub async fn run(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let outcome = AssertUnwindSafe(self.list_and_watch(&mut pause)).catch_unwind().await;
            // There is nothing to watch of a kind that is not served.
            self.followed.store(matches!(outcome, Ok(ApiError::NotServed { .. })), Ordering::Relaxed);
            match outcome {
                Ok(ApiError::Expired { .. }) => debug!(kind = %K::kind(&()), "lists again"),
                Ok(error) => {
                    let error_text = error.with_causes();
                    debug!(kind = %K::kind(&()), error = error_text, "watch failed; lists again");
                }
                Err(_) => error!(kind = %K::kind(&()), "a subscriber panicked; lists again"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Ends only with an error.
    async fn list_and_watch(&self, pause: &mut Duration) -> ApiError {
        let kind = ResourceKind::of::<K>();
        let listed = self.list(&kind).await;
        if let Some(report) = &self.report {
            report(listed.as_ref().map(|_| ()));
        }
        let mut version = match listed {
            Ok(version) => version,
            Err(error) => {
                self.failed(&kind, &error).await;
                return error;
            }
        };
        self.health.listed();
        loop {
            let watched = self.follow(&kind, &mut version).await;
            self.followed.store(false, Ordering::Relaxed);
            self.health.unfollowed(self.client.activity().map(Activity::last));
            match watched {
                // A watch without events may end at once again: back off.
                Ok(0) => tokio::time::sleep(FIRST_PAUSE).await,
                Ok(_) => *pause = FIRST_PAUSE,
                Err(error) => {
                    if !matches!(error, ApiError::Expired { .. }) {
                        self.health.failed(ReadVerb::Watch, &error);
                    }
                    self.report_limit(&error);
                    return error;
                }
            }
        }
    }

    /// A 404 says nothing about objects: what is known is kept. Only an optional kind that was never served and whose
    /// definition the server says to be absent has no objects. Rights are judged before existence.
    async fn failed(&self, kind: &ResourceKind, error: &ApiError) {
        let is_denied = matches!(error, ApiError::NotServed { .. } | ApiError::Refused { code: 403, .. });
        if !is_denied || self.health.is_needed() {
            return self.health.failed(ReadVerb::List, error);
        }
        match self.has_definition(kind).await {
            Ok(false) => {
                self.health.not_installed();
                self.store.replace(Vec::new(), &BTreeSet::new(), 0, StorePosition::default());
            }
            Err(_) if self.health.state() == KindState::NotInstalled => {}
            _ => self.health.failed(ReadVerb::List, error),
        }
    }

    async fn has_definition(&self, kind: &ResourceKind) -> Result<bool, ApiError> {
        let (definitions, key) = (ResourceKind::definitions(), kind.definition_key());
        let found = self.client.get_with::<IgnoredAny>(&definitions, &key, Detail::Metadata).await?;
        Ok(found.is_some())
    }

    /// One watch until the server closes it; how many events it had. Servers report each minute how far they are. One that
    /// sent nothing for longer may not have come to our version yet, because it was put back to an earlier state.
    async fn follow(&self, kind: &ResourceKind, version: &mut String) -> Result<usize, ApiError> {
        let opened = Instant::now();
        let mut stream = self.client.watch(kind, &self.namespace, self.detail, version).await?;
        self.followed.store(true, Ordering::Relaxed);
        self.health.followed();
        let mut events = 0;
        while let Some(event) = stream.next::<K>().await? {
            if let Some(key) = impossible_deletion(&event) {
                let message =
                    format!("the watch reports {kind} {key} as deleted, but its finalizers hold it");
                warn!(kind = %kind, %key, "{message}; lists again");
                return Err(ApiError::Expired { message });
            }
            if self.admits(&event)? {
                self.take(event, version);
            }
            events += 1;
        }
        if events == 0 && opened.elapsed() > LONGEST_QUIET {
            return Err(ApiError::Expired { message: format!("no watch event since version {version}") });
        }
        Ok(events)
    }

    async fn list(&self, kind: &ResourceKind) -> Result<String, ApiError> {
        let known = self.store.position();
        let Listed { objects, unreadable, version } = match &self.quota {
            Some(quota) => {
                let (objects, version) = self.list_within(kind, quota).await?;
                Listed { objects, unreadable: BTreeSet::new(), version }
            }
            None => self.list_all(kind).await?,
        };
        let at = version.parse().unwrap_or(0);
        if went_back(at, known.version) {
            warn!(kind = %kind, known = known.version, now = at, "the resourceVersion of the API server is lower than before, for example after a restore; the cache is rebuilt from a new list");
        }
        self.store.replace(objects, &unreadable, at, known);
        self.recount();
        Ok(version)
    }

    async fn list_all(&self, kind: &ResourceKind) -> Result<Listed<K>, ApiError> {
        let (mut objects, mut unreadable) = (Vec::new(), BTreeSet::new());
        let mut token: Option<String> = None;
        loop {
            let page = self
                .client
                .list_page::<Box<RawValue>>(kind, &self.namespace, self.detail, token.as_deref())
                .await?;
            for item in page.items {
                match read_json::<K>(item.get().as_bytes()) {
                    Ok(object) => objects.push(object),
                    Err(error) => {
                        let key = key_of(item.get());
                        warn!(kind = %kind, %key, %error, "an object cannot be parsed; the cache keeps its last readable version");
                        unreadable.insert(key);
                    }
                }
            }
            match page.metadata.continue_ {
                Some(next) => token = Some(next),
                None => {
                    let version = page.metadata.resource_version.unwrap_or_default();
                    return Ok(Listed { objects, unreadable, version });
                }
            }
        }
    }

    fn take(&self, event: WatchEvent<K>, version: &mut String) {
        match event {
            WatchEvent::Applied(object) => {
                remember(version, &object);
                self.store.apply_watched(object);
            }
            WatchEvent::Deleted(object) => {
                remember(version, &object);
                self.store.saw_deleted(&object);
            }
            WatchEvent::Bookmark(at) => {
                self.store.settle(at.parse().unwrap_or(0));
                self.recount();
                *version = at;
            }
            // It is there, so it is not taken out.
            WatchEvent::Unreadable { key, source, .. } => {
                warn!(kind = %K::kind(&()), %key, error = %source, "an object cannot be parsed; the cache keeps its last readable version");
            }
        }
    }
}

/// The object that a watch reports as deleted although it cannot be: it has finalizers and no deletionTimestamp.
fn impossible_deletion<K: Object>(event: &WatchEvent<K>) -> Option<ObjectKey> {
    let WatchEvent::Deleted(object) = event else { return None };
    let metadata = object.meta();
    let is_held = metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
    (is_held && metadata.deletion_timestamp.is_none()).then(|| object.key())
}

/// A whole list.
struct Listed<K> {
    objects: Vec<K>,
    /// Objects that are in the list and cannot be parsed.
    unreadable: BTreeSet<ObjectKey>,
    version: String,
}

/// Namespace and name of an object that cannot be parsed as a whole.
fn key_of(object: &str) -> ObjectKey {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Named {
        metadata: Names,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Names {
        namespace: String,
        name: String,
    }
    let Named { metadata } = serde_json::from_str(object).unwrap_or_default();
    ObjectKey::new(metadata.namespace, metadata.name)
}

fn remember<K: Object>(version: &mut String, object: &K) {
    if let Some(at) = &object.meta().resource_version {
        version.clone_from(at);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_finalizers_hold_cannot_be_deleted_before_its_deletion_has_begun() {
        for (finalizers, deletion, expected) in [
            (json!(["f"]), json!(null), true),
            (json!(["f"]), json!("2026-01-01T00:00:00Z"), false),
            (json!([]), json!(null), false),
            (json!(null), json!(null), false),
        ] {
            let object = json!({"metadata": {"name": "a", "namespace": "n", "finalizers": finalizers,
                "deletionTimestamp": deletion}});
            let object: ConfigMap = serde_json::from_value(object).unwrap();
            let event = WatchEvent::Deleted(object.clone());
            assert_eq!(impossible_deletion(&event).is_some(), expected, "{object:?}");
            assert_eq!(impossible_deletion(&WatchEvent::Applied(object)), None);
        }
    }
}

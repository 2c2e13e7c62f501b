//! Keeps a [`Store`] like the server: list, then watch, for ever, each kind with a back-off of its own.

mod groups;
mod slots;
mod store;

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;

use serde_json::value::RawValue;
use store::went_back;
pub use store::{Change, Heard, Index, Store};
use tokio::time::Instant;
use tracing::{debug, error, warn};

use crate::{
    Object, ResourceKind,
    client::{ApiClient, ApiError, Detail, WatchEvent},
};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long a server that follows its own state is silent at most, with room to spare.
const SILENCE: Duration = Duration::from_secs(150);

/// Told whenever a list has arrived or failed.
type Report = Box<dyn Fn(Result<(), &ApiError>) + Send + Sync>;

/// The task that keeps one store.
pub struct Informer<K: Object> {
    client: ApiClient,
    store: Arc<Store<K>>,
    detail: Detail,
    report: Option<Report>,
    followed: Arc<AtomicBool>,
}

impl<K: Object> std::fmt::Debug for Informer<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Informer<{}>", K::kind(&()))
    }
}

impl<K: Object> Informer<K> {
    /// An informer for all namespaces.
    pub fn new(client: ApiClient, store: Arc<Store<K>>, detail: Detail) -> Self {
        Self { client, store, detail, report: None, followed: Arc::default() }
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

    /// Runs until it is dropped. Errors, and panics of those who are told, are waited out with growing pauses; they
    /// never end the task.
    pub async fn run(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let outcome = AssertUnwindSafe(self.list_and_watch(&mut pause)).catch_unwind().await;
            self.followed.store(matches!(outcome, Ok(ApiError::NotFound { .. })), Ordering::Relaxed);
            match outcome {
                Ok(ApiError::Expired { .. }) => debug!(kind = %K::kind(&()), "listing again"),
                Ok(error) => {
                    let error_text = error.with_causes();
                    warn!(kind = %K::kind(&()), error = error_text, "watch failed; listing again");
                    // A kind that is not installed is answered for as it is: with nothing.
                    if !matches!(error, ApiError::NotFound { .. }) {
                        self.store.count_failure();
                    }
                }
                Err(_) => error!(kind = %K::kind(&()), "a subscriber panicked; listing again"),
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
                // A kind that is not installed has no objects; it may come later.
                if matches!(error, ApiError::NotFound { .. }) {
                    self.store.replace(Vec::new(), 0, Heard::default());
                }
                return error;
            }
        };
        loop {
            let watched = self.follow(&kind, &mut version).await;
            self.followed.store(false, Ordering::Relaxed);
            match watched {
                // A watch that told nothing may end at once again: do not run in circles.
                Ok(0) => tokio::time::sleep(FIRST_PAUSE).await,
                Ok(_) => *pause = FIRST_PAUSE,
                Err(error) => return error,
            }
        }
    }

    /// One watch until the server closes it; how many events it told. Servers tell each minute how far they are. One that
    /// was silent for longer may not have come to our version yet, because it was put back to an earlier state.
    async fn follow(&self, kind: &ResourceKind, version: &mut String) -> Result<usize, ApiError> {
        let opened = Instant::now();
        let mut stream = self.client.watch(kind, "", self.detail, version).await?;
        self.followed.store(true, Ordering::Relaxed);
        let mut told = 0;
        while let Some(event) = stream.next::<K>().await? {
            self.take(event, version);
            told += 1;
        }
        if told == 0 && opened.elapsed() > SILENCE {
            return Err(ApiError::Expired { message: format!("nothing was told since version {version}") });
        }
        Ok(told)
    }

    async fn list(&self, kind: &ResourceKind) -> Result<String, ApiError> {
        let heard = self.store.heard();
        let mut objects = Vec::new();
        let mut token: Option<String> = None;
        let version = loop {
            let page =
                self.client.list_page::<Box<RawValue>>(kind, "", self.detail, token.as_deref()).await?;
            for item in page.items {
                match serde_json::from_str::<K>(item.get()) {
                    Ok(object) => objects.push(object),
                    Err(error) => warn!(kind = %kind, %error, "an object could not be read and is left out"),
                }
            }
            match page.metadata.continue_.filter(|t| !t.is_empty()) {
                Some(next) => token = Some(next),
                None => break page.metadata.resource_version.unwrap_or_default(),
            }
        };
        let at = version.parse().unwrap_or(0);
        if went_back(at, heard.version) {
            warn!(kind = %kind, known = heard.version, now = at, "the server went back to an earlier state; only its list counts now");
        }
        self.store.replace(objects, at, heard);
        self.store.forget_failures();
        Ok(version)
    }

    fn take(&self, event: WatchEvent<K>, version: &mut String) {
        match event {
            WatchEvent::Applied(object) => {
                remember(version, &object);
                self.store.apply(object);
            }
            WatchEvent::Deleted(object) => {
                remember(version, &object);
                self.store.remove(&object.key(), object.version());
            }
            WatchEvent::Bookmark(at) => {
                self.store.settle(at.parse().unwrap_or(0));
                *version = at;
            }
            WatchEvent::Unreadable { key, version: at, source } => {
                warn!(kind = %K::kind(&()), %key, error = %source, "an object could not be read and is left out");
                self.store.remove(&key, at);
            }
        }
    }
}

fn remember<K: Object>(version: &mut String, object: &K) {
    if let Some(at) = &object.meta().resource_version {
        version.clone_from(at);
    }
}

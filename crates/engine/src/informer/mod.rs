//! Keeps a [`Store`] like the server: list, then watch, for ever, each kind with a back-off of its own.

mod store;

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
pub use store::{Change, Index, Store};
use tracing::{debug, warn};

use crate::{
    Object, ResourceKind,
    client::{ApiClient, ApiError, WatchEvent},
};

const FIRST_PAUSE: Duration = Duration::from_millis(800);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The task that keeps one store.
#[derive(Debug)]
pub struct Informer<K: Object> {
    client: ApiClient,
    store: Arc<Store<K>>,
    namespace: String,
}

impl<K: Object> Informer<K> {
    /// An informer for all namespaces.
    pub fn new(client: ApiClient, store: Arc<Store<K>>) -> Self {
        Self { client, store, namespace: String::new() }
    }

    /// Runs until it is dropped. Errors are waited out with growing pauses; they never end the task.
    pub async fn run(self) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.list_and_watch(&mut pause).await {
                Ok(()) | Err(ApiError::Expired { .. }) => {
                    debug!(kind = %K::kind(&()), "listing again");
                }
                Err(error) => {
                    warn!(kind = %K::kind(&()), %error, "watch failed; listing again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn list_and_watch(&self, pause: &mut Duration) -> Result<(), ApiError> {
        let kind = ResourceKind::of::<K>();
        let mut version = self.list(&kind).await?;
        *pause = FIRST_PAUSE;
        loop {
            let mut stream = self.client.watch(&kind, &self.namespace, &version).await?;
            loop {
                match stream.next::<K>().await {
                    Ok(None) => break,
                    Ok(Some(event)) => self.take(event, &mut version),
                    // One object that cannot be read costs itself only.
                    Err(ApiError::Unreadable { source }) => {
                        warn!(kind = %kind, %source, "an object could not be read and is left out");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    async fn list(&self, kind: &ResourceKind) -> Result<String, ApiError> {
        let mut objects = Vec::new();
        let mut token: Option<String> = None;
        let version = loop {
            let page =
                self.client.list_page::<Box<RawValue>>(kind, &self.namespace, token.as_deref()).await?;
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
        self.store.replace(objects, version.parse().unwrap_or(0));
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
            WatchEvent::Bookmark(at) => *version = at,
        }
    }
}

fn remember<K: Object>(version: &mut String, object: &K) {
    if let Some(at) = &object.meta().resource_version {
        version.clone_from(at);
    }
}

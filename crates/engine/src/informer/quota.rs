//! An informer of a server that somebody else named: what it keeps stays within the budget.
//!
//! Takes how much an object weighs; gives lists that are read object by object and cut at their limits, and a word on each
//! event before the store takes it. The store itself knows nothing of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tracing::warn;

use super::{Informer, Store};
use crate::{
    Object, ObjectKey, ResourceKind,
    client::{
        ApiError, Guard, Hold, WatchEvent, in_few_words, in_time,
        limits::{LimitExceeded, bytes_within, count_within},
    },
    read_json::read_json,
};

/// What is known of a deleted object for a while, beside its name.
const TOMBSTONE: usize = 128;

/// Room that is held for changes between two lists, beside a quarter of what is there: a cluster that grows somewhat
/// must not depend on what the others take meanwhile.
const HEADROOM: usize = 64 * 1024;

/// So many unreadable objects are logged one by one.
const MAX_REPORTED: usize = 10;

/// What one informer may keep.
pub(super) struct Quota<K> {
    weigh: fn(&K) -> usize,
    guard: Arc<Guard>,
    kept: Mutex<Kept>,
    /// Objects that could not be read since the last list began.
    unreadable: AtomicUsize,
}

struct Kept {
    hold: Hold,
    /// What the store holds at most.
    weight: usize,
}

impl<K: Object> Informer<K> {
    /// Keeps no more than the client's part of the budget, if it has one.
    #[must_use]
    pub fn weighing(mut self, weigh: fn(&K) -> usize) -> Self {
        let guard = Arc::clone(self.client.guard());
        let kept = Mutex::new(Kept { hold: guard.keeping(), weight: 0 });
        let quota = || Quota { weigh, kept, unreadable: AtomicUsize::new(0), guard: Arc::clone(&guard) };
        self.quota = guard.is_foreign().then(quota);
        self
    }

    /// The whole list within the limits, and its version.
    pub(super) async fn list_within(
        &self,
        kind: &ResourceKind,
        quota: &Quota<K>,
    ) -> Result<(Vec<K>, String), ApiError> {
        let limit = quota.guard.limits.list_time;
        in_time("the list", limit, self.list_pages(kind, quota)).await?
    }

    async fn list_pages(&self, kind: &ResourceKind, quota: &Quota<K>) -> Result<(Vec<K>, String), ApiError> {
        let limits = &quota.guard.limits;
        quota.unreadable.store(0, Ordering::Relaxed);
        let (mut objects, mut weight, mut seen, mut bytes) = (Vec::new(), 0, 0, 0);
        let mut token: Option<String> = None;
        for _ in 0..limits.pages {
            let mut take = |text: &[u8]| {
                seen += 1;
                count_within("objects in the list", seen, limits.objects)?;
                match read_json::<K>(text) {
                    Ok(object) => {
                        weight += (quota.weigh)(&object);
                        quota.kept.lock().grow_to(weight)?;
                        objects.push(object);
                        Ok(())
                    }
                    Err(error) => quota.leave_out(&in_few_words(error), kind),
                }
            };
            let page = self.client.read_page(kind, self.detail, token.as_deref(), &mut take).await?;
            bytes += page.bytes;
            bytes_within("the list", bytes, limits.list)?;
            match page.metadata.continue_ {
                Some(next) => token = Some(next),
                None => return Ok((objects, page.metadata.resource_version.unwrap_or_default())),
            }
        }
        Err(LimitExceeded::Count { what: "pages of the list", limit: limits.pages }.into())
    }

    /// Whether the store is to take an event.
    pub(super) fn admits(&self, event: &WatchEvent<K>) -> Result<bool, ApiError> {
        let Some(quota) = &self.quota else { return Ok(true) };
        let version = match event {
            WatchEvent::Applied(object) | WatchEvent::Deleted(object) => {
                object.meta().resource_version.as_deref()
            }
            WatchEvent::Bookmark(version) => Some(version.as_str()),
            WatchEvent::Unreadable { .. } => None,
        };
        bytes_within("a version", version.map_or(0, str::len), quota.guard.limits.token)?;
        match event {
            WatchEvent::Applied(object) => quota.admit(&self.store, &object.key(), Some(object)),
            WatchEvent::Deleted(object) => quota.admit(&self.store, &object.key(), None),
            WatchEvent::Bookmark(_) => Ok(true),
            WatchEvent::Unreadable { key, source, .. } => {
                quota.leave_out(source, &ResourceKind::of::<K>())?;
                quota.admit(&self.store, key, None)
            }
        }
    }

    /// Counts again what the store holds, after a list and when deletions may have been forgotten.
    pub(super) fn recount(&self) {
        if let Some(quota) = &self.quota {
            quota.kept.lock().settle(self.store.footprint(quota.weigh, TOMBSTONE));
        }
    }

    /// Reports a limit that a watch exceeds; lists report their own.
    pub(super) fn report_limit(&self, error: &ApiError) {
        if let (Some(report), ApiError::LimitExceeded(_)) = (&self.report, error) {
            report(Err(error));
        }
    }
}

impl<K: Object> Quota<K> {
    /// Makes room for a newer copy of an object, or for the memory of its deletion. That something which is not known
    /// was deleted is no change.
    fn admit(&self, store: &Store<K>, key: &ObjectKey, new: Option<&K>) -> Result<bool, ApiError> {
        let old = store.get(key).map(|old| (self.weigh)(&old));
        let new = new.filter(|new| !new.is_gone()).map(self.weigh);
        if old.is_none() && new.is_none() {
            return Ok(false);
        }
        let more = new.unwrap_or_else(|| tombstone(key));
        let mut kept = self.kept.lock();
        let wanted = (kept.weight + more).saturating_sub(old.unwrap_or(0));
        if kept.grow_to(wanted).is_err() {
            // Some of what was counted may be gone.
            kept.weight = store.footprint(self.weigh, TOMBSTONE);
            let wanted = (kept.weight + more).saturating_sub(old.unwrap_or(0));
            kept.grow_to(wanted)?;
            kept.weight = wanted;
            return Ok(true);
        }
        kept.weight = wanted;
        Ok(true)
    }

    /// Counts an object that cannot be read.
    fn leave_out(&self, error: &serde_json::Error, kind: &ResourceKind) -> Result<(), ApiError> {
        let number = self.unreadable.fetch_add(1, Ordering::Relaxed) + 1;
        if number <= MAX_REPORTED {
            warn!(kind = %kind, %error, "an object cannot be parsed and is ignored");
        }
        Ok(count_within("objects that cannot be read", number, self.guard.limits.unreadable)?)
    }
}

fn tombstone(key: &ObjectKey) -> usize {
    TOMBSTONE + key.namespace.len() + key.name.len()
}

impl Kept {
    fn grow_to(&mut self, weight: usize) -> Result<(), LimitExceeded> {
        if weight > self.hold.held() { self.hold.resize(weight) } else { Ok(()) }
    }

    /// Holds what is there, and room for changes if there is some.
    fn settle(&mut self, weight: usize) {
        self.weight = weight;
        let roomy = weight + weight / 4 + HEADROOM;
        if self.hold.resize(roomy).is_err() && self.hold.held() > weight {
            // Less is always admitted.
            let _admitted = self.hold.resize(weight);
        }
    }
}

/// A pause after so many failures in a row: it doubles from the first to the longest.
pub fn backoff(first: Duration, longest: Duration, failures: u32) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(longest)
}

#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;

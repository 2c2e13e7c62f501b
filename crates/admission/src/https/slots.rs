//! A fixed number of places for connections. Knows nothing of sockets.
//!
//! A client that only holds connections open must not keep an API server out: when all places are taken, the connection
//! that has asked for nothing for longest makes room. While all are busy a new one waits; none is busy for ever.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

/// All places.
pub(super) struct Slots {
    limit: usize,
    open: Arc<Open>,
}

#[derive(Default)]
struct Open {
    connections: Mutex<BTreeMap<u64, Arc<Activity>>>,
    last_id: AtomicU64,
    /// Notified whenever a place may have become free.
    freed: Notify,
}

/// What a connection is doing.
struct Activity {
    in_flight: AtomicUsize,
    requests: AtomicU64,
    progress: Mutex<Instant>,
    cut: CancellationToken,
}

/// The place of one connection; free again when it is dropped.
pub(super) struct Slot {
    id: u64,
    activity: Arc<Activity>,
    open: Arc<Open>,
}

/// One request, until its answer is taken.
pub(super) struct InFlight {
    activity: Arc<Activity>,
    open: Arc<Open>,
}

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), open: Arc::default() }
    }

    /// Waits for a place.
    pub(super) async fn take(&self) -> Slot {
        loop {
            // Registered before the check, so that what becomes free in between is not missed.
            let freed = self.open.freed.notified();
            if let Some(slot) = self.try_take() {
                return slot;
            }
            freed.await;
        }
    }

    /// A place that is free, or that an idle connection gives up.
    fn try_take(&self) -> Option<Slot> {
        let mut connections = self.open.connections.lock();
        if connections.len() >= self.limit {
            let idle = connections.iter().filter(|(_, it)| it.in_flight.load(Ordering::Relaxed) == 0);
            let (&longest, _) = idle.min_by_key(|(_, it)| *it.progress.lock())?;
            if let Some(activity) = connections.remove(&longest) {
                activity.cut.cancel();
            }
        }
        let id = self.open.last_id.fetch_add(1, Ordering::Relaxed);
        let activity = Arc::new(Activity {
            in_flight: AtomicUsize::default(),
            requests: AtomicU64::default(),
            progress: Mutex::new(Instant::now()),
            cut: CancellationToken::new(),
        });
        connections.insert(id, Arc::clone(&activity));
        Some(Slot { id, activity, open: Arc::clone(&self.open) })
    }
}

impl Slot {
    /// A request begins; it ends when the result is dropped.
    pub(super) fn begin(&self) -> InFlight {
        self.activity.requests.fetch_add(1, Ordering::Relaxed);
        self.activity.in_flight.fetch_add(1, Ordering::Relaxed);
        *self.activity.progress.lock() = Instant::now();
        InFlight { activity: Arc::clone(&self.activity), open: Arc::clone(&self.open) }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.activity.in_flight.load(Ordering::Relaxed) == 0
    }

    pub(super) fn has_asked(&self) -> bool {
        self.activity.requests.load(Ordering::Relaxed) > 0
    }

    /// When something last went on.
    pub(super) fn last_progress(&self) -> Instant {
        *self.activity.progress.lock()
    }

    /// Resolves when the connection makes room for another one.
    pub(super) async fn is_cut(&self) {
        self.activity.cut.cancelled().await;
    }
}

impl InFlight {
    /// A piece of the answer is taken.
    pub(super) fn progresses(&self) {
        *self.activity.progress.lock() = Instant::now();
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.progresses();
        self.activity.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.open.freed.notify_waiters();
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.open.connections.lock().remove(&self.id);
        self.open.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_connection_that_was_idle_for_longest_makes_room() {
        let slots = Slots::new(2);
        let first = slots.take().await;
        tokio::time::advance(Duration::from_secs(1)).await;
        let second = slots.take().await;
        tokio::time::advance(Duration::from_secs(1)).await;
        drop(first.begin());
        let third = slots.take().await;
        assert!(second.is_cut().now_or_never().is_some(), "it has asked for nothing for longest");
        assert!(first.is_cut().now_or_never().is_none());
        assert!(third.is_cut().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn while_all_are_busy_a_new_connection_waits() {
        let slots = Slots::new(2);
        let (first, second) = (slots.take().await, slots.take().await);
        let (busy, _also_busy) = (first.begin(), second.begin());
        let mut waiting = Box::pin(slots.take());
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(busy);
        assert!(waiting.as_mut().now_or_never().is_some(), "the first one has become idle");
        assert!(first.is_cut().now_or_never().is_some());
        assert!(second.is_cut().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_connection_that_ends_gives_its_place_back() {
        let slots = Slots::new(1);
        for _ in 0..3 {
            let slot = slots.take().await;
            let _busy = slot.begin();
        }
    }
}

//! A fixed number of places for connections. When all are taken, the connection that matters least makes room: the
//! oldest that has not said who it is, else the oldest that is idle. Knows nothing of sockets.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// All places.
pub(super) struct Slots {
    limit: usize,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    last_id: u64,
    connections: BTreeMap<u64, Arc<Activity>>,
}

/// What a connection is doing.
#[derive(Default)]
struct Activity {
    /// Whether it has shown that it may come in.
    known: AtomicBool,
    in_flight: AtomicUsize,
    requests: AtomicU64,
    evicted: CancellationToken,
}

impl Activity {
    fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) == 0
    }
}

/// The place of one connection; free again when it is dropped.
pub(super) struct Slot {
    id: u64,
    activity: Arc<Activity>,
    open: Arc<Mutex<Open>>,
}

/// One request being answered.
pub(super) struct InFlight(Arc<Activity>);

impl Slots {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: Arc::default() }
    }

    /// A place for a new connection; `None` if all are busy.
    pub(super) fn take(&self) -> Option<Slot> {
        let mut open = self.open.lock();
        if open.connections.len() >= self.limit {
            let victim = open.least_important()?;
            if let Some(activity) = open.connections.remove(&victim) {
                activity.evicted.cancel();
            }
        }
        open.last_id += 1;
        let (id, activity) = (open.last_id, Arc::<Activity>::default());
        open.connections.insert(id, Arc::clone(&activity));
        Some(Slot { id, activity, open: Arc::clone(&self.open) })
    }
}

impl Open {
    fn least_important(&self) -> Option<u64> {
        let idle = || self.connections.iter().filter(|(_, activity)| activity.is_idle());
        let stranger = idle().find(|(_, activity)| !activity.known.load(Ordering::Relaxed));
        stranger.or_else(|| idle().next()).map(|(id, _)| *id)
    }
}

impl Slot {
    /// The connection has shown a certificate or a token.
    pub(super) fn is_known(&self) {
        self.activity.known.store(true, Ordering::Relaxed);
    }

    /// A request begins; it ends when the result is dropped.
    pub(super) fn begin(&self) -> InFlight {
        self.activity.requests.fetch_add(1, Ordering::Relaxed);
        self.activity.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(&self.activity))
    }

    /// How many requests there were so far.
    pub(super) fn requests(&self) -> u64 {
        self.activity.requests.load(Ordering::Relaxed)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.activity.is_idle()
    }

    /// Resolves when the place is needed for somebody else.
    pub(super) async fn evicted(&self) {
        self.activity.evicted.cancelled().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.open.lock().connections.remove(&self.id);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn was_evicted(slot: &Slot) -> bool {
        slot.activity.evicted.is_cancelled()
    }

    #[test]
    fn strangers_make_room_before_idle_acquaintances_and_busy_ones_never() {
        let slots = Slots::new(3);
        let (known, stranger, busy) = (slots.take().unwrap(), slots.take().unwrap(), slots.take().unwrap());
        known.is_known();
        let _request = busy.begin();
        let fourth = slots.take().unwrap();
        assert!(was_evicted(&stranger) && !was_evicted(&known) && !was_evicted(&busy));
        let _second_request = fourth.begin();
        let fifth = slots.take().unwrap();
        assert!(was_evicted(&known) && !was_evicted(&fourth));
        let _third_request = fifth.begin();
        assert!(slots.take().is_none(), "everybody is busy");
    }

    #[test]
    fn a_dropped_connection_leaves_its_place() {
        let slots = Slots::new(1);
        let first = slots.take().unwrap();
        let _request = first.begin();
        assert!(slots.take().is_none());
        drop(first);
        assert!(slots.take().is_some());
    }
}

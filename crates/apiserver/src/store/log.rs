//! The events of one resource, oldest first, bounded by count and by bytes. Watchers hold positions in it, so a slow one
//! costs nothing and finds that it fell behind when its position is gone.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::object::Stored;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Added,
    Modified,
    Deleted,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    /// The object after the change; for a deletion its last state, stamped with the revision of the deletion.
    pub(crate) object: Arc<Stored>,
    /// The object before the change: selectors need both sides, consistent lists need it to look back.
    pub(crate) previous: Option<Arc<Stored>>,
}

impl Event {
    /// The most that the event keeps in memory: what was before is often kept by an earlier event too.
    fn bytes(&self) -> usize {
        self.object.json.len() + self.previous.as_ref().map_or(0, |previous| previous.json.len())
    }
}

/// How much is kept of what happened.
#[derive(Clone, Debug)]
pub(crate) struct Retention {
    /// Events of one resource.
    pub(crate) events: usize,
    /// Bytes of the events of one resource. The youngest event is kept whatever its size.
    pub(crate) bytes: usize,
    /// Bytes of the events of all resources of the server; a resource with few bytes keeps them nevertheless.
    pub(crate) total: usize,
    /// Bytes of the events of all resources by now.
    used: Arc<AtomicUsize>,
}

/// One resource in so many may keep its share of the bytes of all, whatever the others keep.
const SHARES: usize = 128;

impl Retention {
    pub(crate) fn new(events: usize, bytes: usize) -> Self {
        Self { events: events.max(1), bytes, total: bytes.saturating_mul(2), used: Arc::default() }
    }

    /// Whether a log with so many events and bytes has to drop its oldest event, when all logs have `used` bytes.
    fn is_exceeded(&self, events: usize, bytes: usize, used: usize) -> bool {
        events > self.events
            || events > 1 && (bytes > self.bytes || used > self.total && bytes > self.total / SHARES)
    }
}

/// A position in the log: the number of events before it since the resource exists.
pub(crate) type Position = u64;

/// The events of one resource.
#[derive(Debug)]
pub(crate) struct Log {
    events: VecDeque<Event>,
    /// The position of the oldest event kept.
    first: Position,
    /// The revision of the youngest event that was dropped.
    compacted: u64,
    bytes: usize,
    retention: Retention,
}

impl Log {
    pub(crate) fn new(retention: Retention) -> Self {
        Self { events: VecDeque::new(), first: 0, compacted: 0, bytes: 0, retention }
    }

    pub(crate) fn append(&mut self, event: Event) {
        let bytes = event.bytes();
        self.events.push_back(event);
        self.bytes += bytes;
        let mut used = self.retention.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        while self.retention.is_exceeded(self.events.len(), self.bytes, used)
            && let Some(dropped) = self.events.pop_front()
        {
            let bytes = dropped.bytes();
            self.first += 1;
            self.compacted = dropped.object.revision;
            self.bytes -= bytes;
            used = self.retention.used.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        }
    }

    /// The oldest revision from which a watch or a consistent read can still start.
    pub(crate) fn oldest(&self) -> u64 {
        self.compacted
    }

    pub(crate) fn end(&self) -> Position {
        self.first + self.events.len() as u64
    }

    /// The position right after `revision`, `None` if events after it were dropped.
    pub(crate) fn after(&self, revision: u64) -> Option<Position> {
        let known = self.events.partition_point(|event| event.object.revision <= revision);
        (revision >= self.compacted).then_some(self.first + known as u64)
    }

    /// The events from `position` on, `None` if some of them were dropped.
    pub(crate) fn since(&self, position: Position) -> Option<impl Iterator<Item = &Event>> {
        let skip = usize::try_from(position.checked_sub(self.first)?).ok()?;
        Some(self.events.iter().skip(skip))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.retention.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(capacity: usize, revisions: std::ops::RangeInclusive<u64>) -> Log {
        let mut log = Log::new(Retention::new(capacity, usize::MAX));
        for revision in revisions {
            let object = Arc::new(Stored::new(json!({}), revision));
            log.append(Event { kind: EventKind::Added, object, previous: None });
        }
        log
    }

    #[test]
    fn a_position_is_found_by_revision_unless_it_was_dropped() {
        let log = filled(3, 1..=5);
        assert_eq!(
            (log.after(1), log.after(2), log.after(4), log.after(9)),
            (None, Some(2), Some(4), Some(5))
        );
        assert_eq!(log.oldest(), 2);
    }

    #[test]
    fn reading_from_a_dropped_position_is_refused() {
        let log = filled(3, 1..=5);
        assert!(log.since(1).is_none());
        let revisions: Vec<u64> = log.since(3).unwrap().map(|event| event.object.revision).collect();
        assert_eq!(revisions, [4, 5]);
        assert_eq!(log.since(log.end()).unwrap().count(), 0);
    }

    /// Appends a change of one object of about so many bytes, before and after.
    fn append(log: &mut Log, revision: u64, bytes: usize) {
        let object = |revision| Arc::new(Stored::new(json!({"data": "x".repeat(bytes)}), revision));
        let (previous, object) = (Some(object(revision - 1)), object(revision));
        log.append(Event { kind: EventKind::Modified, object, previous });
    }

    #[test]
    fn the_oldest_event_goes_by_count_by_bytes_or_when_all_logs_have_too_much() {
        let retention = Retention { total: 1280, ..Retention::new(3, 100) };
        let table = [
            ("fits", (3, 100, 1280), false),
            ("too many events", (4, 1, 1), true),
            ("too many bytes", (2, 101, 101), true),
            ("the youngest stays whatever its size", (1, 500, 5000), false),
            ("too much in all", (2, 11, 1281), true),
            ("too much in all, but little of it here", (2, 10, 1281), false),
        ];
        for (name, (events, bytes, used), expected) in table {
            assert_eq!(retention.is_exceeded(events, bytes, used), expected, "{name}");
        }
    }

    #[test]
    fn large_changes_are_forgotten_sooner_and_asking_for_them_is_refused() {
        let retention = Retention::new(5_000, 1_000_000);
        let mut log = Log::new(retention.clone());
        (1..=1446).for_each(|revision| append(&mut log, revision, 10_000));
        assert!(log.bytes <= 1_000_000 && log.bytes > 900_000, "{}", log.bytes);
        assert_eq!(log.bytes, log.events.iter().map(Event::bytes).sum::<usize>());
        assert_eq!(log.bytes, retention.used.load(Ordering::Relaxed));
        assert_eq!(log.end(), 1446);
        assert!(log.since(0).is_none() && log.after(1).is_none() && log.after(log.oldest()).is_some());
        drop(log);
        assert_eq!(retention.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn many_logs_keep_together_no_more_than_the_total_and_their_shares() {
        let retention = Retention::new(5_000, 1_000_000);
        let mut logs: Vec<Log> = (0..50).map(|_| Log::new(retention.clone())).collect();
        for revision in 1..=100 {
            logs.iter_mut().for_each(|log| append(log, revision, 5_000));
        }
        let used = retention.used.load(Ordering::Relaxed);
        assert!(used <= 2_000_000 + 50 * 2_000_000 / SHARES, "{used}");
        assert!(logs.iter().all(|log| !log.events.is_empty()));
    }
}

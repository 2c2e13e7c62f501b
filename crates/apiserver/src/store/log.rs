//! The events of one resource, oldest first, bounded. Watchers hold positions in it, so a slow one costs nothing
//! and learns that it fell behind when its position is gone.

use std::{collections::VecDeque, sync::Arc};

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
    capacity: usize,
}

impl Log {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { events: VecDeque::new(), first: 0, compacted: 0, capacity }
    }

    pub(crate) fn append(&mut self, event: Event) {
        if self.events.len() >= self.capacity
            && let Some(dropped) = self.events.pop_front()
        {
            self.first += 1;
            self.compacted = dropped.object.revision;
        }
        self.events.push_back(event);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(capacity: usize, revisions: std::ops::RangeInclusive<u64>) -> Log {
        let mut log = Log::new(capacity);
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
}

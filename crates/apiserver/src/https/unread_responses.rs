//! Answers that clients have not read yet: counts their bytes, and cuts the connections of those who read too little.
//!
//! Takes what each answer holds in memory and when it was last read from; cancels the token of a connection that is to be
//! closed. Knows nothing of sockets. The whole connection is closed, not one stream: HTTP/2 keeps handed-over data until the peer
//! opens its window, and only the end of the connection frees it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Bytes of all unread answers above which those go that were not read from for [`LONGEST_IF_SHORT`].
const MANY_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of all unread answers above which the longest unread go at once.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How long an answer may stay unread while memory is short.
const LONGEST_IF_SHORT: Duration = Duration::from_secs(1);
/// How long an answer may stay unread at all.
const LONGEST: Duration = Duration::from_secs(30);

/// Whether an answer is given up that nobody has read from for a while, when `others` bytes are unread beside those of the
/// answer that grows.
fn is_given_up(unread_for: Duration, others: usize) -> bool {
    unread_for >= LONGEST || (others > MANY_BYTES && unread_for >= LONGEST_IF_SHORT) || others > MOST_BYTES
}

/// A connection and an answer on it.
type Key = (u64, u64);

/// All unread answers of a listener.
#[derive(Default)]
pub(super) struct Unread(Mutex<State>);

#[derive(Default)]
struct State {
    total: usize,
    last: u64,
    answers: BTreeMap<Key, Entry>,
    /// Those that hold something, longest unread first.
    order: BTreeSet<(Instant, Key)>,
}

struct Entry {
    bytes: usize,
    since: Instant,
    cut: CancellationToken,
}

/// One answer; forgotten when it is dropped.
pub(super) struct Answer {
    unread: Arc<Unread>,
    key: Key,
}

/// Bytes of an answer that are in memory until this is dropped.
pub(super) struct Held {
    answer: Arc<Answer>,
    bytes: usize,
}

impl Unread {
    /// A new answer on a connection, which is cut by the token.
    pub(super) fn answer(self: &Arc<Self>, connection: u64, cut: CancellationToken) -> Arc<Answer> {
        let mut state = self.0.lock();
        state.last += 1;
        let key = (connection, state.last);
        state.answers.insert(key, Entry { bytes: 0, since: Instant::now(), cut });
        Arc::new(Answer { unread: Arc::clone(self), key })
    }

    /// Cuts whoever has read nothing for too long.
    pub(super) fn sweep(&self) {
        self.0.lock().cut(None);
    }
}

impl State {
    /// Counts more or fewer bytes of an answer; either means that it goes on.
    fn change(&mut self, key: Key, more: usize, fewer: usize) {
        let Some(entry) = self.answers.get_mut(&key) else { return };
        self.order.remove(&(entry.since, key));
        entry.bytes = (entry.bytes + more).saturating_sub(fewer);
        entry.since = Instant::now();
        if entry.bytes > 0 {
            self.order.insert((entry.since, key));
        }
        self.total = (self.total + more).saturating_sub(fewer);
    }

    /// Cuts the connections of answers that are given up, longest unread first; never for the sake of what the
    /// growing answer itself holds.
    fn cut(&mut self, growing: Option<Key>) {
        while let Some((since, key)) = self.order.first().copied() {
            let own = growing.and_then(|key| self.answers.get(&key)).map_or(0, |entry| entry.bytes);
            if !is_given_up(since.elapsed(), self.total.saturating_sub(own)) {
                return;
            }
            let (connection, _) = key;
            let of_connection = (connection, 0)..=(connection, u64::MAX);
            let gone: Vec<Key> = self.answers.range(of_connection).map(|(key, _)| *key).collect();
            gone.into_iter().for_each(|key| self.forget(key).into_iter().for_each(|cut| cut.cancel()));
        }
    }

    /// What is left of the answer is no longer counted.
    fn forget(&mut self, key: Key) -> Option<CancellationToken> {
        let entry = self.answers.remove(&key)?;
        self.order.remove(&(entry.since, key));
        self.total = self.total.saturating_sub(entry.bytes);
        Some(entry.cut)
    }
}

impl Answer {
    /// Counts bytes until they are dropped, and makes room for them if there is too little.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        let mut state = self.unread.0.lock();
        state.change(self.key, bytes, 0);
        state.cut(Some(self.key));
        Held { answer: Arc::clone(self), bytes }
    }

    /// The client reads.
    pub(super) fn is_read(&self) {
        self.unread.0.lock().change(self.key, 0, 0);
    }
}

impl Held {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.unread.0.lock().forget(self.key);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.answer.unread.0.lock().change(self.answer.key, 0, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_up_by_time_by_bytes_and_time_or_by_bytes_alone() {
        let table = [
            (29_999, MANY_BYTES, false),
            (30_000, 0, true),
            (999, MANY_BYTES + 1, false),
            (1_000, MANY_BYTES + 1, true),
            (0, MOST_BYTES, false),
            (0, MOST_BYTES + 1, true),
        ];
        for (milliseconds, bytes, expected) in table {
            let unread_for = Duration::from_millis(milliseconds);
            assert_eq!(is_given_up(unread_for, bytes), expected, "{milliseconds} ms, {bytes} bytes");
        }
    }

    fn answer(unread: &Arc<Unread>, connection: u64) -> (Arc<Answer>, CancellationToken) {
        let cut = CancellationToken::new();
        (unread.answer(connection, cut.clone()), cut)
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_read_nothing_for_longest_makes_room_with_its_whole_connection() {
        let unread = Arc::<Unread>::default();
        let (old, old_cut) = answer(&unread, 1);
        let (beside, beside_cut) = answer(&unread, 1);
        let (reader, reader_cut) = answer(&unread, 2);
        let _held = (old.hold(30 << 20), beside.hold(1 << 20), reader.hold(30 << 20));
        tokio::time::advance(Duration::from_millis(10)).await;
        reader.is_read();
        let (new, new_cut) = answer(&unread, 3);
        let _more = new.hold(100 << 20);
        assert!(!old_cut.is_cancelled(), "one large answer alone cuts nobody");
        let (last, last_cut) = answer(&unread, 4);
        let _small = last.hold(1);
        assert!(old_cut.is_cancelled() && beside_cut.is_cancelled() && reader_cut.is_cancelled());
        assert!(!last_cut.is_cancelled());
        assert!(new_cut.is_cancelled(), "what is left is still too much");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_read_in_time_stays_and_what_is_not_goes() {
        let unread = Arc::<Unread>::default();
        let (reader, reader_cut) = answer(&unread, 1);
        let (sleeper, sleeper_cut) = answer(&unread, 2);
        let (quiet, quiet_cut) = answer(&unread, 3);
        let _held = (reader.hold(10), sleeper.hold(10));
        drop(quiet.hold(10));
        for _ in 0..4 {
            tokio::time::advance(LONGEST / 4).await;
            reader.is_read();
        }
        unread.sweep();
        assert!(sleeper_cut.is_cancelled() && !reader_cut.is_cancelled());
        assert!(!quiet_cut.is_cancelled(), "an answer that holds nothing waits for nobody");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_counted_any_more_when_everything_is_dropped() {
        let unread = Arc::<Unread>::default();
        let (one, _cut) = answer(&unread, 1);
        let held = one.hold(7);
        assert_eq!(unread.0.lock().total, 7);
        drop((held, one));
        let state = unread.0.lock();
        assert_eq!((state.total, state.answers.len(), state.order.len()), (0, 0, 0));
    }
}

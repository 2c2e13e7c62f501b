//! The work queue: each key at most once, in the order of arrival, never two workers on one key.
//!
//! A key that arrives while it is being worked on is taken up again afterwards. A key may be added for later, and a
//! failing key waits longer each time. Nothing here is random, so equal arrivals give equal order.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::metrics::QueueFigures;

const FIRST_BACK_OFF: Duration = Duration::from_millis(5);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(1000);

/// A queue of keys.
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<State<T>>,
    wake: Notify,
    figures: QueueFigures,
}

#[derive(Debug)]
struct State<T> {
    ready: VecDeque<T>,
    /// Keys in `ready`, and keys to be taken up again when their worker is done, with the time of their arrival.
    dirty: BTreeMap<T, Instant>,
    /// Keys with a worker, and since when.
    processing: BTreeMap<T, Instant>,
    /// Keys for later, by due time and then by arrival.
    later: BTreeMap<(Instant, u64), T>,
    due: BTreeMap<T, (Instant, u64)>,
    arrivals: u64,
    failures: BTreeMap<T, u32>,
    taken: u64,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let state = State {
            ready: VecDeque::new(),
            dirty: BTreeMap::new(),
            processing: BTreeMap::new(),
            later: BTreeMap::new(),
            due: BTreeMap::new(),
            arrivals: 0,
            failures: BTreeMap::new(),
            taken: 0,
        };
        Self { state: Mutex::new(state), wake: Notify::new(), figures: QueueFigures::default() }
    }
}

/// How full a queue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Keys waiting for a worker.
    pub ready: usize,
    /// Keys being worked on.
    pub processing: usize,
    /// Keys for later.
    pub later: usize,
}

/// How long keys have been worked on so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Running {
    /// All of them together.
    pub(crate) all: Duration,
    /// The one that was taken first.
    pub(crate) longest: Duration,
}

impl Depth {
    /// Nothing to do now and nothing to do later.
    pub fn is_empty(&self) -> bool {
        self.ready + self.processing + self.later == 0
    }
}

impl<T: Ord + Clone> Queue<T> {
    /// Adds a key for now.
    pub fn add(&self, key: T) {
        let mut state = self.state.lock();
        state.push(key, &self.figures);
        drop(state);
        self.wake.notify_one();
    }

    /// Adds a key for later; an earlier time that is already set stays.
    pub fn add_after(&self, key: T, delay: Duration) {
        self.figures.retries.inc();
        if delay.is_zero() {
            return self.add(key);
        }
        let mut state = self.state.lock();
        let at = Instant::now() + delay;
        if state.due.get(&key).is_some_and(|(earlier, _)| *earlier <= at) {
            return;
        }
        state.arrivals += 1;
        let slot = (at, state.arrivals);
        if let Some(old) = state.due.insert(key.clone(), slot) {
            state.later.remove(&old);
        }
        state.later.insert(slot, key);
        drop(state);
        self.wake.notify_one();
    }

    /// Takes back that a key was added for later, for who sets the time again with each pass.
    pub fn drop_later(&self, key: &T) {
        let mut state = self.state.lock();
        if let Some(slot) = state.due.remove(key) {
            state.later.remove(&slot);
        }
    }

    /// Adds a key that failed; it waits twice as long as the last time.
    pub fn add_failed(&self, key: T) {
        let delay = {
            let mut state = self.state.lock();
            let failures = state.failures.entry(key.clone()).or_insert(0);
            let doublings = (*failures).min(20);
            *failures += 1;
            FIRST_BACK_OFF.saturating_mul(1 << doublings).min(LONGEST_BACK_OFF)
        };
        self.add_after(key, delay);
    }

    /// Forgets the failures of a key.
    pub fn forget_failures(&self, key: &T) {
        self.state.lock().failures.remove(key);
    }

    /// Takes the next key; [`Self::done`] must follow.
    pub async fn next(&self) -> T {
        loop {
            let notified = self.wake.notified();
            let due = {
                let mut state = self.state.lock();
                let now = Instant::now();
                state.move_due(now, &self.figures);
                if let Some(key) = state.ready.pop_front() {
                    if let Some(arrival) = state.dirty.remove(&key) {
                        self.figures.waited.observe(now.duration_since(arrival).as_secs_f64());
                    }
                    state.processing.insert(key.clone(), now);
                    state.taken += 1;
                    // Somebody else must watch what is left, now or later.
                    if !state.ready.is_empty() || !state.later.is_empty() {
                        self.wake.notify_one();
                    }
                    return key;
                }
                state.later.keys().next().map(|(at, _)| *at)
            };
            match due {
                None => notified.await,
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = notified => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// How often a key was taken.
    pub fn taken(&self) -> u64 {
        self.state.lock().taken
    }

    /// Says that the work on a key has ended.
    pub fn done(&self, key: &T) {
        let mut state = self.state.lock();
        if let Some(start) = state.processing.remove(key) {
            self.figures.worked.observe(start.elapsed().as_secs_f64());
        }
        if state.dirty.contains_key(key) {
            state.ready.push_back(key.clone());
            drop(state);
            self.wake.notify_one();
        }
    }

    /// How full the queue is.
    pub fn depth(&self) -> Depth {
        let state = self.state.lock();
        Depth { ready: state.ready.len(), processing: state.processing.len(), later: state.later.len() }
    }
}

impl<T> Queue<T> {
    pub(crate) fn figures(&self) -> &QueueFigures {
        &self.figures
    }

    /// How long the keys with a worker have had it.
    pub(crate) fn running(&self) -> Running {
        let state = self.state.lock();
        let since = state.processing.values().map(Instant::elapsed);
        since.fold(Running::default(), |running, it| Running {
            all: running.all + it,
            longest: running.longest.max(it),
        })
    }
}

impl<T: Ord + Clone> State<T> {
    fn push(&mut self, key: T, figures: &QueueFigures) {
        if self.dirty.contains_key(&key) {
            return;
        }
        self.dirty.insert(key.clone(), Instant::now());
        figures.adds.inc();
        if !self.processing.contains_key(&key) {
            self.ready.push_back(key);
        }
    }

    fn move_due(&mut self, now: Instant, figures: &QueueFigures) {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            self.due.remove(&key);
            self.push(key, figures);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn keys_come_out_once_and_in_order_of_arrival() {
        let queue = Queue::default();
        for key in ["b", "a", "b", "c"] {
            queue.add(key);
        }
        let mut order = Vec::new();
        for _ in 0..3 {
            let key = queue.next().await;
            order.push(key);
            queue.done(&key);
        }
        assert_eq!(order, ["b", "a", "c"]);
        assert!(queue.depth().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_during_its_work_is_taken_up_again_afterwards() {
        let queue = Queue::default();
        queue.add("a");
        let key = queue.next().await;
        queue.add("a");
        queue.add("b");
        assert_eq!(queue.next().await, "b", "a is being worked on: no second worker gets it");
        queue.done(&key);
        assert_eq!(queue.next().await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn later_keys_come_at_their_time_and_the_earlier_time_wins() {
        let queue = Queue::default();
        let start = Instant::now();
        queue.add_after("slow", Duration::from_secs(9));
        queue.add_after("slow", Duration::from_secs(20));
        queue.add_after("fast", Duration::from_secs(5));
        queue.add_after("fast", Duration::from_secs(2));
        assert_eq!(queue.next().await, "fast");
        assert_eq!(start.elapsed(), Duration::from_secs(2));
        assert_eq!(queue.next().await, "slow");
        assert_eq!(start.elapsed(), Duration::from_secs(9));
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_taken_back_does_not_come_later() {
        let queue = Queue::default();
        queue.add_after("a", Duration::from_secs(1));
        queue.add_after("b", Duration::from_secs(2));
        queue.drop_later(&"a");
        assert_eq!(queue.depth().later, 1);
        assert_eq!(queue.next().await, "b");
        queue.drop_later(&"b");
        queue.add("b");
        assert_eq!(queue.depth().ready, 0, "b is being worked on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_key_waits_twice_as_long_each_time_until_it_is_forgiven() {
        let queue = Queue::default();
        let start = Instant::now();
        for expected in [5, 15, 35] {
            queue.add_failed("a");
            let key = queue.next().await;
            queue.done(&key);
            assert_eq!(start.elapsed(), Duration::from_millis(expected));
        }
        queue.forget_failures(&"a");
        queue.add_failed("a");
        queue.next().await;
        assert_eq!(start.elapsed(), Duration::from_millis(40));
    }

    #[tokio::test(start_paused = true)]
    async fn a_queue_counts_what_came_and_how_long_it_waited_and_was_worked_on() {
        let queue = Queue::default();
        for key in ["a", "a", "b"] {
            queue.add(key);
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        let first = queue.next().await;
        queue.next().await;
        tokio::time::advance(Duration::from_secs(3)).await;
        queue.done(&first);
        tokio::time::advance(Duration::from_secs(4)).await;
        let figures = queue.figures();
        assert_eq!((figures.adds.get(), figures.waited.count(), figures.worked.count()), (2, 2, 1));
        assert_eq!((figures.waited.sum(), figures.worked.sum()), (4.0, 3.0));
        let seconds = Duration::from_secs(7);
        assert_eq!(queue.running(), Running { all: seconds, longest: seconds });
        queue.add_failed("c");
        queue.add_after("d", Duration::ZERO);
        assert_eq!((figures.retries.get(), figures.adds.get()), (2, 3), "c comes later");
    }

    #[tokio::test(start_paused = true)]
    async fn many_workers_share_the_keys() {
        let queue = Arc::new(Queue::default());
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let queue = Arc::clone(&queue);
            workers.spawn(async move {
                let key = queue.next().await;
                queue.done(&key);
                key
            });
        }
        for key in 0..4 {
            queue.add(key);
        }
        let mut seen: Vec<i32> = workers.join_all().await;
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3]);
    }
}

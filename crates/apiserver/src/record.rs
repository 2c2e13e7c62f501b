//! What the server remembers about requests: counters by caller, and the ordered record of writes.
//!
//! Records are queued while a cluster is locked and delivered after it is released, so an observer may call the
//! server; the queue keeps them in the order in which they were decided.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;

/// One write as the server decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRecord {
    /// Position among all writes of the server, starting at 1.
    pub sequence: u64,
    /// `None` for the management API, else the id given to `ApiServer::add_cluster`.
    pub cluster: Option<String>,
    /// Who asked, as in the `User-Agent` header; the server's own writes carry its name.
    pub user_agent: String,
    /// `create`, `update`, `patch`, `delete`, `deletecollection`, or `gc` for the server's own clean-up.
    pub verb: String,
    /// `group/plural`; the core group is empty, as in `/secrets`.
    pub resource: String,
    /// Such as `status`.
    pub subresource: Option<String>,
    /// `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Empty when a create was refused before it had a name.
    pub name: String,
    /// The object's version after the write; unchanged for a write that changed nothing, `None` when refused.
    pub resource_version: Option<u64>,
    /// FNV-1a of the request body in hexadecimal; empty for `gc`.
    pub body_digest: String,
    /// The HTTP status code of the answer.
    pub code: u16,
}

/// How often one kind of request was answered in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCount {
    /// As in the `User-Agent` header, empty when there was none.
    pub user_agent: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// `group/plural`, or the path for requests that are not about a resource.
    pub resource: String,
    /// Such as `status`, empty for none.
    pub subresource: String,
    /// The HTTP status code of the answer.
    pub code: u16,
    /// How many.
    pub count: u64,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CountKey {
    user_agent: String,
    verb: &'static str,
    resource: String,
    subresource: String,
    code: u16,
}

/// Different counters kept; callers choose names and paths, and must not be able to fill the memory with them.
const MAX_COUNTERS: usize = 10_000;

/// Bytes of names and paths of one counter.
const COUNTER_BYTES: usize = 1024;

impl CountKey {
    fn is_long(&self) -> bool {
        self.user_agent.len() + self.resource.len() + self.subresource.len() > COUNTER_BYTES
    }

    /// Without what the caller chose.
    fn anonymous(self) -> Self {
        Self { user_agent: String::new(), resource: "other".to_owned(), subresource: String::new(), ..self }
    }
}

/// Counters of answered requests.
#[derive(Default)]
pub(crate) struct Counters(Mutex<BTreeMap<CountKey, u64>>);

impl Counters {
    pub(crate) fn add(
        &self,
        user_agent: &str,
        verb: &'static str,
        resource: &str,
        subresource: &str,
        code: u16,
    ) {
        let key = CountKey {
            user_agent: user_agent.to_owned(),
            verb,
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            code,
        };
        let mut counts = self.0.lock();
        let is_full = counts.len() >= MAX_COUNTERS && !counts.contains_key(&key);
        let key = if is_full || key.is_long() { key.anonymous() } else { key };
        *counts.entry(key).or_default() += 1;
    }

    pub(crate) fn snapshot(&self) -> Vec<RequestCount> {
        let count = |(key, count): (&CountKey, &u64)| RequestCount {
            user_agent: key.user_agent.clone(),
            verb: key.verb.to_owned(),
            resource: key.resource.clone(),
            subresource: key.subresource.clone(),
            code: key.code,
            count: *count,
        };
        self.0.lock().iter().map(count).collect()
    }
}

type Observer = Arc<dyn Fn(&WriteRecord) + Send + Sync>;

/// Queues records in order and hands them to the observer.
pub(crate) struct Recorder {
    observer: Option<Observer>,
    queue: Mutex<(u64, VecDeque<WriteRecord>)>,
    delivering: Mutex<()>,
}

impl Recorder {
    pub(crate) fn new(observer: Option<Observer>) -> Self {
        Self { observer, queue: Mutex::default(), delivering: Mutex::default() }
    }

    /// Whether anybody listens: building records for nobody would cost every write.
    pub(crate) fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    /// Gives the record its sequence number; call it while the cluster that decided the write is still locked.
    pub(crate) fn push(&self, mut record: WriteRecord) {
        let (sequence, queue) = &mut *self.queue.lock();
        *sequence += 1;
        record.sequence = *sequence;
        queue.push_back(record);
    }

    /// Delivers what is queued; call it with no cluster locked. Whoever is already delivering, in another thread
    /// or further up this stack, also delivers what arrives meanwhile.
    pub(crate) fn deliver(&self) {
        let Some(observer) = &self.observer else { return };
        while !self.queue.lock().1.is_empty() {
            let Some(_guard) = self.delivering.try_lock() else {
                return;
            };
            while let Some(record) = self.pop() {
                observer(&record);
            }
        }
    }

    fn pop(&self) -> Option<WriteRecord> {
        self.queue.lock().1.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_cannot_make_counters_without_end() {
        let counters = Counters::default();
        for index in 0..MAX_COUNTERS + 5 {
            counters.add(&format!("agent-{index}"), "get", "/secrets", "", 200);
        }
        let counts = counters.snapshot();
        assert_eq!(counts.len(), MAX_COUNTERS + 1);
        assert_eq!(counts.iter().find(|it| it.resource == "other").map(|it| it.count), Some(5));
    }

    #[test]
    fn callers_cannot_make_counters_of_any_length() {
        let counters = Counters::default();
        counters.add(&"a".repeat(COUNTER_BYTES - 1), "get", "x", "", 200);
        counters.add(&"a".repeat(COUNTER_BYTES), "get", "x", "", 200);
        let lengths: Vec<usize> = counters.snapshot().iter().map(|it| it.user_agent.len()).collect();
        assert_eq!(lengths, [0, COUNTER_BYTES - 1]);
    }
}

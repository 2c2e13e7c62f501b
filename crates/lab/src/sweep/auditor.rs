//! An audit that runs beside a scenario: whatever it would propose while the controllers are at work is a mistake of the audit.
//!
//! It looks at the server again and again, as somebody would who runs `capm3 audit` at a bad moment. It knows when each object
//! changed last from having looked, as a real server tells by `managedFields`.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use capm3_apiserver::ApiServer;
use capm3_engine::Clock;
use capm3_provider::audit::{Inventory, Options, Severity, audit};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::Value;

/// How often it looks, in virtual time.
const LOOK: Duration = Duration::from_secs(5);

/// How many looks lie between the two that are compared: a minute, as by default.
const BETWEEN: usize = 12;

/// How long nobody must have changed an object: longer than a provider is away and takes to prove an absence afterwards, shorter
/// than by default, so that a scenario lasts long enough to tell.
const GRACE: SignedDuration = SignedDuration::from_mins(3);

/// What the audit found during a scenario.
#[derive(Debug, Clone, Default)]
pub struct Audited {
    /// How often it looked.
    pub looks: usize,
    /// Contradictions that it held back, because an object had changed lately.
    pub held_back: usize,
    /// Contradictions that it reported.
    pub findings: Vec<String>,
}

/// The audit beside a scenario; it ends when this is dropped.
pub(super) struct Auditor {
    audited: Arc<Mutex<Audited>>,
    task: tokio::task::JoinHandle<()>,
}

impl Auditor {
    /// Looks at a server from now on.
    pub(super) fn start(server: ApiServer, clock: Clock) -> Self {
        let audited = Arc::new(Mutex::new(Audited::default()));
        let results = Arc::clone(&audited);
        let task = tokio::spawn(async move {
            let mut observer = Observer::default();
            loop {
                tokio::time::sleep(LOOK).await;
                observer.look(&server.objects(None), clock.now(), &mut results.lock());
            }
        });
        Self { audited, task }
    }

    /// What was found so far.
    pub(super) fn audited(&self) -> Audited {
        self.audited.lock().clone()
    }
}

impl Drop for Auditor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Versions of objects by uid, and when they were seen first; and the last looks, the oldest first.
#[derive(Default)]
struct Observer {
    seen: BTreeMap<String, (String, Timestamp)>,
    looks: VecDeque<Inventory>,
}

impl Observer {
    fn look(&mut self, objects: &[Arc<Value>], now: Timestamp, audited: &mut Audited) {
        let mut inventory = Inventory::default();
        for object in objects {
            let added = inventory.add_changed_at(object, self.changed(object, now));
            audited.findings.extend(added.err().map(|error| error.to_string()));
        }
        for (kind, _) in Inventory::kinds() {
            inventory.mark_complete(&kind.group, &kind.kind);
        }
        if self.looks.len() == BETWEEN
            && let Some(earlier) = self.looks.pop_front()
        {
            inventory.compare_with(&earlier);
        }
        let report = audit(&inventory, &Options { now, grace: GRACE });
        let (settled, others): (Vec<_>, Vec<_>) = report
            .findings
            .iter()
            .filter(|finding| finding.severity != Severity::Info)
            .partition(|finding| finding.settled);
        audited.looks += 1;
        audited.held_back += report.held_back + others.len();
        audited.findings.extend(
            settled.iter().map(|it| format!("the audit says: {} {} ({})", it.object, it.message, it.code)),
        );
        self.looks.push_back(inventory);
    }

    /// When an object changed last: when its version was seen first.
    fn changed(&mut self, object: &Value, now: Timestamp) -> Timestamp {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (uid, version) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
        let seen = self.seen.entry(uid.to_owned()).or_insert_with(|| (version.to_owned(), now));
        if seen.0 != version {
            *seen = (version.to_owned(), now);
        }
        seen.1
    }
}

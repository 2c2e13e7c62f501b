//! Hosts whose consumer cannot be found, or does not know them: who they are, since when, and when to report them.
//!
//! Such a host is left exactly as it is. It is reported once, after a while in which caches catch up with each other, and
//! then every hour, because the API server keeps events for an hour.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use capm3_api::neighbours::BareMetalHost;
use capm3_engine::{Object, ObjectKey, Queue};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::observe::{Orphan, consumer_machine};
use crate::context::Context;

/// How long a host may look orphaned before it is reported: machine and host arrive by different watches.
const GRACE: Duration = Duration::from_secs(30);

/// How often a host that stays orphaned is reported again.
const AGAIN: Duration = Duration::from_secs(3600);

/// How often the list is looked through for hosts to report again.
const TICK: Duration = Duration::from_secs(10);

/// Orphaned hosts.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    hosts: Mutex<BTreeMap<ObjectKey, Entry>>,
}

#[derive(Debug)]
struct Entry {
    why: Orphan,
    since: Instant,
    reported: Option<Instant>,
}

/// Whether a host is to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Now.
    Now,
    /// Not before this time has passed.
    In(Duration),
    /// It was reported within the last hour.
    Reported,
}

impl Orphans {
    /// How many hosts are orphaned.
    pub(crate) fn count(&self) -> usize {
        self.hosts.lock().len()
    }

    /// Takes note of an orphaned host; gives since when it is and whether to report it. What is due now counts as reported.
    pub(super) fn note(&self, host: &ObjectKey, why: &Orphan) -> (Instant, Due) {
        let mut hosts = self.hosts.lock();
        let fresh = || Entry { why: why.clone(), since: Instant::now(), reported: None };
        let entry = hosts.entry(host.clone()).or_insert_with(fresh);
        if entry.why != *why {
            *entry = fresh();
        }
        let due = due(entry.since.elapsed(), entry.reported.map(|at| at.elapsed()));
        if due == Due::Now {
            entry.reported = Some(Instant::now());
        }
        (entry.since, due)
    }

    /// The host is not orphaned, or gone.
    pub(super) fn forget(&self, host: &ObjectKey) {
        self.hosts.lock().remove(host);
    }

    /// Hosts that were reported an hour ago.
    fn overdue(&self) -> Vec<ObjectKey> {
        let hosts = self.hosts.lock();
        let is_overdue = |entry: &Entry| entry.reported.is_some_and(|at| at.elapsed() >= AGAIN);
        hosts.iter().filter(|(_, entry)| is_overdue(entry)).map(|(host, _)| host.clone()).collect()
    }
}

fn due(lasts: Duration, reported: Option<Duration>) -> Due {
    match reported {
        Some(ago) if ago < AGAIN => Due::Reported,
        Some(_) => Due::Now,
        None => match GRACE.saturating_sub(lasts) {
            Duration::ZERO => Due::Now,
            left => Due::In(left),
        },
    }
}

/// Brings orphaned hosts back to their controller every hour. While Metal3Machines cannot be read the controller does not
/// run, or works on what was known; then every host in use is reported from here. Runs until it is dropped.
pub(crate) async fn watch(context: Context, queue: Arc<Queue<ObjectKey>>) {
    loop {
        tokio::time::sleep(TICK).await;
        context.orphans.overdue().into_iter().for_each(|host| queue.add(host));
        if let Some(state) = unreadable(&context) {
            report_all(&context, &state).await;
        }
    }
}

/// Why Metal3Machines cannot be read, if they cannot.
fn unreadable(context: &Context) -> Option<String> {
    use capm3_api::v1beta2::Metal3Machine;
    use capm3_engine::{ResourceKind, informer::KindState};
    let state = context.caches.health_of(&ResourceKind::of::<Metal3Machine>())?.state();
    (!state.is_healthy() && state != KindState::Starting).then(|| state.to_string())
}

/// Reports every host that a machine consumes.
async fn report_all(context: &Context, state: &str) {
    let Some(hosts) = context.caches.store::<BareMetalHost>() else { return };
    for host in hosts.all() {
        let Some(machine) = consumer_machine(&host) else { continue };
        let why = Orphan::Unreadable { machine, state: state.to_owned() };
        if context.orphans.note(&host.key(), &why).1 == Due::Now {
            let report = super::decide::report(&host, &why);
            if let Err(error) = context.executor.act(&report).await {
                tracing::debug!(host = %host.key(), %error, "the event is not recorded");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orphan_is_reported_after_a_while_and_then_every_hour() {
        let seconds = Duration::from_secs;
        for (lasts, reported, expected) in [
            (0, None, Due::In(seconds(30))),
            (29, None, Due::In(seconds(1))),
            (30, None, Due::Now),
            (31, Some(1), Due::Reported),
            (3629, Some(3599), Due::Reported),
            (3630, Some(3600), Due::Now),
        ] {
            assert_eq!(due(seconds(lasts), reported.map(seconds)), expected, "{lasts} {reported:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_orphaned_for_another_reason_is_reported_again() {
        let (orphans, host) = (Orphans::default(), ObjectKey::new("ns", "h"));
        let missing = Orphan::NotFound(ObjectKey::new("ns", "m"));
        assert_eq!(orphans.note(&host, &missing).1, Due::In(GRACE));
        tokio::time::advance(GRACE).await;
        assert_eq!(orphans.note(&host, &missing).1, Due::Now);
        assert_eq!((orphans.note(&host, &missing).1, orphans.count()), (Due::Reported, 1));
        assert_eq!(orphans.overdue(), []);
        let unknown = Orphan::NotRecorded(ObjectKey::new("ns", "m"));
        assert_eq!(orphans.note(&host, &unknown).1, Due::In(GRACE));
        tokio::time::advance(GRACE).await;
        assert_eq!(orphans.note(&host, &unknown).1, Due::Now);
        tokio::time::advance(AGAIN).await;
        assert_eq!(orphans.overdue(), std::slice::from_ref(&host));
        orphans.forget(&host);
        assert_eq!(orphans.count(), 0);
    }
}

//! The provider crashes at one write: none of its later calls reaches the server, until a new provider takes over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Call, Fault, Faults};

/// On which side of a write the provider dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The write does not reach the server.
    Before,
    /// The write is done, and the provider gets no answer.
    After,
}

/// Counts writes once it is armed, and lets the provider crash at one of them.
#[derive(Debug, Default)]
pub struct CrashAtWrite {
    at: Option<(u64, Side)>,
    armed: AtomicBool,
    writes: AtomicU64,
    victim: Mutex<Option<Call>>,
    happened: Notify,
}

impl CrashAtWrite {
    /// Only counts.
    pub fn never() -> Self {
        Self::default()
    }

    /// Crashes at the `write`-th write, counted from 1, after [`Self::arm`].
    pub fn at(write: u64, side: Side) -> Self {
        Self { at: Some((write, side)), ..Self::default() }
    }

    /// Starts to count.
    pub fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Writes that were counted.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// The write at which the provider crashed, if it came so far.
    pub fn victim(&self) -> Option<Call> {
        self.victim.lock().clone()
    }

    /// Waits until the provider has crashed.
    pub async fn happened(&self) {
        self.happened.notified().await;
    }

    /// The provider is replaced: the next one's calls pass.
    pub fn over(&self) {
        self.armed.store(false, Ordering::SeqCst);
    }
}

impl Faults for CrashAtWrite {
    fn apply_fault(&self, call: &Call) -> Fault {
        if !self.armed.load(Ordering::SeqCst) {
            return Fault::None;
        }
        let mut victim = self.victim.lock();
        if victim.is_some() {
            return Fault::NeverAsked;
        }
        if !call.is_write() {
            return Fault::None;
        }
        let write = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        match self.at {
            Some((at, side)) if at == write => {
                *victim = Some(call.clone());
                if side == Side::After {
                    return Fault::NeverAnswered;
                }
                self.happened.notify_one();
                Fault::NeverAsked
            }
            _ => Fault::None,
        }
    }

    fn done_unanswered(&self, _: &Call) {
        self.happened.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn call(method: Method) -> Call {
        Call { method, path: "/x".to_owned() }
    }

    #[test]
    fn the_named_write_and_everything_after_it_is_cut_off() {
        let crash = CrashAtWrite::at(2, Side::After);
        assert_eq!(crash.apply_fault(&call(Method::POST)), Fault::None, "not armed: not counted");
        crash.arm();
        let faults = [Method::POST, Method::GET, Method::PATCH, Method::GET, Method::POST]
            .map(|method| crash.apply_fault(&call(method)));
        let expected = [Fault::None, Fault::None, Fault::NeverAnswered, Fault::NeverAsked, Fault::NeverAsked];
        assert_eq!(faults, expected);
        assert_eq!((crash.writes(), crash.victim()), (2, Some(call(Method::PATCH))));
        crash.over();
        assert_eq!(crash.apply_fault(&call(Method::POST)), Fault::None);
    }
}
